//! Limits that the user sets for the whole crawl: load, download rate, number of pages, size of the archive.

pub(crate) mod load;
pub(crate) mod page_budget;
pub(crate) mod rate_limit;
pub(crate) mod size_limit;
