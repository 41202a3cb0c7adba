//! When to ask for a page again: a page's history and its last visit in, the time of the next visit out.
//!
//! The engine calls [`Schedule::plan`] once after every visit of a page, keeps the [`History`] with the page's record
//! and asks again when the answer says so. For the rounds of `selective` it keeps a [`SiteHistory`] with each site, and
//! for signals from outside (sitemaps, feeds, pushes) a [`Trust`] for each source and site.
//!
//! What always holds: nothing here reads a clock, draws random numbers or does I/O; the same history and visit give the
//! same answer on every node (`optimal` also looks at its [`Census`], which can be rebuilt from the histories). A plan is
//! always later than the visit. Signals only ever bring a visit forward.
//!
//! Not here: courtesy, retries after failures, conditional requests, whether a text has changed. Those are the engine's.
//!
//! Read first: [`Policy`], then `schedule.rs`; each policy is a file named after it. The sources are
//! "Creating a polite, adaptive and selective incremental crawler" (Bouras, Poulopoulos, Thanou; *B* below), Cho and
//! Garcia-Molina's work on estimating change, Azar et al. 2018, Kolobov et al. 2019 and Upadhyay et al. 2020.

mod frequency;
mod history;
mod optimal;
mod options;
mod poisson;
mod rounds;
mod schedule;
mod selective;
mod trust;

pub use history::{History, PageState, PageVisit};
pub use optimal::{Census, best_interval};
pub use options::{Options, Policy};
pub use schedule::Schedule;
pub use selective::SiteHistory;
pub use trust::Trust;

/// Milliseconds of a day; rates here are per day.
pub(crate) const DAY_MS: f64 = 86_400_000.0;
