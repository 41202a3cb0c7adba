//! The embedded engine: SQLite with blocks and runs. Skeleton: the shape that the engine compiles against.

use std::path::Path;

use crate::{FrontierError, Options};

/// The embedded engine; the only writer of its collection.
pub struct Embedded;

impl Embedded {
    /// Open or create the frontier of the collection in `folder`, take its lock and release all leases.
    pub fn open(folder: &Path, _options: Options) -> Result<Embedded, FrontierError> {
        Err(FrontierError::Missing {
            path: folder.to_owned(),
        })
    }
}

/// The reading side, for commands while a crawl runs.
pub struct View;
