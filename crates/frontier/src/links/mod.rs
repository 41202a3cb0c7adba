//! Links to other sites on their way to the inboxes of those sites, independent of the storage engine.
//!
//! [`gather`] encodes links as they are sent. [`link_block`] encodes links that are sorted by site, as they are stored
//! in link runs.

pub(crate) mod consumed;
pub(crate) mod gather;
pub(crate) mod link_block;
pub(crate) mod outbox;
pub(crate) mod recent_links;
pub(crate) mod run_link;
