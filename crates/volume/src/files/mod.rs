//! Volumes as files: their names ([`name`]), listing and opening them ([`volumes`]), and the file system operations for
//! writing them ([`disk`]).

pub(crate) mod disk;
pub(crate) mod name;
pub(crate) mod volumes;
