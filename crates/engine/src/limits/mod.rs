//! Limits that the user sets for the whole crawl: load, number of pages, size of the archive.

pub(crate) mod load;
pub(crate) mod page_budget;
pub(crate) mod size_limit;
