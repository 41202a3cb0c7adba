//! The requests of a visit: pages in flight, connections to reuse, and the time of the next request.

use std::sync::Arc;

use aranha_fetch::FetchSession;
use aranha_frontier::Pending;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::level_filters::LevelFilter;
use tracing::{Instrument as _, Span};

use crate::collect::{Collected, FetchTask, collect};
use crate::node::Context;

/// The requests of one site.
pub(super) struct Requests {
    collectors: JoinSet<Collected>,
    /// Pages that are being fetched. They stay pending until their records are in a batch.
    pub(super) in_flight: Vec<(Id, Pending)>,
    sessions: Vec<FetchSession>,
    /// No request is sent to this site before this time.
    pub(super) allowed_at: Instant,
    /// Number of fetches in a row that failed or got 429 or 5xx.
    pub(super) failures: u32,
    /// Whether the page limit of the crawl currently allows no further fetch. Then the visit waits until another fetch
    /// returns its reservation.
    pub(super) page_limit_reached: bool,
}

impl Requests {
    pub(super) fn new(allowed_at: Instant) -> Self {
        Self {
            collectors: JoinSet::new(),
            in_flight: Vec::new(),
            sessions: Vec::with_capacity(1),
            allowed_at,
            failures: 0,
            page_limit_reached: false,
        }
    }

    /// Number of active requests.
    pub(super) fn count(&self) -> usize {
        self.collectors.len()
    }

    pub(super) fn are_finished(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether a request of this visit, for robots.txt or a page, has ended. Such a request leaves its session for
    /// reuse.
    pub(super) fn have_begun(&self) -> bool {
        !self.sessions.is_empty()
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Pending> {
        self.in_flight.iter().map(|(_, page)| page)
    }

    /// Starts a task that fetches a page and reads it.
    pub(super) fn start(&mut self, context: Arc<Context>, task: FetchTask) {
        let page = task.page.clone();
        let session = self.sessions.pop().unwrap_or_default();
        // The future takes some kilobytes. It is boxed, so that it is not copied several times before it reaches the
        // runtime.
        let work = async move { collect(&context, session, task).await };
        let work = Box::pin(work.instrument(visit_span()));
        let collector = self.collectors.spawn(work);
        self.in_flight.push((collector.id(), page));
    }

    /// Waits for the next collector to end. `None` if no collector is active.
    pub(super) async fn join_next(&mut self) -> Option<Result<(Id, Collected), JoinError>> {
        self.collectors.join_next_with_id().await
    }

    /// Removes the page of a collector that has ended.
    pub(super) fn remove(&mut self, id: Id) -> Option<Pending> {
        let index = self.in_flight.iter().position(|(other, _)| *other == id)?;
        Some(self.in_flight.swap_remove(index).1)
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep_session(&mut self, session: FetchSession) {
        self.sessions.push(session);
    }

    /// Cancels all collectors. Their pages stay in `in_flight`, so that the next check-in reports them as pending.
    pub(super) async fn cancel(&mut self) {
        self.collectors.shutdown().await;
    }
}

/// The tracing span of the visit. It must be passed to fetches, because they are tasks of their own. The lookup is
/// skipped if the log level disables the span.
fn visit_span() -> Span {
    if LevelFilter::current() >= LevelFilter::DEBUG {
        Span::current()
    } else {
        Span::none()
    }
}
