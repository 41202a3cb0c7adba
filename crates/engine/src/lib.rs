//! The engine joins the steps: it is the only crate that knows the loop.
//!
//! ```text
//! node ──check-out──► visit (one task a site) ──► collect: resolve, gate, fetch, read, archive
//!   ▲                    │                                                  │
//!   └── commit ◄─────────┴── check-in: pages done, queue left, links found ◄┘
//! ```
//!
//! * [`Node`] keeps as many visits going as it has room for, until nothing is left or [`Stop`] is asked.
//! * `visit` is one site: its Local Frontier, robots.txt, its courtesy pause, its thresholds.
//! * `collect` is one page: from its URL to what is known about it.
//! * `commit` keeps invariant 4: bytes durable first, then the record in the frontier.
//! * `courtesy` keeps invariant 2: the pause per site and per address, and `Retry-After`.
//! * `robots_txt` fetches a site's robots.txt file.
//! * `links` has the cache of links that a visit has seen before.
//! * `traps` recognises endless sites and domains, `blocking` watches the black list.
//! * `signals` takes in what others say has changed.
//! * `limits` holds the caps on what the crawl takes of the machine.
//! * `status` is what the crawl reports: counters, notices, `crawl.log`.
//! * `clock` makes time a parameter, `world` the network and the disk.
//!
//! Read [`Node::run`] first, then `visit`.

mod blocking;
mod clock;
mod collect;
mod collection;
mod commit;
pub mod config;
mod courtesy;
mod limits;
mod links;
mod node;
mod robots_txt;
mod signals;
mod status;
mod traps;
mod visit;
mod world;

pub use blocking::blacklist_watch::{append as add_to_blacklist, remove as remove_from_blacklist};
pub use clock::Clock;
pub use collection::Collection;
pub use collection::files::replace as replace_file;
pub use config::Config;
pub use limits::load::Caps;
pub use node::stop::{Reason, Stop};
pub use node::{EngineError, Node, Summary};
pub use signals::{Signal, Source, signal};
pub use status::collection_status::Status;
pub use status::event::{Event, EventKind};
pub use status::notice::Notice;
pub use status::tally::{LiveCounters, Tally};
pub use world::World;
