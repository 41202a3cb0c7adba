//! The frontier, shared by the node and the committer.

use std::sync::{Arc, Mutex, PoisonError};

use aranha_frontier::Frontier;

/// A handle on the frontier. Its calls block on the disk, so they run on tokio's blocking threads.
#[derive(Clone)]
pub(crate) struct SharedFrontier {
    frontier: Arc<Mutex<Box<dyn Frontier>>>,
    /// In a simulation calls run on the caller's thread, so that their order is deterministic.
    in_place: bool,
}

impl SharedFrontier {
    pub(crate) fn new(frontier: Box<dyn Frontier>) -> Self {
        Self {
            frontier: Arc::new(Mutex::new(frontier)),
            in_place: false,
        }
    }

    pub(crate) fn in_place(frontier: Box<dyn Frontier>) -> Self {
        Self {
            in_place: true,
            ..Self::new(frontier)
        }
    }

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
}
