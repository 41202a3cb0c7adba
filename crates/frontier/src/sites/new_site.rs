//! The row of a site that a link has found.

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::External;
use crate::codec::BlockBuffer;
use crate::links::gather::{Gather, LinkIndexEntry};
use crate::links::outbox::Outbox;
use crate::store_error::StoreError;

impl<T: Tables> Store<T> {
    /// The row of a new site, to which this link leads. The link is written to the link run `run`. The policy
    /// [`External::Combined`] queues the home page of the site.
    pub(crate) fn new_site(
        &self,
        now: i64,
        run: i64,
        (gather, entry): (&Gather, &LinkIndexEntry),
        outbox: &Outbox,
        block: &mut BlockBuffer,
    ) -> Result<SiteRow, StoreError> {
        let damaged = || StoreError::damaged("journal before run", run);
        let link = gather.read(entry).ok_or_else(damaged)?;
        let mut row = SiteRow::new(entry.site, link.name, &link.origin(), run - 1);
        if outbox.policy == External::Combined {
            row.free = now;
            let link = link.link(run, entry.key);
            let (depth, hop, _, via) = link.fields().ok_or_else(damaged)?;
            let home = outbox.home_page(depth, hop, via);
            self.keys_append(&mut row, &[home.key])?;
            self.queue_append(&mut row, &[home], block)?;
        }
        Ok(row)
    }
}
