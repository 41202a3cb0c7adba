//! How long sites waited, from being due to being visited: a histogram of fixed size.

use std::time::Duration;

/// Steps to a doubling of the wait.
const STEPS: u32 = 4;
/// Steps in all: up to some years.
const BUCKETS: usize = 41 * STEPS as usize;

/// Waits counted by length, each step a fifth longer than the one before.
#[derive(Clone, Debug)]
pub struct Waits {
    counts: Vec<u64>,
    /// How many.
    pub count: u64,
    /// The longest, milliseconds.
    pub longest: i64,
    /// Sites handed out while one that had waited longer was not (KLWF, F7).
    pub unfair: u64,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits {
            counts: vec![0; BUCKETS],
            count: 0,
            longest: 0,
            unfair: 0,
        }
    }
}

impl Waits {
    /// Counts one wait.
    pub fn add(&mut self, ms: i64) {
        let ms = ms.max(0);
        self.counts[bucket(ms)] += 1;
        self.count += 1;
        self.longest = self.longest.max(ms);
    }

    /// What this share of the waits did not exceed, to a step of the histogram.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut sum = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= wanted.max(1) {
                return Duration::from_millis(limit(bucket).min(self.longest as u64));
            }
        }
        Duration::ZERO
    }

    /// Seconds, and the share of the waits that were no longer.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let mut sum = 0;
        let mut curve = Vec::new();
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if *count > 0 {
                let share = sum as f64 / self.count as f64;
                curve.push((limit(bucket) as f64 / 1000.0, share));
            }
        }
        curve
    }
}

fn bucket(ms: i64) -> usize {
    let steps = (ms as f64 + 1.0).log2() * f64::from(STEPS);
    (steps.ceil() as usize).min(BUCKETS - 1)
}

/// The longest wait of a bucket.
fn limit(bucket: usize) -> u64 {
    let ms = (bucket as f64 / f64::from(STEPS)).exp2() - 1.0;
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_step() {
        let mut waits = Waits::default();
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
        assert_eq!(waits.longest, 9999);
        assert!((waits.curve().last().expect("some").1 - 1.0).abs() < 1e-9);
    }
}
