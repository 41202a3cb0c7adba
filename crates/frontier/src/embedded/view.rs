//! Read-only access to a collection, also while a crawl writes to it. Readers never block the writer.

use std::path::Path;

use super::connection;
use super::lock::Lock;
use super::tables::Sqlite;
use crate::FrontierError;
use crate::codec::Packer;
use crate::reader::View;
use crate::sites::listing::StoreReader;
use crate::sites::store::Store;

impl View {
    /// Open the embedded frontier of the collection in `folder`.
    pub fn open(folder: &Path) -> Result<View, FrontierError> {
        let path = folder.join(super::FILE);
        if !path.exists() {
            return Err(FrontierError::Missing {
                path: folder.to_owned(),
            });
        }
        let packer = Packer::new().map_err(|source| FrontierError::File {
            path: path.clone(),
            source,
        })?;
        let db = connection::open_reader(&path).map_err(|error| error.at(&path))?;
        let writer = Lock::holder(folder);
        Ok(View::of(StoreReader {
            store: Store::new(Sqlite::new(db, path.clone(), String::new()), packer),
            place: path,
            writer,
            leases_are_abandoned: writer.is_none(),
        }))
    }
}
