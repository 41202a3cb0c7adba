//! The reading side. Its only file is [`reader`].

pub(crate) mod reader;
