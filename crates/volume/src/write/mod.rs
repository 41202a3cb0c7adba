//! The writing side: [`archive`] is the handle, [`worker`] hashes and compresses, [`encoder`] builds the records,
//! [`writer`] appends them to the open volume, [`finish`] closes a full one.

pub(crate) mod archive;
mod discard;
pub(crate) mod encoder;
pub(crate) mod finish;
mod state;
mod worker;
mod writer;
