//! The reading side.

pub(crate) mod reader;
