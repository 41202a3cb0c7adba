//! The frontier, shared by the node and the committer.
//!
//! A frontier for several nodes is a database on another machine, which may be away for a while. Then the call is
//! repeated until the database is back ([`SharedFrontier::persist`]), and notices tell the operator. A frontier of one
//! machine is never away.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aranha_frontier::{ErrorClass, Frontier, FrontierError};
use tokio::time::Instant;

use crate::node::stop::Stop;
use crate::status::notice::{Notice, Notices};

/// Time from a failed call to the next try: the first, and the longest. Each is twice as long as the one before.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(250);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// After the crawl was asked to stop, calls are repeated for this time.
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

/// The outage of the frontier, and who is told about it.
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

    /// Sends a notice when the frontier is away and when it is back. Calls are given up some time after the request to
    /// stop.
    pub(crate) fn watch(&self, notices: Notices, stop: Stop) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.notices = Some(notices);
        outage.stop = Some(stop);
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
        if self.in_place {
            return work();
        }
        tokio::task::spawn_blocking(work)
            .await
            .expect("frontier calls do not panic, and blocking tasks are not cancelled")
    }

    /// Calls the frontier, again and again while it is away.
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

    /// Notes whether the frontier is away, given the result of a single call. Returns `Ok(None)` if it is away.
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

    /// Sends the notice of an outage, once. Returns whether the crawl was asked to stop.
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
