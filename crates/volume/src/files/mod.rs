//! Volumes as files: their names ([`name`]), the list of them ([`volumes`]), and the file system operations of the
//! writing side ([`disk`]).

pub(crate) mod disk;
pub(crate) mod name;
pub(crate) mod volumes;
