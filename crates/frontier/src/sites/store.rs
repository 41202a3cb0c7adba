//! The tables of an engine, with the encoder of blocks. Each kind of block has its own source file, which adds the
//! operations on that kind to [`Store`].

use super::tables::Tables;
use crate::codec::Packer;

/// The open tables of a frontier.
#[derive(Debug)]
pub(crate) struct Store<T: Tables> {
    pub(crate) tables: T,
    pub(crate) packer: Packer,
    /// Revisits that are due after this time wait for another crawl.
    pub(crate) horizon: i64,
}

impl<T: Tables> Store<T> {
    pub(crate) fn new(tables: T, packer: Packer) -> Store<T> {
        Store {
            tables,
            packer,
            horizon: i64::MAX,
        }
    }
}
