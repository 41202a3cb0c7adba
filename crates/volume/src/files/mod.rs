//! Volumes as files: their names ([`name`]), the places where they are ([`store_journal`]), listing and opening them
//! ([`volumes`]), the folders for new ones ([`write_folders`]), and the file system operations for writing them ([`disk`]).

pub(crate) mod disk;
pub(crate) mod name;
pub(crate) mod store_journal;
pub(crate) mod volumes;
pub(crate) mod write_folders;
