//! The load manager (N13; Chakrabarti 2.3.8, figure 2.4): keeps the crawl within the limits in `[load]`.
//!
//! `max_requests` limits the active requests exactly. For the other limits (latency, error rate, processor), the number
//! of allowed requests is changed once per second. It falls by 20% while a limit is exceeded, and rises by 5%
//! otherwise, similar to the congestion window of TCP. The download rate is limited in the fetch crate.
//!
//! If no limit is configured, nothing is measured and no request waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::limit;
use crate::status::tally::LiveCounters;

/// Time between two adjustments of the number of active requests.
const ADJUST_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of active requests if `max_requests` is not set.
const MAX_REQUESTS: usize = 1 << 20;

/// Limits on the load of this machine and its network. Each limit is a value or `"none"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// Maximum number of active requests to all sites together.
    #[serde(with = "limit::count")]
    pub max_requests: Option<u64>,
    /// Maximum processor use of this process, in percent of all processors.
    #[serde(with = "limit::count")]
    pub max_cpu_percent: Option<u16>,
    /// Maximum of the mean time to the first byte of a response.
    #[serde(with = "limit::time")]
    pub max_latency: Option<Duration>,
    /// Maximum percentage of requests that fail without a response.
    #[serde(with = "limit::count")]
    pub max_error_percent: Option<u16>,
}

/// Measurements since the last adjustment.
#[derive(Clone, Copy, Debug, Default)]
struct LoadSample {
    requests: u32,
    failed: u32,
    answered: u32,
    /// Sum of the times to the first byte.
    latency: Duration,
}

/// Enforces the limits.
#[derive(Debug)]
pub(crate) struct LoadManager {
    caps: Caps,
    /// One permit per allowed request; `None` if no limit is configured.
    gate: Option<Semaphore>,
    allowed: AtomicU64,
    sample: Mutex<LoadSample>,
}

impl LoadManager {
    pub(crate) fn new(caps: Caps) -> Self {
        let max_requests = caps.max_requests.map_or(MAX_REQUESTS, |cap| {
            cap.clamp(1, MAX_REQUESTS as u64) as usize
        });
        let is_limited = caps != Caps::default();
        Self {
            gate: is_limited.then(|| Semaphore::new(max_requests)),
            allowed: AtomicU64::new(max_requests as u64),
            sample: Mutex::default(),
            caps,
        }
    }

    /// Waits until one more request is allowed. The request is active until the permit is dropped.
    pub(crate) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        let gate = self.gate.as_ref()?;
        gate.acquire().await.ok()
    }

    /// Records a finished request: the time to the first byte of its response, or `None` if it failed.
    pub(crate) fn record(&self, first_byte: Option<Duration>) {
        if self.gate.is_none() {
            return;
        }
        let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
        sample.requests += 1;
        match first_byte {
            Some(latency) => {
                sample.answered += 1;
                sample.latency += latency;
            }
            None => sample.failed += 1,
        }
    }

    /// Adjusts the number of allowed requests until the task is dropped.
    pub(crate) async fn adjust(self: Arc<Self>, counters: Arc<LiveCounters>) {
        let Some(gate) = &self.gate else { return };
        let max_requests = self.allowed.load(Relaxed) as usize;
        let mut allowed = max_requests;
        let mut processor = ProcessorUse::start();
        loop {
            tokio::time::sleep(ADJUST_INTERVAL).await;
            let sample = {
                let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *sample)
            };
            let active = allowed.saturating_sub(gate.available_permits());
            let wanted = if self.exceeded(&sample, processor.percent()) {
                // The reduction starts from the number of active requests, because the removal of unused permits would
                // have no effect.
                (active.min(allowed) * 4 / 5).max(1)
            } else {
                (allowed + (allowed / 20).max(1)).min(max_requests)
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

    fn exceeded(&self, sample: &LoadSample, cpu: u32) -> bool {
        let Caps {
            max_cpu_percent,
            max_latency,
            max_error_percent,
            ..
        } = self.caps;
        let slow = max_latency
            .is_some_and(|cap| sample.answered > 0 && sample.latency / sample.answered > cap);
        let failing = max_error_percent.is_some_and(|cap| {
            // The error rate of fewer than 20 requests is not meaningful.
            sample.requests >= 20 && sample.failed * 100 > sample.requests * u32::from(cap)
        });
        slow || failing || max_cpu_percent.is_some_and(|cap| cpu > u32::from(cap))
    }
}

/// Measures the processor use of this process.
struct ProcessorUse {
    used: Duration,
    at: std::time::Instant,
    count: u32,
}

impl ProcessorUse {
    fn start() -> Self {
        Self {
            used: process_time(),
            at: std::time::Instant::now(),
            count: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        }
    }

    /// Processor use since the last call, in percent of all processors.
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
    async fn max_requests_is_exact() {
        let load = Arc::new(LoadManager::new(Caps {
            max_requests: Some(7),
            ..Caps::default()
        }));
        let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (load, now, peak) = (load.clone(), now.clone(), peak.clone());
            tasks.spawn(async move {
                let _permit = load.enter().await;
                peak.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
                now.fetch_sub(1, Relaxed);
            });
        }
        tasks.join_all().await;
        assert_eq!(peak.load(Relaxed), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_responses_reduce_the_requests_until_they_are_fast_again() {
        let load = Arc::new(LoadManager::new(Caps {
            max_requests: Some(100),
            max_latency: Some(Duration::from_millis(200)),
            ..Caps::default()
        }));
        let counters = Arc::new(LiveCounters::default());
        let adjuster = tokio::spawn(load.clone().adjust(counters.clone()));
        // A response takes 5 ms for each active request, so more than 40 active requests exceed `max_latency`.
        let now = Arc::new(AtomicUsize::new(0));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (load, now) = (load.clone(), now.clone());
            tasks.spawn(async move {
                loop {
                    let permit = load.enter().await;
                    let active = now.fetch_add(1, Relaxed) + 1;
                    let latency = Duration::from_millis(5 * active as u64);
                    tokio::time::sleep(latency).await;
                    load.record(Some(latency));
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
        adjuster.abort();
    }

    #[test]
    fn without_limits_there_is_no_gate() {
        let load = LoadManager::new(Caps::default());
        assert!(load.gate.is_none());
    }

    #[test]
    fn each_limit_is_checked() {
        let check = |caps: Caps, sample: LoadSample, cpu: u32, expected: bool| {
            assert_eq!(
                LoadManager::new(caps.clone()).exceeded(&sample, cpu),
                expected,
                "{caps:?} {sample:?}"
            );
        };
        let sample = |failed: u32, answered: u32, milliseconds: u64| LoadSample {
            requests: failed + answered,
            failed,
            answered,
            latency: Duration::from_millis(milliseconds) * answered,
        };
        let cpu = Caps {
            max_cpu_percent: Some(80),
            ..Caps::default()
        };
        check(cpu.clone(), sample(0, 10, 1), 81, true);
        check(cpu, sample(0, 10, 1), 80, false);
        let latency = Caps {
            max_latency: Some(Duration::from_secs(1)),
            ..Caps::default()
        };
        check(latency.clone(), sample(0, 10, 1001), 0, true);
        check(latency.clone(), sample(0, 10, 1000), 0, false);
        check(latency, sample(10, 0, 0), 0, false);
        let errors = Caps {
            max_error_percent: Some(10),
            ..Caps::default()
        };
        check(errors.clone(), sample(3, 17, 1), 0, true);
        check(errors.clone(), sample(2, 18, 1), 0, false);
        check(errors, sample(5, 5, 1), 0, false);
    }
}
