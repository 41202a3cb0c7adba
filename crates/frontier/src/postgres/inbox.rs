//! The inboxes of all sites: sends links to the journal, and reads the links of a site from link runs.

use super::tables::PostgresTables;
use crate::links::outbox::Outbox;
use crate::links::run_link::RunLink;
use crate::sites::store::Store;
use crate::sites::tables::Inbox;
use crate::sites::totals::Totals;
use crate::store_error::StoreError;
use crate::{Options, Outside};

/// The links that the current transaction sends.
#[derive(Debug)]
pub(crate) struct PostgresInbox {
    pub(super) outbox: Outbox,
}

impl PostgresInbox {
    pub(super) fn new(options: &Options) -> PostgresInbox {
        PostgresInbox {
            outbox: Outbox::new(options),
        }
    }

    /// Forget the links of a transaction that failed.
    pub(super) fn roll_back(&mut self) {
        self.outbox.gather.clear();
        self.outbox.recent.clear();
    }
}

impl Inbox<PostgresTables> for PostgresInbox {
    fn send(&mut self, links: &[Outside], totals: &mut Totals) {
        self.outbox.send(links, totals);
    }

    fn send_unfiltered(&mut self, link: &Outside) {
        self.outbox.send_unfiltered(link);
    }

    fn read(
        &mut self,
        store: &Store<PostgresTables>,
        site: i64,
        consumed: i64,
        visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        store.inbox_walk(site, consumed, visit)
    }

    fn on_read(&mut self, _site: i64) {}
}
