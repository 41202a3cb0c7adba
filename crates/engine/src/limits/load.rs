//! The load manager (N13; K 2.3.8, figure 2.4): holds the crawl at the caps that the user set.
//!
//! It watches the requests under way (open sockets, as near as makes no difference), how long answers take to begin,
//! how many requests fail on the way, and this process's share of the processor. A cap on requests holds exactly. The
//! others are held by allowing fewer requests at once: a fifth less each second while one is exceeded, a twentieth
//! more while none is, as TCP does with its window. Bytes a second have a bucket of their own (`rate`).
//!
//! Without a cap nothing is counted that costs anything, and nobody waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::limit;
use crate::status::tally::LiveCounters;

/// How often the caps are held against what was observed.
const ADJUST_INTERVAL: Duration = Duration::from_secs(1);
/// Never more at once, cap or not.
const MAX_REQUESTS: usize = 1 << 20;

/// What the crawl may take of this machine and its network; a limit is `"none"`, or a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// Requests under way at once, all sites together.
    #[serde(with = "limit::count")]
    pub max_requests: Option<u64>,
    /// Percent of all processors.
    #[serde(with = "limit::count")]
    pub max_cpu_percent: Option<u16>,
    /// Mean time until an answer begins.
    #[serde(with = "limit::time")]
    pub max_latency: Option<Duration>,
    /// Percent of the requests that time out or break off.
    #[serde(with = "limit::count")]
    pub max_error_percent: Option<u16>,
}

/// What was seen since the last glance.
#[derive(Clone, Copy, Debug, Default)]
struct LoadSample {
    requests: u32,
    failed: u32,
    answered: u32,
    waited: Duration,
}

/// The caps, and the requests that may be under way.
#[derive(Debug)]
pub(crate) struct LoadManager {
    caps: Caps,
    gate: Option<Semaphore>,
    allowed: AtomicU64,
    seen: Mutex<LoadSample>,
}

impl LoadManager {
    pub(crate) fn new(caps: Caps) -> Self {
        let most = caps.max_requests.map_or(MAX_REQUESTS, |cap| {
            cap.clamp(1, MAX_REQUESTS as u64) as usize
        });
        let capped = caps != Caps::default();
        Self {
            gate: capped.then(|| Semaphore::new(most)),
            allowed: AtomicU64::new(most as u64),
            seen: Mutex::default(),
            caps,
        }
    }

    /// Waits until one more request may be under way; it is until the permit is dropped.
    pub(crate) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        let gate = self.gate.as_ref()?;
        gate.acquire().await.ok()
    }

    /// How a request went: the time until its answer began, or none.
    pub(crate) fn note(&self, first_byte: Option<Duration>) {
        if self.gate.is_none() {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.requests += 1;
        match first_byte {
            Some(waited) => {
                seen.answered += 1;
                seen.waited += waited;
            }
            None => seen.failed += 1,
        }
    }

    /// Holds the caps until the crawl ends and drops it.
    pub(crate) async fn watch(self: Arc<Self>, counters: Arc<LiveCounters>) {
        let Some(gate) = &self.gate else { return };
        let most = self.allowed.load(Relaxed) as usize;
        let mut allowed = most;
        let mut processor = Processor::start();
        loop {
            tokio::time::sleep(ADJUST_INTERVAL).await;
            let seen = {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *seen)
            };
            let busy = allowed.saturating_sub(gate.available_permits());
            let wanted = if self.exceeded(&seen, processor.percent()) {
                // From what is really under way: an allowance that nobody uses holds nobody.
                (busy.min(allowed) * 4 / 5).max(1)
            } else {
                (allowed + (allowed / 20).max(1)).min(most)
            };
            if wanted < allowed {
                if let Ok(held) = gate.acquire_many((allowed - wanted) as u32).await {
                    held.forget();
                }
            } else {
                gate.add_permits(wanted - allowed);
            }
            allowed = wanted;
            self.allowed.store(allowed as u64, Relaxed);
            counters.request_limit.store(allowed as u64, Relaxed);
        }
    }

    fn exceeded(&self, seen: &LoadSample, cpu: u32) -> bool {
        let Caps {
            max_cpu_percent,
            max_latency,
            max_error_percent,
            ..
        } = self.caps;
        let slow =
            max_latency.is_some_and(|cap| seen.answered > 0 && seen.waited / seen.answered > cap);
        let failing = max_error_percent.is_some_and(|cap| {
            // A handful says nothing.
            seen.requests >= 20 && seen.failed * 100 > seen.requests * u32::from(cap)
        });
        slow || failing || max_cpu_percent.is_some_and(|cap| cpu > u32::from(cap))
    }
}

