//! Read-only access to a frontier in PostgreSQL. It registers no node.

use std::path::Path;

use super::address::Address;
use super::connection::Connection;
use super::members::MemberReader;
use super::migrations;
use super::tables::PostgresTables;
use crate::codec::Packer;
use crate::embedded::lock::Lock;
use crate::reader::View;
use crate::sites::listing::StoreReader;
use crate::sites::store::Store;
use crate::{FrontierError, postgres};

impl View {
    /// Open the frontier at this address ([`postgres::Postgres::open`]) for reading. `folder` is the folder of a node
    /// on this machine. The process of that node is the writer ([`View::writer`]).
    pub fn connect(address: &str, folder: Option<&Path>) -> Result<View, FrontierError> {
        let address = Address::parse(address)?;
        let place = address.place.clone();
        let packer = Packer::new().map_err(|source| FrontierError::File {
            path: place.clone(),
            source,
        })?;
        let members = MemberReader {
            connection: Connection::new(address.clone())
                .map_err(|error| postgres::at(error, &place))?,
            place: place.clone(),
        };
        let tables = Connection::new(address).and_then(|connection| {
            connection.open()?;
            migrations::require_current(&connection)?;
            Ok(PostgresTables::new(connection))
        });
        let reader = StoreReader {
            store: Store::new(tables.map_err(|error| postgres::at(error, &place))?, packer),
            place,
            writer: folder.and_then(Lock::holder),
            leases_are_abandoned: false,
        };
        Ok(View::of_shared(reader, members))
    }
}
