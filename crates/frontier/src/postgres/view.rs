//! Read-only access to a frontier in PostgreSQL. It registers no node.

use super::connection::{Address, Connection};
use super::migrations;
use super::tables::PostgresTables;
use crate::codec::Packer;
use crate::reader::View;
use crate::sites::listing::StoreReader;
use crate::sites::store::Store;
use crate::{FrontierError, postgres};

impl View {
    /// Open the frontier at this address ([`postgres::Postgres::open`]) for reading.
    pub fn connect(address: &str) -> Result<View, FrontierError> {
        let address = Address::parse(address)?;
        let place = address.place.clone();
        let packer = Packer::new().map_err(|source| FrontierError::File {
            path: place.clone(),
            source,
        })?;
        let tables = Connection::new(address).and_then(|connection| {
            connection.open()?;
            migrations::require_current(&connection)?;
            Ok(PostgresTables::new(connection))
        });
        Ok(View::of(StoreReader {
            store: Store::new(tables.map_err(|error| postgres::at(error, &place))?, packer),
            place,
            writer: None,
            leases_are_abandoned: false,
        }))
    }
}
