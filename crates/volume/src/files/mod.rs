//! Volumes as files: their names, and the file system operations that the writing side needs.

pub(crate) mod disk;
pub(crate) mod name;
pub(crate) mod volumes;
