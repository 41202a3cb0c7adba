//! Limits that the user sets for the whole crawl: load, download rate, number of pages.

pub(crate) mod load;
pub(crate) mod page_budget;
pub(crate) mod rate_limit;
