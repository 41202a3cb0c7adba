//! The state of a writer: tables, inbox, totals.

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use super::totals::Totals;
use crate::Options;
use crate::codec::BlockBuffer;
use crate::store_error::StoreError;

/// A writer of the frontier. Its methods must be called within a transaction.
#[derive(Debug)]
pub(crate) struct Core<T: Tables> {
    /// Declared before `store`, so that it is dropped first. Merge threads of the embedded engine then close their
    /// read-only connections before the writer closes its own. SQLite empties the write-ahead log when the last
    /// connection closes, but not if that connection is read-only.
    pub(crate) inbox: T::Inbox,
    pub(crate) store: Store<T>,
    pub(crate) options: Options,
    pub(crate) totals: Totals,
    /// Number of leases in force that this writer has given.
    pub(crate) leased: u64,
    /// Reused buffer for encoding a block.
    pub(crate) block: BlockBuffer,
}

impl<T: Tables> Core<T> {
    pub(crate) fn new(store: Store<T>, inbox: T::Inbox, options: Options) -> Core<T> {
        Core {
            inbox,
            store,
            options,
            totals: Totals::default(),
            leased: 0,
            block: BlockBuffer::default(),
        }
    }

    /// Write the row of a site if it changed.
    pub(crate) fn save(&mut self, before: &SiteRow, after: &SiteRow) -> Result<(), StoreError> {
        if before != after {
            self.store.site_update(after)?;
            self.totals.site(Some(before), after);
        }
        Ok(())
    }
}
