//! The interface of a storage engine to the code in `sites/`: stores rows and blocks, and carries links to inboxes.
//!
//! A block is a sealed envelope (`codec.rs`) or a list of keys. Ids of blocks are greater than 0 and are given by the
//! engine. The engine passes on errors of the store. For a missing block it returns `None` or `false`, and the caller
//! decides whether that is damage.

use super::later::WaitKind;
use super::site_row::SiteRow;
use super::store::Store;
use super::totals::Totals;
use crate::links::run_link::RunLink;
use crate::store_error::StoreError;
use crate::{FrontierStatus, LeaseEntry, Outside, ProblemSite, Seed, SeedSettings, SiteSettings};

/// A block of the window: the id of the previous block, the number of pages, and the pages.
pub(crate) type WindowBlockRow = (i64, i64, Vec<u8>);

/// Is called for each block of a queue with its id and its pages. Returns false to stop.
pub(crate) type QueueVisitor<'a> = dyn FnMut(i64, &[u8]) -> Result<bool, StoreError> + 'a;

/// Rows and blocks in the tables of an engine. Writes are part of the transaction that the engine has begun.
pub(crate) trait Tables: Sized + std::fmt::Debug {
    /// Carries links to inboxes.
    type Inbox: Inbox<Self> + std::fmt::Debug;

    /// Run `work` on one snapshot of the tables.
    fn snapshot<R>(&self, work: impl FnMut() -> Result<R, StoreError>) -> Result<R, StoreError>;

    /// The totals. The number of problem sites is not set.
    fn status(&self, horizon: i64) -> Result<FrontierStatus, StoreError>;

