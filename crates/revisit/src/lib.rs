//! Revisit policies. They compute the time of a page's next visit from its history and its last visit.
//!
//! After every visit of a page, the engine calls [`Schedule::plan`] and stores the [`History`] with the page. For the
//! rounds of `selective` it stores a [`SiteHistory`] with each site. For external signals (sitemaps, feeds, pushes) it
//! stores a [`Trust`] for each source and site.
//!
//! Invariants:
//! - **Deterministic.** No clock, no random numbers, no I/O. The same history and visit give the same time on every
//!   node. `optimal` also reads its [`Census`], which is stored across restarts.
//! - **The next visit is always later than the last one.**
//! - **A signal can make a visit earlier, never later.**
//!
//! The engine is responsible for courtesy, retries after failures, conditional requests and the detection of changes.
//!
//! Read first: [`Policy`], then `schedule.rs`. Each policy has a file with its name. Sources: Bouras, Poulopoulos and
//! Thanou, "Creating a polite, adaptive and selective incremental crawler" (cited as Bouras); Cho and Garcia-Molina
//! 2003 on estimating change; Azar et al. 2018; Kolobov et al. 2019; Upadhyay et al. 2020.
//!
//! ```
//! use aranha_revisit::{History, Options, PageState, PageVisit, Schedule};
//!
//! let schedule = Schedule::new(&Options::default());
//! let mut history = History::default();
//! let visited_ms = 1_794_764_880_000;
//! let visit = PageVisit::new(visited_ms, PageState::New, 42);
//! let next_ms = schedule.plan(&mut history, &visit).expect("the page exists");
//! assert!(next_ms > visited_ms);
//! assert_eq!(history.visits, 1);
//! ```

mod frequency;
mod history;
mod optimal;
mod options;
mod poisson;
mod rounds;
mod schedule;
mod selective;
mod site_history;
mod trust;

pub use history::{History, Pace, PageState, PageVisit};
pub use optimal::{Census, best_interval};
pub use options::{Options, Policy, SelectiveGroups};
pub use schedule::{EarlyVisits, Schedule};
pub use selective::GroupHistory;
pub use site_history::{Heads, PagePlace, SiteHistory, SiteUpdate};
pub use trust::Trust;

/// Milliseconds in a day. Rates of change are per day.
pub(crate) const DAY_MS: f64 = 86_400_000.0;
