//! Limits that the user sets on the whole crawl: requests under way, bytes a second, pages.

pub(crate) mod load;
pub(crate) mod page_budget;
pub(crate) mod rate;