    // Sites.
    fn site(&self, key: i64) -> Result<Option<SiteRow>, StoreError>;
    fn site_insert(&self, site: &SiteRow, class: i64) -> Result<(), StoreError>;
    fn site_update(&self, site: &SiteRow, class: i64) -> Result<(), StoreError>;
    /// Up to `count` sites with keys greater than `after`, in order of key.
    fn sites_after(&self, after: Option<i64>, count: usize) -> Result<Vec<SiteRow>, StoreError>;
    /// The first site with a key greater than `after` that has page records.
    fn site_with_records(&self, after: Option<i64>) -> Result<Option<SiteRow>, StoreError>;
    /// Up to `count` sites with keys greater than `after` whose earliest revisit is due by `until`, in order of key.
    fn sites_with_revisits(
        &self,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError>;

    // Facts of a site, one envelope each.
    fn facts(&self, site: i64) -> Result<Option<Vec<u8>>, StoreError>;
    fn facts_write(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError>;

    // Page records.
    fn pages_insert(&self, site: i64, previous: i64, sealed: Vec<u8>) -> Result<i64, StoreError>;
    /// The id of the previous block, and the records.
    fn pages_block(&self, id: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError>;

    // Keys of admitted pages.
    fn keys_insert(&self, site: i64, previous: i64, bytes: Vec<u8>) -> Result<i64, StoreError>;
    /// Delete a block. Returns the id of the previous block, and the keys.
    fn keys_take(&self, site: i64, id: i64) -> Result<(i64, Vec<u8>), StoreError>;
    /// Call `visit` for each block of the site, the newest first. It returns false if the block is damaged.
    fn keys_walk(
        &self,
        site: &SiteRow,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError>;

    // The window.
    fn window_insert(
        &self,
        site: i64,
        previous: i64,
        count: i64,
        sealed: Vec<u8>,
    ) -> Result<i64, StoreError>;
    fn window_block(&self, site: i64, id: i64) -> Result<Option<WindowBlockRow>, StoreError>;
    fn window_previous(&self, site: i64, id: i64) -> Result<Option<i64>, StoreError>;
    /// Returns false if there is no such block.
    fn window_delete(&self, site: i64, id: i64) -> Result<bool, StoreError>;

    // The queue behind the window, first in, first out.
    fn queue_insert(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError>;
    fn queue_front(&self, site: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError>;
    fn queue_update(&self, site: i64, id: i64, sealed: Vec<u8>) -> Result<(), StoreError>;
    fn queue_delete(&self, site: i64, id: i64) -> Result<(), StoreError>;
    /// Call `visit` for each block until it returns false.
    fn queue_walk(&self, site: i64, visit: &mut QueueVisitor<'_>) -> Result<(), StoreError>;

    // Pages that wait until their due time.
    fn later_insert(
        &self,
        site: i64,
        kind: WaitKind,
        due: i64,
        sealed: Vec<u8>,
    ) -> Result<(), StoreError>;
    /// The block with the earliest due time.
    fn later_first(&self, site: i64, kind: WaitKind) -> Result<Option<(i64, Vec<u8>)>, StoreError>;
    /// The earliest due time.
    fn later_due(&self, site: i64, kind: WaitKind) -> Result<Option<i64>, StoreError>;
    /// The ids of the blocks of this kind. Only ids are read, because a large site has thousands of blocks; the caller
    /// reads the blocks one by one.
    fn later_ids(&self, site: i64, kind: WaitKind) -> Result<Vec<i64>, StoreError>;
    fn later_block(&self, site: i64, id: i64) -> Result<Option<Vec<u8>>, StoreError>;
    fn later_delete(&self, site: i64, id: i64) -> Result<(), StoreError>;

    /// Keep the address at which a site was visited, if this engine needs it. It is written with the row of the site.
    fn set_gate(&self, _site: i64, _address: std::net::IpAddr) {}

    // Leases that this writer has given.
    /// Number of this writer's node; 0 if there is only one node.
    fn node(&self) -> i64 {
        0
    }
    fn lease_insert(&self, site: i64, now: i64, expires: i64) -> Result<i64, StoreError>;
    /// The site of a lease; `None` if the lease is lost.
    fn lease_site(&self, id: i64) -> Result<Option<i64>, StoreError>;
    /// Set the expiry. Returns false if the lease is lost.
    fn lease_renew(&self, id: i64, expires: i64) -> Result<bool, StoreError>;
    fn lease_delete(&self, id: i64) -> Result<(), StoreError>;
    /// The lease of a site, also if another writer gave it.
    fn lease_entry(&self, site: &SiteRow) -> Result<Option<LeaseEntry>, StoreError>;

    // Problem sites: sites whose last visit was ended by a fault of the crawler.
    fn problem_write(&self, site: i64, now: i64, problem: &str) -> Result<(), StoreError>;
    /// Record that a visit to the site has ended normally.
    fn problem_end(&self, site: i64) -> Result<(), StoreError>;
    /// All problem sites, the latest fault first.
    fn problems(&self) -> Result<Vec<ProblemSite>, StoreError>;

    // Seeds.
    /// Returns false if the seed is known.
    fn seed_insert(&self, now: i64, seed: &Seed) -> Result<bool, StoreError>;
    fn seeds(&self) -> Result<Vec<String>, StoreError>;
    fn seeds_has(&self, site: i64, path: i64) -> Result<bool, StoreError>;
    /// Replace the settings of a site; empty settings are removed.
    fn seed_settings_write(&self, site: i64, settings: &SeedSettings) -> Result<(), StoreError>;
    /// The settings of one site, or of all sites in order of key.
    fn seed_settings(&self, site: Option<i64>) -> Result<Vec<SiteSettings>, StoreError>;

    // Single named values.
    fn value(&self, name: &str) -> Result<Option<i64>, StoreError>;
    fn set_value(&self, name: &str, value: Option<i64>) -> Result<(), StoreError>;

    // Links to other sites, read without a writer.
    /// Call `visit` for each link in link runs that the site has not consumed.
    fn unread_links(
        store: &Store<Self>,
        site: &SiteRow,
        visit: &mut dyn FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<(), StoreError>;
    /// Whether a link to this page was sent and is in no link run yet.
    fn is_gathered(store: &Store<Self>, site: i64, path: u64) -> Result<bool, StoreError>;
}

/// Links to other sites: sends the links of this writer, and reads the links in the inbox of a site.
pub(crate) trait Inbox<T: Tables> {
    /// Send links to other sites, according to the policy for external links. A link that was sent recently is not sent
    /// again.
    fn send(&mut self, links: &[Outside], totals: &mut Totals);

    /// Send a link without applying the policy for external links and without the test for recent links. Used for seeds
    /// of leased sites and for claims.
    fn send_unfiltered(&mut self, link: &Outside);

    /// Call `visit` for each link in link runs that are newer than `consumed`. Returns the newest link run that was read.
    fn read(
        &mut self,
        store: &Store<T>,
        site: i64,
        consumed: i64,
        visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError>;

    /// Record that the inbox of the site was read and its links were admitted.
    fn on_read(&mut self, site: i64);
}
