//! Reports of a crawl about itself. The same types serve `crawl --json`, `status --json`, the summary, and later a
//! dashboard.
//!
//! * [`Tally`](tally::Tally): counters of one crawl.
//! * [`Status`](collection_status::Status): totals of the whole collection, from the frontier.
//! * [`Notice`](notice::Notice): something an operator should know: a trap, a DNS outage, a full disk.
//! * [`Event`](event::Event): a report with a time: progress, a notice, or the end of the crawl.
//! * [`Progress`](progress_file::Progress): the state of the running or last crawl, for `aranha status`.
//! * `crawl_log` writes `logs/crawl.log`, `event_log` writes `logs/events.jsonl`.
//!
//! docs/json.md documents every field.

pub(crate) mod clock_watch;
pub(crate) mod collection_status;
pub(crate) mod crawl_log;
pub(crate) mod event;
pub(crate) mod event_log;
pub(crate) mod notice;
pub(crate) mod progress_file;
pub(crate) mod seed_failures;
pub(crate) mod speed;
pub(crate) mod tally;
