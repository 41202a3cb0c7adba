//! Files that a crash left open: cut to the last whole record, indexed, closed.

use std::path::PathBuf;

/// What [`crate::Archive::open`] had to mend.
#[derive(Debug, Clone, Default)]
pub struct Repairs {
    /// Files closed, with the number of records kept and of bytes cut off.
    pub mended: Vec<Mended>,
    /// Files that could not be mended, and were set aside under this name.
    pub damaged: Vec<PathBuf>,
}

/// One file that was closed after a crash.
#[derive(Debug, Clone)]
pub struct Mended {
    /// The file under its final name.
    pub path: PathBuf,
    /// Whole records in it.
    pub records: u64,
    /// Bytes of a torn record cut off its end.
    pub cut: u64,
}
