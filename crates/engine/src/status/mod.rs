//! What the crawl reports about itself: counters, notices, `logs/crawl.log`.

pub(crate) mod crawl_log;
pub(crate) mod notice;
pub(crate) mod tally;
