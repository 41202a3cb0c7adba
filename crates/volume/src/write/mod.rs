//! Writes archives. The modules in the order of the flow: [`archive`] is the public handle and the queue, [`worker`]
//! hashes and looks for duplicates, [`pack`] compresses responses that are too large for memory, [`encoder`] builds and compresses the records, [`writer`] appends them to the open
//! volume, [`finish`] indexes a full volume and gives it its final name. [`state`] is shared by these threads. In
//! simulations, [`discard`] replaces all these threads.

pub(crate) mod archive;
mod discard;
pub(crate) mod encoder;
pub(crate) mod event;
pub(crate) mod finish;
pub(crate) mod pack;
mod state;
mod worker;
mod writer;
