//! Sites and URLs that the user or a trap has blocked.

pub(crate) mod blacklist_watch;
