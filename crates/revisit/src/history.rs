//! The input of the policies: what is stored about a page between visits, and what one visit observed.
//!
//! A [`History`] is stored with every page of the frontier: 32 bytes in memory and about as many on disk. The fields
//! are stored in the order of their declaration (postcard). New fields are appended, and the frontier's version byte is
//! raised.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// State of a page at a visit. Change is judged by the text, not by the markup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageState {
    /// Fetched for the first time; there is no earlier version.
    New,
    /// Not modified (304), or the same text as at the last visit.
    Same,
    /// A different text than at the last visit.
    Changed,
    /// 404, 410, or a soft 404.
    Gone,
    /// No response, or a response that says nothing about the page. The visit is not added to the history.
    Failed,
}

/// Intervals between the visits of a page that the user has set for a seed (X6; `fr` and `fr_max` in Bouras, Table 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    /// The interval after the first visit of a page. With the policy `fixed`, it is the interval after every visit.
    pub every: Option<Duration>,
    /// The longest interval, instead of [`Options::max_interval`](crate::Options::max_interval).
    pub max_every: Option<Duration>,
}

/// One visit of a page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PageVisit {
    /// Time of the visit, unix milliseconds.
    pub at: i64,
    /// State of the page.
    pub seen: PageState,
    /// `Last-Modified` after plausibility checks (N15), unix milliseconds.
    pub modified: Option<i64>,
    /// Expiry time from `Expires` or `Cache-Control`, unix milliseconds. The visit is postponed until this time, but
    /// the interval is at most doubled.
    pub expires: Option<i64>,
    /// Weight of the page for `optimal`, relative to other pages. A value that is not a positive, finite number counts
    /// as the smallest weight.
    pub importance: f32,
    /// Seed from which the variation of visit times is computed (F12). It is the page's key, or the site's key if all
    /// pages of a site are to be visited together.
    pub key: u64,
    /// The intervals that the user has set for the page's site.
    pub pace: Pace,
    /// With the policy `selective`: of the pages below this page, the share that changes from round to round
    /// ([`SiteUpdate::share`](crate::SiteUpdate::share)). A high share lowers the number of rounds between visits
    /// (Bouras 5).
    pub inner: Option<f32>,
    /// Whether the site is fast, see [`Schedule::quick`](crate::Schedule::quick). Changed pages of a fast site join the
    /// next quick round.
    pub quick: bool,
}

impl PageVisit {
    /// A visit without optional information.
    pub fn new(at: i64, seen: PageState, key: u64) -> Self {
        PageVisit {
            at,
            seen,
            modified: None,
            expires: None,
            importance: 1.0,
            key,
            pace: Pace::default(),
            inner: None,
            quick: false,
        }
    }
}

/// Stored history of one page. The default is a page that was never visited.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct History {
    /// Number of visits that found the page (called records in Bouras 3.2).
    pub visits: u32,
    /// Number of visits that found a different text.
    pub changes: u32,
    /// Time of the last visit that found the page, unix seconds.
    pub last_visit: u32,
    /// Time of the last visit that found a change, unix seconds; 0 = none.
    pub last_change: u32,
    /// One bit for each of the last 32 visits; 1 = the text had changed. The lowest bit is the newest visit.
    pub recent: u32,
    /// `fr_max` of Bouras: the page is visited one time in this many rounds; 0 = not known yet.
    pub level: u8,
    /// Number of visits in a row that found the page gone.
    pub gone: u8,
    /// Cell of the [`Census`](crate::Census) that counts the page; 0 = not counted.
    pub(crate) cell: u16,
    /// Shape of the Gamma distribution of the rate of change (`poisson.rs`); 0 = no estimate yet.
    pub(crate) shape: f32,
    /// Rate parameter of the same Gamma distribution, in days.
    pub(crate) exposure: f32,
}

impl History {
    /// Days from the last visit that found the page to `at`; `None` if there was no such visit.
    pub(crate) fn days_since(&self, at: i64) -> Option<f64> {
        (self.visits > 0)
            .then(|| (at as f64 - f64::from(self.last_visit) * 1000.0).max(0.0) / crate::DAY_MS)
    }

    /// Counts a visit that found the page.
    pub(crate) fn count(&mut self, at: i64, changed: bool) {
        let seconds = u32::try_from(at / 1000).unwrap_or(if at < 0 { 0 } else { u32::MAX });
        self.visits = self.visits.saturating_add(1);
        self.recent = self.recent << 1 | u32::from(changed);
        self.last_visit = seconds;
        self.gone = 0;
        if changed {
            self.changes = self.changes.saturating_add(1);
            self.last_change = seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_stays_within_its_size() {
        assert!(size_of::<History>() <= 32);
        let history = History {
            visits: 500,
            changes: 120,
            last_visit: 1_800_000_000,
            last_change: 1_799_000_000,
            recent: u32::MAX,
            level: 20,
            gone: 0,
            cell: 9999,
            shape: 3.5,
            exposure: 81.25,
        };
        let bytes = postcard::to_stdvec(&history).expect("encodes");
        assert!(bytes.len() <= 40, "{}", bytes.len());
        assert_eq!(
            postcard::from_bytes::<History>(&bytes).expect("decodes"),
            history
        );
        let young = postcard::to_stdvec(&History::default()).expect("encodes");
        assert!(young.len() <= 17, "{}", young.len());
    }
}
