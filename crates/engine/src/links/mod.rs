//! Links found on pages.

pub(crate) mod link_cache;
