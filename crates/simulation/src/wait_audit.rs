//! Measures how long sites wait between their due time and their visit, and checks that no site waits too long, or
//! starves (KLWF; F7).
//!
//! Under KLWF (longest wait first), a due site waits only while all slots (places for visits) are taken, and only sites
//! that were due earlier are visited before it. So its wait has the bound (visits since its due time / slots + 1) × the
//! longest visit. If the wait is longer than this bound, the site has starved. The audit needs a fixed amount of
//! memory.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of histogram buckets per doubling of the wait.
const BUCKETS_PER_DOUBLING: u32 = 4;
/// Number of buckets. They are enough for waits of several years.
const BUCKETS: usize = 41 * BUCKETS_PER_DOUBLING as usize;
/// If a check-out passes over a site, this is counted as unfair only if the site was due for at least this time. There
/// are two reasons. First, the check-in of the site may not have been written yet. Second, a check-out examines a
/// limited number of sites. If none of them has new links, the next check-out examines other sites.
const TOLERANCE_MS: i64 = 10_000;
/// Resolution of the history of visits. Rounding can only lower the bound, so it does not hide a starved site.
const HISTORY_STEP_MS: i64 = 10_000;
/// Number of steps in the history of visits.
const HISTORY_STEPS: usize = 1 << 15;

/// Histogram of the waits and counts of unfair check-outs. Times are unix milliseconds.
#[derive(Clone, Debug)]
pub struct WaitAudit {
    /// Number of waits per bucket. The end of a bucket is 19% above the end of the previous one.
    buckets: Vec<u64>,
    /// Number of waits.
    pub count: u64,
    /// The longest wait.
    pub longest_ms: i64,
    /// Number of sites that were checked out later than a site that was due later.
    pub overtaken: u64,
    /// Number of sites that were due but were not checked out, although a check-out had room for more sites.
    pub left_out: u64,
    /// Number of waits that were longer than their bound.
    pub starved: u64,
    /// The largest ratio of a wait to its bound.
    pub max_bound_ratio: f64,
    /// Maximum number of visits at a time.
    slots: u64,
    max_visit_ms: i64,
    last_full: FullCheckOut,
    last_room: RoomPeriod,
    /// Whether the last check-out returned as many sites as it had room for.
    was_full: bool,
    /// History of visits: a time, and the total number of visits that began up to this time.
    visits: VecDeque<(i64, u64)>,
}

/// A check-out that returned as many sites as it had room for.
#[derive(Clone, Copy, Debug, Default)]
struct FullCheckOut {
    time: i64,
    /// The latest due time of its sites.
    latest_due: i64,
}

/// A period in which every check-out returned fewer sites than it had room for.
#[derive(Clone, Copy, Debug, Default)]
struct RoomPeriod {
    from: i64,
    to: i64,
}

/// A site that was checked out.
#[derive(Clone, Copy, Debug)]
pub struct CheckedOutSite {
    /// Due time, unix milliseconds.
    pub due: i64,
    /// Whether this is the first visit of a seed's site. Such visits take precedence over all waiting sites.
    pub is_first_visit_of_seed: bool,
}

impl WaitAudit {
    /// The audit of a crawl with up to `slots` visits at a time. While other sites wait, a visit lasts at most
    /// `max_visit`.
    pub fn new(slots: usize, max_visit: Duration) -> WaitAudit {
        WaitAudit {
            buckets: vec![0; BUCKETS],
            count: 0,
            longest_ms: 0,
            overtaken: 0,
            left_out: 0,
            starved: 0,
            max_bound_ratio: 0.0,
            slots: slots.max(1) as u64,
            max_visit_ms: max_visit.as_millis() as i64,
            last_full: FullCheckOut::default(),
            last_room: RoomPeriod::default(),
            was_full: true,
            visits: VecDeque::with_capacity(HISTORY_STEPS),
        }
    }

    /// Whether no site was overtaken, was left out, or has starved.
    pub fn is_fair(&self) -> bool {
        (self.overtaken, self.left_out, self.starved) == (0, 0, 0)
    }

    /// Records the start of a crawl. From now on, earlier check-outs are ignored, because a site whose check-in was
    /// lost by a kill is due again.
    pub(crate) fn on_crawl_start(&mut self) {
        self.last_full = FullCheckOut::default();
        self.last_room = RoomPeriod::default();
        self.was_full = true;
    }

    /// Records a check-out of at most `room` sites.
    pub fn on_check_out(&mut self, now: i64, room: usize, sites: &[CheckedOutSite]) {
        for site in sites {
            self.add(now - site.due);
            self.check(now, site);
        }
        let waiting = sites.iter().filter(|site| !site.is_first_visit_of_seed);
        if sites.len() < room {
            let from = if self.was_full {
                now
            } else {
                self.last_room.from
            };
            self.last_room = RoomPeriod { from, to: now };
        } else if let Some(latest_due) = waiting.map(|site| site.due).max() {
            self.last_full = FullCheckOut {
                time: now,
                latest_due,
            };
        }
        self.was_full = sites.len() >= room;
        self.add_visits(now, sites.len() as u64);
    }

