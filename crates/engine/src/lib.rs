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
//! * `load` holds the caps on what the crawl takes of the machine.
//! * `repeats` knows the links that a visit has taken in before.
//! * `novelty` and `domains` tell traps from sites, `shutout` keeps what is never asked for.
//! * `courtesy` keeps invariant 2 per address.
//! * `clock` makes time a parameter, `world` the network and the disk.
//!
//! Read [`Node::run`] first, then `visit`.

mod census;
mod clock;
mod collect;
mod collection;
mod commit;
pub mod config;
mod courtesy;
mod crawllog;
mod domains;
mod dominance;
mod files;
mod load;
mod node;
mod notice;
mod novelty;
mod once;
mod pages;
mod permission;
mod rate;
mod repeats;
mod shutout;
mod signals;
mod stop;
mod tally;
mod visit;
mod words;
mod world;

pub use clock::Clock;
pub use collection::Collection;
pub use config::Config;
pub use files::replace as replace_file;
pub use load::Caps;
pub use node::{EngineError, Node, Summary};
pub use notice::Notice;
pub use shutout::{SHUT_OUT, append as shut_out, strike as unshut};
pub use signals::{Signal, Source, signal};
pub use stop::{Reason, Stop};
pub use tally::{Snapshot, Tally};
pub use world::World;
