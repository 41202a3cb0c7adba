//! The check-ins of a visit: what it has gathered goes to the disk while it works on.

use std::time::Duration;

use aranha_frontier::{Hop, Then};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Leave, Visit};
use crate::commit::Committed;

/// How long an orderly stop waits for answers on the way.
const GRACE: Duration = Duration::from_secs(5);

impl Visit {
    /// Hands the batch over. At most one check-in of a visit is under way.
    pub(super) async fn submit(&mut self, then: Then) {
        let submissions = self.context.submissions.clone();
        // Nothing is copied before there is room for it.
        let Ok(place) = submissions.reserve().await else {
            self.leave = Some(Leave::Silent);
            return;
        };
        let (reply, receiver) = oneshot::channel();
        let flying = self.flying.iter().map(|(_, page)| page);
        let held = self
            .queue
            .report(flying.filter(|page| page.hop != Hop::SoftNotFoundProbe));
        let facts = std::mem::take(&mut self.facts_changed).then(|| self.facts.clone());
        let overflowed = !self.batch.overflow.is_empty();
        place.send(self.batch.take(self.lease, held, facts, then, reply));
        self.rest |= overflowed;
        self.last_check_in = Instant::now();
        self.submitted = Some(receiver);
    }

    pub(super) fn take_reply(&mut self) {
        if let Some(receiver) = &mut self.submitted {
            match receiver.try_recv() {
                Ok(committed) => self.hear(Ok(committed)),
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => self.hear(Err(())),
            }
        }
    }

    pub(super) fn hear(&mut self, reply: Result<Committed, ()>) {
        self.submitted = None;
        let Ok(committed) = reply else {
            self.leave = Some(Leave::Silent);
            return;
        };
        let Some(checked_in) = committed.checked_in.filter(|answer| !answer.released) else {
            self.leave = Some(Leave::Silent);
            return;
        };
        self.rest = checked_in.has_more;
        self.queue.receive(checked_in.more);
    }

    /// Waits for the answers on the way, with the lease kept: many sites at one address wait for long. A stop waits only
    /// for a moment: late answers are dropped, their pages stay pending, and the pause counts from now.
    async fn drain(&mut self) {
        let context = std::sync::Arc::clone(&self.context);
        let late = async {
            context.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        let mut late = std::pin::pin!(late);
        while !self.collectors.is_empty() && self.leave != Some(Leave::Silent) {
            let renewal = self.renewal();
            tokio::select! {
                biased;
                Some(joined) = self.collectors.join_next_with_id() => self.land(joined),
                reply = reply(&mut self.submitted) => self.hear(reply),
                () = tokio::time::sleep_until(renewal), if self.submitted.is_none() => {
                    self.submit(Then::Keep { want: 0 }).await;
                }
                () = &mut late => {
                    self.collectors.shutdown().await;
                    self.allowed = self.allowed.max(Instant::now() + self.pause_after(GRACE));
                }
            }
        }
    }

    /// The last check-in: everything back, the site released.
    pub(super) async fn leave(&mut self, how: Leave) {
        let how = self.leave.unwrap_or(how);
        if how != Leave::Silent {
            self.drain().await;
            if self.submitted.is_some() {
                let answer = reply(&mut self.submitted).await;
                self.hear(answer);
            }
        }
        let how = self
            .leave
            .filter(|leave| *leave != Leave::Now)
            .unwrap_or(how);
        let rest = self.allowed.saturating_duration_since(Instant::now());
        let ready = self.context.clock.now() + rest.as_millis() as i64 + 1;
        let then = match how {
            Leave::Now => Then::Release { due: ready },
            Leave::Until(time) => Then::Release {
                due: time.max(ready),
            },
            Leave::Block => Then::Block,
            Leave::Silent => {
                // Another has the site, and asks for these pages.
                for _ in &self.flying {
                    self.context.budget.give_back();
                }
                return;
            }
        };
        self.facts.novelty = self.novelty.record();
        self.facts_changed = true;
        self.submit(then).await;
        // Nothing was submitted when nothing can be recorded any more: there is no reply to wait for.
        if self.submitted.is_some() {
            let _ = reply(&mut self.submitted).await;
        }
    }
}

/// The reply to the check-in under way; waits for ever when there is none.
pub(super) async fn reply(
    submitted: &mut Option<oneshot::Receiver<Committed>>,
) -> Result<Committed, ()> {
    match submitted {
        Some(receiver) => receiver.await.map_err(|_| ()),
        None => std::future::pending().await,
    }
}
