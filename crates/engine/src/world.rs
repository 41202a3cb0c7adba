//! The world that a node works in: its calendar, its network, its disk.
//!
//! The real one, or a simulated one (DESIGN.md, last section): a web that is made up as it is asked, under tokio's paused
//! clock, so that a month of crawling takes minutes. Node, visits, courtesy, commits and frontier are the same code in both.
//!
//! A simulated world is **deterministic** on a current-thread runtime: nothing runs on another thread, nothing is decided by
//! the wall clock. The frontier is called in place, its housekeeping is never cut short by time, and the archive keeps
//! nothing (docs/decisions/0011-simulation.md).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{FetchSetupError, Fetcher, Simulation};
use aranha_frontier::Frontier;
use aranha_url::Blacklist;
use aranha_volume::{Archive, Repairs, VolumeError};

use crate::clock::Clock;
use crate::commit::Shared;

/// Longest that the frontier's housekeeping may keep a commit waiting.
const TIDY_BUDGET: Duration = Duration::from_millis(20);

/// How often the user's wishes (the black list, limits) are looked at.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Where a node works. Made within the runtime that the node runs in.
pub struct World {
    pub(crate) clock: Clock,
    simulated: Option<SimulatedParts>,
}

struct SimulatedParts {
    web: Arc<dyn Simulation>,
    sync: Duration,
}

impl World {
    /// This machine, this network, now.
    pub fn real() -> Self {
        Self {
            clock: Clock::new(),
            simulated: None,
        }
    }

    /// A web made up, at a time made up (unix milliseconds). `sync`: what the archive takes to make bytes durable; the
    /// check-ins that come meanwhile are committed together, as on a real disk.
    pub fn simulated(now: i64, web: Arc<dyn Simulation>, sync: Duration) -> Self {
        Self {
            clock: Clock::at(now),
            simulated: Some(SimulatedParts { web, sync }),
        }
    }

    pub(crate) fn web(
        &self,
        options: aranha_fetch::Options,
        refused: Blacklist,
    ) -> Result<Fetcher, FetchSetupError> {
        match &self.simulated {
            None => Fetcher::new(options, refused),
            Some(simulated) => {
                let web = Arc::clone(&simulated.web);
                Fetcher::simulated(options, refused, self.clock.now(), web)
            }
        }
    }

    pub(crate) fn archive(
        &self,
        folder: &Path,
        options: aranha_volume::Options,
    ) -> Result<(Archive, Repairs), VolumeError> {
        match &self.simulated {
            None => Archive::open(folder, options),
            Some(simulated) => Ok((Archive::discarding(simulated.sync), Repairs::default())),
        }
    }

    pub(crate) fn frontier(&self, frontier: Box<dyn Frontier>) -> Shared {
        match self.simulated {
            None => Shared::new(frontier),
            Some(_) => Shared::in_place(frontier),
        }
    }

    /// How often the user's wishes are looked at; in a simulation there is no user.
    pub(crate) fn reload_interval(&self) -> Duration {
        match self.simulated {
            None => RELOAD_INTERVAL,
            Some(_) => Duration::from_hours(1),
        }
    }

    /// How long housekeeping may take: in a simulation until it is done, for the wall clock decides nothing there.
    pub(crate) fn tidy_budget(&self) -> Duration {
        match self.simulated {
            None => TIDY_BUDGET,
            Some(_) => Duration::MAX,
        }
    }
}
