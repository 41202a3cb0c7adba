//! Reads archives. The only file is [`reader`].

pub(crate) mod reader;
