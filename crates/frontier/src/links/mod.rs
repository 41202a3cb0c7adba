//! Links to other sites on their way to the inboxes of those sites, independent of the storage engine.
//!
//! [`gather`] is the encoding of gathered links, in memory and in the journal. [`link_block`] is the encoding of links in
//! link runs, where they are sorted by site.

pub(crate) mod consumed;
pub(crate) mod gather;
pub(crate) mod link_block;
pub(crate) mod outbox;
pub(crate) mod recent_links;
pub(crate) mod run_link;