/// The share of the processors that this process takes.
struct Processor {
    used: Duration,
    at: std::time::Instant,
    count: u32,
}

impl Processor {
    fn start() -> Self {
        Self {
            used: process_time(),
            at: std::time::Instant::now(),
            count: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        }
    }

    /// In percent of all of them, since it was last asked.
    fn percent(&mut self) -> u32 {
        let used = process_time();
        let now = std::time::Instant::now();
        let share = (used.saturating_sub(self.used)).as_secs_f64()
            / (now - self.at).as_secs_f64().max(0.001)
            / f64::from(self.count);
        (self.used, self.at) = (used, now);
        (share * 100.0) as u32
    }
}

fn process_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cap_on_requests_holds_exactly() {
        let load = Arc::new(LoadManager::new(Caps {
            max_requests: Some(7),
            ..Caps::default()
        }));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (load, now, most) = (load.clone(), now.clone(), most.clone());
            tasks.spawn(async move {
                let _permit = load.enter().await;
                most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
                now.fetch_sub(1, Relaxed);
            });
        }
        tasks.join_all().await;
        assert_eq!(most.load(Relaxed), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_answers_mean_fewer_requests_until_they_are_fast_again() {
        let load = Arc::new(LoadManager::new(Caps {
            max_requests: Some(100),
            max_latency: Some(Duration::from_millis(200)),
            ..Caps::default()
        }));
        let counters = Arc::new(LiveCounters::default());
        let watch = tokio::spawn(load.clone().watch(counters.clone()));
        // Answers take five milliseconds for every request under way: forty at once are too many.
        let now = Arc::new(AtomicUsize::new(0));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (load, now) = (load.clone(), now.clone());
            tasks.spawn(async move {
                loop {
                    let permit = load.enter().await;
                    let busy = now.fetch_add(1, Relaxed) + 1;
                    let waited = Duration::from_millis(5 * busy as u64);
                    tokio::time::sleep(waited).await;
                    load.note(Some(waited));
                    now.fetch_sub(1, Relaxed);
                    drop(permit);
                }
            });
        }
        let mut settled = Vec::new();
        for second in 0..120 {
            tokio::time::sleep(ADJUST_INTERVAL).await;
            if second > 30 {
                settled.push(counters.request_limit.load(Relaxed));
            }
        }
        let mean = settled.iter().sum::<u64>() / settled.len() as u64;
        assert!((25..=48).contains(&mean), "{mean}");
        assert!(settled.iter().all(|allowed| *allowed < 60), "{settled:?}");
        tasks.shutdown().await;
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(counters.request_limit.load(Relaxed), 100);
        watch.abort();
    }

    #[test]
    fn without_caps_nobody_waits() {
        let load = LoadManager::new(Caps::default());
        assert!(load.gate.is_none());
    }

    #[test]
    fn each_cap_is_held() {
        let check = |caps: Caps, seen: LoadSample, cpu: u32, expected: bool| {
            assert_eq!(
                LoadManager::new(caps.clone()).exceeded(&seen, cpu),
                expected,
                "{caps:?} {seen:?}"
            );
        };
        let seen = |failed: u32, answered: u32, milliseconds: u64| LoadSample {
            requests: failed + answered,
            failed,
            answered,
            waited: Duration::from_millis(milliseconds) * answered,
        };
        let cpu = Caps {
            max_cpu_percent: Some(80),
            ..Caps::default()
        };
        check(cpu.clone(), seen(0, 10, 1), 81, true);
        check(cpu, seen(0, 10, 1), 80, false);
        let latency = Caps {
            max_latency: Some(Duration::from_secs(1)),
            ..Caps::default()
        };
        check(latency.clone(), seen(0, 10, 1001), 0, true);
        check(latency.clone(), seen(0, 10, 1000), 0, false);
        check(latency, seen(10, 0, 0), 0, false);
        let errors = Caps {
            max_error_percent: Some(10),
            ..Caps::default()
        };
        check(errors.clone(), seen(3, 17, 1), 0, true);
        check(errors.clone(), seen(2, 18, 1), 0, false);
        check(errors, seen(5, 5, 1), 0, false);
    }
}