    fn check(&mut self, now: i64, site: &CheckedOutSite) {
        let FullCheckOut { time, latest_due } = self.last_full;
        let is_later = site.due < latest_due && site.due <= time - TOLERANCE_MS;
        if !site.is_first_visit_of_seed && is_later {
            self.overtaken += 1;
        }
        let RoomPeriod { from, to } = self.last_room;
        if to - from.max(site.due) >= TOLERANCE_MS {
            self.left_out += 1;
        }
        let visits = self.visits_since(site.due);
        let bound = self.max_visit_ms as f64 * (visits as f64 / self.slots as f64 + 1.0);
        let ratio = (now - site.due) as f64 / bound;
        self.max_bound_ratio = self.max_bound_ratio.max(ratio);
        self.starved += u64::from(ratio > 1.0);
    }

    /// Number of visits begun since `due`.
    fn visits_since(&self, due: i64) -> u64 {
        let after = self.visits.partition_point(|(time, _)| *time < due);
        let before = self.visits.get(after.saturating_sub(1));
        let total = self.visits.back().map_or(0, |(_, total)| *total);
        total - before.map_or(0, |(_, before)| *before).min(total)
    }

    fn add_visits(&mut self, now: i64, visits: u64) {
        match self.visits.back_mut() {
            Some((time, total)) if now - *time < HISTORY_STEP_MS => *total += visits,
            last => {
                let total = last.map_or(0, |(_, total)| *total) + visits;
                if self.visits.len() == HISTORY_STEPS {
                    self.visits.pop_front();
                }
                self.visits.push_back((now, total));
            }
        }
    }

    fn add(&mut self, ms: i64) {
        let ms = ms.max(0);
        self.buckets[bucket(ms)] += 1;
        self.count += 1;
        self.longest_ms = self.longest_ms.max(ms);
    }

    /// A quantile of the waits: `share` of all waits were not longer than the result. It is rounded up to the end of a
    /// bucket.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut sum = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            sum += count;
            if sum >= wanted.max(1) {
                return Duration::from_millis(bucket_end(bucket).min(self.longest_ms as u64));
            }
        }
        Duration::ZERO
    }

    /// Points of the cumulative distribution. A point is a wait in seconds, and the share of all waits that were not
    /// longer.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let mut sum = 0;
        let mut points = Vec::new();
        for (bucket, count) in self.buckets.iter().enumerate() {
            sum += count;
            if *count > 0 {
                let share = sum as f64 / self.count as f64;
                points.push((bucket_end(bucket) as f64 / 1000.0, share));
            }
        }
        points
    }
}

fn bucket(ms: i64) -> usize {
    let steps = (ms as f64 + 1.0).log2() * f64::from(BUCKETS_PER_DOUBLING);
    (steps.ceil() as usize).min(BUCKETS - 1)
}

/// The longest wait of a bucket, in milliseconds.
fn bucket_end(bucket: usize) -> u64 {
    let ms = (bucket as f64 / f64::from(BUCKETS_PER_DOUBLING)).exp2() - 1.0;
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(due: i64) -> CheckedOutSite {
        CheckedOutSite {
            due,
            is_first_visit_of_seed: false,
        }
    }

    #[test]
    fn quantiles_are_within_one_bucket() {
        let mut waits = WaitAudit::new(1, Duration::from_mins(1));
        for ms in 0..10_000 {
            waits.add(ms);
        }
        for (share, expected) in [(0.5, 5000.0), (0.9, 9000.0), (1.0, 9999.0)] {
            let found = waits.quantile(share).as_millis() as f64;
            assert!(
                (expected..expected * 1.2).contains(&found),
                "{share}: {found}"
            );
        }
        assert_eq!(waits.longest_ms, 9999);
        let (_, last_share) = *waits
            .distribution()
            .last()
            .expect("the distribution has a point");
        assert!((last_share - 1.0).abs() < 1e-9);
    }

    /// Performs one check-out per minute, each with room for two sites. `check_outs`: for each check-out, the due times
    /// of the sites that it returns. `expected`: the numbers of overtaken, left out and starved sites.
    fn check(check_outs: &[&[i64]], expected: [u64; 3]) {
        let mut waits = WaitAudit::new(2, Duration::from_mins(2));
        for (minute, dues) in (1_i64..).zip(check_outs) {
            let sites: Vec<CheckedOutSite> = dues.iter().map(|due| site(*due)).collect();
            waits.on_check_out(minute * 60_000, 2, &sites);
        }
        let found = [waits.overtaken, waits.left_out, waits.starved];
        assert_eq!(found, expected, "{check_outs:?}");
    }

    #[test]
    fn the_longest_wait_comes_first() {
        check(&[&[0, 1], &[2, 3], &[4, 5]], [0, 0, 0]);
        check(&[&[0, 20_000], &[10_000, 30_000]], [1, 0, 0]);
        // The site due at 58 s may have been checked in after the first check-out, so it is not overtaken.
        check(&[&[0, 59_000], &[58_000, 90_000]], [0, 0, 0]);
        // Two check-outs a minute apart had room, so the site due at 50 s was left out.
        check(&[&[1], &[2], &[50_000, 115_000]], [0, 1, 0]);
        check(&[&[1], &[2, 3], &[50_000, 115_000]], [0, 0, 0]);
    }

    #[test]
    fn a_wait_is_bounded_by_the_visits_begun_meanwhile() {
        let mut waits = WaitAudit::new(2, Duration::from_mins(1));
        for minute in 0..100 {
            waits.on_check_out(minute * 60_000, 2, &[site(0), site(0)]);
        }
        assert_eq!(waits.starved, 0, "{}", waits.max_bound_ratio);
        assert!(waits.max_bound_ratio > 0.9, "{}", waits.max_bound_ratio);
        waits.on_check_out(102 * 60_000, 2, &[site(0)]);
        assert_eq!(waits.starved, 1);
    }
}
