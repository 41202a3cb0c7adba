//! The environment of a node: clock, network and archive, real or simulated.
//!
//! A simulated world has a generated web and tokio's paused clock, so that a month of crawling takes minutes. Node,
//! visits, courtesy, commits and frontier are the same code in both kinds of world.
//!
//! A simulated world is **deterministic** on a current-thread runtime: it uses no other thread and no wall clock.
//! Frontier calls and page readers run on the same thread. The writing and merging of link runs has no time limit. The
//! archive stores nothing (docs/decisions/0011-simulation.md).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{FetchSetupError, Fetcher, Simulation};
use aranha_frontier::Frontier;
use aranha_url::Blacklist;
use aranha_volume::{Archive, Repairs, VolumeError};

use crate::clock::Clock;
use crate::collect::ReaderThreads;
use crate::collection::Collection;
use crate::commit::SharedFrontier;

/// Time limit for writing and merging the frontier's link runs after a commit.
const TIDY_BUDGET: Duration = Duration::from_millis(20);

/// Time between two checks of the files that other processes may change: black list and signals.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// The environment of a node. Create it inside the tokio runtime of the node, because its clock follows tokio's clock.
pub struct World {
    pub(crate) clock: Clock,
    /// Whether the clock of a real (not simulated) world was set to a time other than the system time.
    is_shifted: bool,
    simulated: Option<SimulatedParts>,
}

struct SimulatedParts {
    web: Arc<dyn Simulation>,
    sync: Duration,
}

impl World {
    /// The real clock, network and archive.
    pub fn real() -> Self {
        Self::with_clock(Clock::new(), false)
    }

    /// The real network and archive. The clock starts at `now` (unix milliseconds), so that a test can crawl on another
    /// day.
    pub fn real_at(now: i64) -> Self {
        Self::with_clock(Clock::at(now), true)
    }

    fn with_clock(clock: Clock, is_shifted: bool) -> Self {
        Self {
            clock,
            is_shifted,
            simulated: None,
        }
    }

    /// A simulated web that starts at `now` (unix milliseconds). `sync` is the simulated time that the archive takes to
    /// make records durable. As with a real disk, check-ins that arrive during that time are committed together.
    pub fn simulated(now: i64, web: Arc<dyn Simulation>, sync: Duration) -> Self {
        Self {
            clock: Clock::at(now),
            is_shifted: false,
            simulated: Some(SimulatedParts { web, sync }),
        }
    }

    pub(crate) fn web(
        &self,
        options: aranha_fetch::Options,
        refused: Blacklist,
    ) -> Result<Fetcher, FetchSetupError> {
        match &self.simulated {
            None if self.is_shifted => Fetcher::starting_at(options, refused, self.clock.now()),
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

    /// The folder for the temporary files of large responses. It is the folder of the volumes, because the files are
    /// moved into volumes. `None` in a simulation, which writes no files.
    pub(crate) fn spool_folder(&self, collection: &Collection) -> Option<PathBuf> {
        match self.simulated {
            None => Some(collection.root().join("archive")),
            Some(_) => None,
        }
    }

    pub(crate) fn frontier(&self, frontier: Box<dyn Frontier>) -> SharedFrontier {
        match self.simulated {
            None => SharedFrontier::new(frontier),
            Some(_) => SharedFrontier::in_place(frontier),
        }
    }

    pub(crate) fn readers(&self) -> ReaderThreads {
        match self.simulated {
            None => ReaderThreads::new(),
            Some(_) => ReaderThreads::in_place(),
        }
    }

    /// Time between two checks of the black list, the signals, and what other nodes have changed. In a simulation of one node
    /// nobody else changes them, so the checks are rare.
    pub(crate) fn reload_interval(&self, has_other_nodes: bool) -> Duration {
        if self.simulated.is_some() && !has_other_nodes {
            return Duration::from_hours(1);
        }
        RELOAD_INTERVAL
    }

    /// Whether the world is real. In a simulation the node writes no `progress.json`, does not watch the system clock, keeps
    /// no file of DNS answers, and does not read stored pages again.
    pub(crate) fn is_real(&self) -> bool {
        self.simulated.is_none()
    }

    /// Time limit for writing and merging the frontier's link runs after a commit. In a simulation it is
    /// unlimited, because the result must not depend on the wall clock.
    pub(crate) fn tidy_budget(&self) -> Duration {
        match self.simulated {
            None => TIDY_BUDGET,
            Some(_) => Duration::MAX,
        }
    }
}
