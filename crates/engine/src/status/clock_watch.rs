//! Detects changes of the system clock between crawls and during a crawl.
//!
//! A crawl keeps its own time ([`Clock`]), so a change during the crawl affects only the next crawl.

use super::notice::Notice;
use crate::clock::Clock;

/// Smaller changes are ignored, because time servers correct clocks by seconds.
const MIN_CHANGE_MS: i64 = 60_000;

/// The notice for a clock that is behind the time of an earlier crawl.
pub(crate) fn behind(behind_ms: i64) -> Option<Notice> {
    let seconds = behind_ms.unsigned_abs() / 1000;
    (behind_ms >= MIN_CHANGE_MS).then_some(Notice::ClockBehind { seconds })
}

/// Compares the system clock with the clock of the crawl.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    /// System time minus the time of the crawl, measured at the last notice, or at the start if there was no notice.
    offset_ms: i64,
}

impl ClockWatch {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            offset_ms: clock.system_offset_ms(),
        }
    }

    /// The notice for a change of the system clock since the last notice, if there was such a change.
    pub(crate) fn check(&mut self, clock: &Clock) -> Option<Notice> {
        self.compare(clock.system_offset_ms())
    }

    fn compare(&mut self, offset_ms: i64) -> Option<Notice> {
        let change = offset_ms - self.offset_ms;
        if change.abs() < MIN_CHANGE_MS {
            return None;
        }
        self.offset_ms = offset_ms;
        Some(Notice::ClockChanged {
            seconds: change / 1000,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_once() {
        let mut watch = ClockWatch { offset_ms: 5 };
        assert_eq!(watch.compare(-30_000), None);
        let back = Notice::ClockChanged { seconds: -7200 };
        assert!(back.to_string().contains("was set back by 2h"), "{back}");
        assert_eq!(watch.compare(-7_199_995), Some(back));
        assert_eq!(watch.compare(-7_200_100), None);
        let ahead = watch.compare(0).unwrap();
        assert!(ahead.to_string().contains("was set ahead by"), "{ahead}");
    }
}
