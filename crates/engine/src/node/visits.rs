//! The active visits of a node, and the visits that were ended by a fault.

use std::collections::HashMap;
use std::sync::Arc;

use aranha_frontier::Lease;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::Context;
use super::watchdog::Watched;
use crate::collect::panic_message;
use crate::visit::activity::Activity;
use crate::visit::visit;

/// The tasks of the active visits.
#[derive(Default)]
pub(super) struct Visits {
    tasks: JoinSet<()>,
    pub(super) active: HashMap<Id, ActiveVisit>,
    /// Visits that were ended by a fault and are not recorded yet.
    pub(super) failed: Vec<FailedVisit>,
}

/// A visit whose task is running.
pub(super) struct ActiveVisit {
    site: String,
    pub(super) lease: u64,
    pub(super) watched: Watched,
    task: AbortHandle,
    /// Why the watchdog ended the visit.
    ended_because: Option<String>,
}

/// A visit that was ended by a panic or by the watchdog.
pub(super) struct FailedVisit {
    pub(super) site: String,
    pub(super) lease: u64,
    pub(super) problem: String,
}

impl Visits {
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Starts the visit of a leased site.
    pub(super) fn start(&mut self, context: &Arc<Context>, lease: Lease) {
        let activity = Arc::new(Activity::new(lease.node));
        let (site, id) = (lease.site.clone(), lease.id);
        let work = visit(Arc::clone(context), lease, Arc::clone(&activity));
        let task = self.tasks.spawn(work);
        let visit = ActiveVisit {
            site,
            lease: id,
            watched: Watched::new(activity, Instant::now()),
            ended_because: None,
            task,
        };
        self.active.insert(visit.task.id(), visit);
    }

    /// Waits for the next visit to end. `None` if no visit is active. Cancel safe.
    pub(super) async fn join_next(&mut self) -> Option<()> {
        let ended = self.tasks.join_next_with_id().await?;
        self.remove(ended);
        Some(())
    }

    /// Removes all visits that have ended.
    pub(super) fn remove_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.remove(ended);
        }
    }

    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) {
        let (id, error) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), Some(error)),
        };
        if let (Some(visit), Some(error)) = (self.active.remove(&id), error) {
            let problem = visit.ended_because.unwrap_or_else(|| problem(error));
            self.failed.push(FailedVisit {
                site: visit.site,
                lease: visit.lease,
                problem,
            });
        }
    }
}

impl ActiveVisit {
    /// Ends the visit because of `problem`. When its task has ended, the visit is reported as failed.
    pub(super) fn end(&mut self, problem: String) {
        self.ended_because.get_or_insert(problem);
        self.task.abort();
    }
}

fn problem(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("a panic: {}", panic_message(&*panic)),
        Err(error) => error.to_string(),
    }
}
