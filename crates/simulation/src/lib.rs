//! Crawls in simulated time: the engine as it is, a web made up from a seed, a clock that jumps to the next event.
//!
//! ```text
//! Plan ─► site ─► page          pure: what a server says, from a seed     Watched: what the frontier hands out, and
//!            │                                                                     how long it waited
//!            └─► Network ─► judge: what the servers saw, held against         ▲
//!                   ▲        the courtesy that they may expect                │
//!                   └────────────── Node (the engine) ────────────────────────┘
//!                                     Course: its lives one after the other, ended in order or killed
//! ```
//!
//! Nothing below the engine's own seams is real: names, connections and answers come from [`Network`], the archive keeps
//! nothing, time is tokio's paused clock (docs/decisions/0011-simulation.md). Everything above is the code that crawls:
//! visits, courtesy, robots.txt, retries, group commits, the frontier in its files.
//!
//! What always holds:
//! - **The same seed, the same course**: [`Ledger::course`] is a hash over every request, its moment and its place in the
//!   order; two runs of one plan and configuration end with the same one.
//! - **Memory does not grow with what happened**: the judge keeps a few numbers a site, made before the start, and no log.
//! - **The judge knows nothing of the engine**: it is told what a server could see.
//!
//! Read first: [`Course`], then `network.rs`. For tests and `bench/simulate`; nothing of it is in the program.

mod course;
mod judge;
mod network;
mod page;
mod plan;
mod plot;
mod process;
mod site;
mod waits;
mod watched;

pub use course::{Course, CourseError, End, Life, Sample};
pub use judge::{Ledger, Violation};
pub use network::Network;
pub use plan::Plan;
pub use plot::{Axis, Line, Plot};
pub use process::{memory, processor};
pub use site::Site;
pub use waits::{Turn, Waits};
pub use watched::Watched;
