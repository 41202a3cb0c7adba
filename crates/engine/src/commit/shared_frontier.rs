//! The frontier, shared by the node and the committer.
//!
//! A frontier for several nodes is a database on another machine. If this database is away for a while, calls are
//! repeated until it is back ([`SharedFrontier::persist`]), and notices tell the operator. A frontier of one machine is
//! never away.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aranha_frontier::{ErrorClass, Frontier, FrontierError};
use tokio::time::Instant;

use crate::node::stop::Stop;
use crate::status::notice::{Notice, Notices};

/// Wait between the first failure of a call and the second try. Each further wait is twice as long, up to
/// [`LONGEST_WAIT`].
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(250);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long failed calls are still repeated after the crawl was asked to stop.
pub(super) const MAX_STOPPING: Duration = Duration::from_mins(1);

impl std::fmt::Debug for SharedFrontier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedFrontier")
    }
}

/// A handle on the frontier. Its calls block on the disk or the network, so they run on tokio's blocking threads.
#[derive(Clone)]
pub(crate) struct SharedFrontier {
    frontier: Arc<Mutex<Box<dyn Frontier>>>,
    /// In a simulation calls run on the caller's thread, so that their order is deterministic.
    in_place: bool,
    outage: Arc<Mutex<Outage>>,
}

/// The current outage of the frontier, and the handles for its notices and for the request to stop.
#[derive(Default)]
struct Outage {
    since: Option<Instant>,
    notices: Option<Notices>,
    stop: Option<Stop>,
}

impl SharedFrontier {
    pub(crate) fn new(frontier: Box<dyn Frontier>) -> Self {
        Self {
            frontier: Arc::new(Mutex::new(frontier)),
            in_place: false,
            outage: Arc::default(),
        }
    }

    pub(crate) fn in_place(frontier: Box<dyn Frontier>) -> Self {
        Self {
            in_place: true,
            ..Self::new(frontier)
        }
    }

    /// From now on, sends a notice when the frontier is away and when it is back. After `stop` was requested, failed
    /// calls are repeated only for [`MAX_STOPPING`].
    pub(crate) fn watch(&self, notices: Notices, stop: Stop) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.notices = Some(notices);
        outage.stop = Some(stop);
    }

    /// Runs work that blocks on the disk.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if self.in_place {
            return work();
        }
        tokio::task::spawn_blocking(work)
            .await
            .expect("blocking work does not panic, and is not cancelled")
    }

    /// Calls the frontier once.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Frontier) -> T + Send + 'static,
    ) -> T {
        let shared = Arc::clone(&self.frontier);
        let work = move || {
            work(
                shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_mut(),
            )
        };
        self.run_blocking(work).await
    }

    /// Calls the frontier. While the frontier is away, repeats the call.
    pub(crate) async fn persist<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn Frontier) -> Result<T, FrontierError> + Send + 'static,
    ) -> Result<T, FrontierError> {
        let mut wait = FIRST_WAIT;
        let mut stopping: Option<Instant> = None;
        loop {
            let result;
            (work, result) = self
                .call(move |frontier| {
                    let result = work(frontier);
                    (work, result)
                })
                .await;
            match result {
                Err(error) if error.class() == ErrorClass::MayPass => {
                    if self.begin_outage(&error) {
                        let since = *stopping.get_or_insert_with(Instant::now);
                        if since.elapsed() >= MAX_STOPPING {
                            return Err(error);
                        }
                    }
                }
                result => {
                    self.end_outage();
                    return result;
                }
            }
            tokio::time::sleep(wait).await;
            wait = LONGEST_WAIT.min(wait * 2);
        }
    }

    /// Learns from the result of a single call whether the frontier is away. Returns `Ok(None)` if it is.
    pub(super) fn observe<T>(
        &self,
        result: Result<T, FrontierError>,
    ) -> Result<Option<T>, FrontierError> {
        match result {
            Err(error) if error.class() == ErrorClass::MayPass => {
                self.begin_outage(&error);
                Ok(None)
            }
            result => {
                self.end_outage();
                result.map(Some)
            }
        }
    }

    /// Sends one notice for the outage, even if it is called several times. Returns whether the crawl was asked to
    /// stop.
    fn begin_outage(&self, error: &FrontierError) -> bool {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if outage.since.is_none() {
            outage.since = Some(Instant::now());
            if let Some(notices) = &outage.notices {
                let problem = error.to_string();
                notices.send(Notice::FrontierDown { problem });
            }
        }
        outage.stop.as_ref().is_some_and(Stop::asked)
    }

    fn end_outage(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = outage.since.take()
            && let Some(notices) = &outage.notices
        {
            let seconds = since.elapsed().as_secs();
            notices.send(Notice::FrontierUp { seconds });
        }
    }
}
