//! The engine runs the crawl. No other crate knows the order of the steps.
//!
//! ```text
//! node ──check-out──► visit (one task per site) ─► collect: resolve, gate, fetch, read, archive
//!   ▲                    │                                                  │
//!   └── commit ◄─────────┴── check-in: pages done, queue left, links found ◄┘
//! ```
//!
//! * [`Node`] keeps up to `crawl.sites` visits active until no site is due or [`Stop`] is requested.
//! * `visit` works on one site: Local Frontier, robots.txt, courtesy pause, thresholds.
//! * `collect` works on one page: from its URL to its response and links.
//! * `verdict` decides about each page in pure functions: retry, redirect, soft 404, next visit. `visit` applies the
//!   verdict.
//! * `commit` ensures invariant 4: the bytes are durable before the record is in the frontier.
//! * `courtesy` ensures invariant 2: the pause per site and per address, and `Retry-After`.
//! * `robots_txt` fetches a site's robots.txt file.
//! * `links` extracts the links of a page, and recognises links that the visit has already seen.
//! * `scope` decides which URLs are wanted. If a crawl has a wider scope than the last one, `reread` reads the links of
//!   stored pages again.
//! * `traps` detects endless sites and domains. `blocking` reads the black list and adds trap domains to it.
//! * `signals` receives change signals from outside.
//! * `limits` enforces the limits on load, download rate and pages.
//! * `status` reports on the crawl: counters, notices, `crawl.log`.
//! * `clock` and `world` make time, network and archive replaceable by a simulation.
//!
//! Read first: [`Node::run`], then `visit`, then `verdict`.

mod blocking;
mod clock;
mod collect;
mod collection;
mod commit;
pub mod config;
mod courtesy;
mod fault_injection;
mod limits;
mod links;
mod node;
mod reread;
mod robots_txt;
mod scope;
mod signals;
mod status;
mod traps;
mod verdict;
mod visit;
mod world;

pub use aranha_fetch::is_private_host;
pub use blocking::blacklist_watch::{
    append as add_to_blacklist, remove as remove_from_blacklist,
    with_entries as with_blacklist_entries, without_entries as without_blacklist_entries,
};
pub use clock::Clock;
pub use collection::Collection;
pub use collection::files::{append_lines, replace as replace_file};
pub use config::Config;
pub use limits::load::Caps;
pub use node::stop::{CrawlLimit, Reason, Stop};
pub use node::{EngineError, Node, Role, Summary};
pub use reread::LinkRules;
pub use signals::{Signal, Source, signal};
pub use status::collection_status::Status;
pub use status::event::{Event, EventKind};
pub use status::notice::Notice;
pub use status::progress_file::Progress;
pub use status::seed_failures::SeedFailure;
pub use status::speed::Speed;
pub use status::tally::{LiveCounters, Tally};
pub use traps::replay::{ReplayPage, ReplayVerdict, TrapReplay};
pub use traps::soft_404::probe_path;
pub use world::World;
