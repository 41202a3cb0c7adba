//! Reads archives. Read first: [`reader`]. [`body_reader`] reads bodies that are too large for memory.

mod body_reader;
pub(crate) mod reader;
