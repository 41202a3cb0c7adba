//! The speed of a crawl.

use std::collections::VecDeque;
use std::time::Duration;

/// Pages per second over the last few seconds.
#[derive(Debug, Default)]
pub struct Speed(VecDeque<(Duration, u64)>);

impl Speed {
    const SPAN: Duration = Duration::from_secs(5);

    /// Adds a measurement: the crawl had fetched `pages` pages when it had run for the time `at`. Returns the speed.
    pub fn update(&mut self, at: Duration, pages: u64) -> f64 {
        while self.0.len() > 1 && self.0[1].0 + Self::SPAN < at {
            self.0.pop_front();
        }
        let (first, before) = self.0.front().copied().unwrap_or_default();
        self.0.push_back((at, pages));
        let span = at.saturating_sub(first).as_secs_f64();
        if span > 0.0 {
            pages.saturating_sub(before) as f64 / span
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_that_of_the_last_seconds() {
        let mut speed = Speed::default();
        let mut rate = 0.0;
        for second in 1..=60 {
            let pages = if second <= 30 { second * 100 } else { 3000 };
            rate = speed.update(Duration::from_secs(second), pages);
        }
        assert!(rate.abs() < f64::EPSILON, "{rate}");
    }
}
