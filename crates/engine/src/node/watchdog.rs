//! The watchdog (M2; Viuva Negra 5) ends visits that make no progress. Their sites are visited again, after all other
//! sites.
//!
//! A visit makes progress when a fetch starts or ends. Waits for DNS, for the gate of an address, for the load limit
//! and for the page limit may take any time, so they do not count as a lack of progress. Reading does not count either,
//! because it has its own time limit. No time counts while a commit takes long, because the visits wait for it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use aranha_units::duration;
use tokio::time::Instant;

use super::Node;
use super::visits::Visits;
use crate::config::Config;
use crate::visit::activity::Activity;

/// When the crawl is stopping, a visit is ended after this time without progress.
const MAX_STOPPING: Duration = Duration::from_mins(1);

/// What the watchdog remembers of a visit.
pub(super) struct Watched {
    activity: Arc<Activity>,
    steps: u32,
    /// When the visit was last seen to make progress or to wait.
    since: Instant,
}

impl Watched {
    pub(super) fn new(activity: Arc<Activity>, now: Instant) -> Self {
        Self {
            steps: activity.steps(),
            activity,
            since: now,
        }
    }

    /// How long the visit has made no progress.
    fn stalled_for(&mut self, now: Instant) -> Duration {
        let steps = self.activity.steps();
        if steps != self.steps || self.activity.is_waiting() {
            (self.steps, self.since) = (steps, now);
        }
        now - self.since
    }
}

/// The state of the watchdog.
pub(super) struct Watchdog {
    limit: Duration,
    looked: Instant,
    commits: u64,
}

impl Watchdog {
    pub(super) fn new(config: &Config, now: Instant) -> Self {
        // The limit must be longer than a courtesy pause and a slow fetch.
        let longest = [
            config.crawl.pause,
            config.crawl.max_pause,
            config.fetch.total_timeout,
        ];
        let longest = 2 * longest.into_iter().max().unwrap_or_default();
        Self {
            limit: config.crawl.no_progress_limit.max(longest),
            looked: now,
            commits: 0,
        }
    }

    /// Called when the crawl stops. Lowers the limit, so that visits that hang are ended soon.
    pub(super) fn stopping(&mut self) {
        self.limit = self.limit.min(MAX_STOPPING);
    }

    /// Time between two looks at the visits.
    pub(super) fn interval(&self) -> Duration {
        self.limit / 10
    }
}

impl Node {
    /// Checks all visits, if the last check was long enough ago. Ends visits without progress. Renews the leases of
    /// visits that may soon be ended, so that no other visit gets their sites meanwhile.
    pub(super) async fn watch(
        &self,
        watchdog: &mut Watchdog,
        visits: &mut Visits,
    ) -> Result<(), aranha_frontier::FrontierError> {
        let now = Instant::now();
        if now - watchdog.looked < watchdog.interval() {
            return Ok(());
        }
        watchdog.looked = now;
        let commits = self.context.counters().commits.load(Relaxed);
        let is_stuck = commits == watchdog.commits && self.context.storage.is_committing();
        watchdog.commits = commits;
        let mut stalled = Vec::new();
        for visit in visits.active.values_mut() {
            let time = visit.watched.stalled_for(now);
            if is_stuck {
                visit.watched.since = now;
            } else if time >= watchdog.limit {
                let limit = duration::format(watchdog.limit);
                visit.end(format!("no progress for {limit}"));
            } else if time >= watchdog.limit / 3 {
                stalled.push(visit.lease);
            }
        }
        if !stalled.is_empty() {
            let now = self.context.now();
            self.frontier
                .persist(move |frontier| frontier.renew(now, &stalled))
                .await?;
        }
        Ok(())
    }
}
