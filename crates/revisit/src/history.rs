//! What is remembered of a page between visits, and what a visit tells.
//!
//! A [`History`] is stored with every page of the frontier: 32 bytes in memory, about as many on disk. The order of
//! its fields is its format (postcard): new fields go to the end, and the frontier's version byte tells that they are
//! there.

use serde::{Deserialize, Serialize};

/// What a visit found, judged on the text, not on the markup around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageState {
    /// Fetched for the first time: there is nothing to compare with.
    New,
    /// Not modified (304), or the same text as the last time.
    Same,
    /// Another text than the last time.
    Changed,
    /// 404, 410, or what counts as such.
    Gone,
    /// No answer, or none that tells about the page. Nothing is learnt from it.
    Failed,
}

/// One visit of a page.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PageVisit {
    /// When, Unix milliseconds.
    pub at: i64,
    /// What was found.
    pub seen: PageState,
    /// `Last-Modified`, repaired (N15); Unix milliseconds.
    pub modified: Option<i64>,
    /// `Expires` or `Cache-Control`; Unix milliseconds. A hint: it can put a visit off to at most twice the interval.
    pub expires: Option<i64>,
    /// Weight of the page for `optimal`, relative to other pages; what is not positive or finite counts as the smallest.
    pub importance: f32,
    /// Moves visiting times in a way of its own (F12): the page's key; or the site's, if its pages shall come together.
    pub key: u64,
    /// For an entry page under `selective`: [`SiteHistory::share`](crate::SiteHistory::share). It lowers the number of
    /// rounds between visits (B 5).
    pub inner: Option<f32>,
    /// Whether the site is fast: [`Schedule::quick`](crate::Schedule::quick). Its changed pages take part in quick rounds.
    pub quick: bool,
}

impl PageVisit {
    /// A visit that tells nothing but what was found.
    pub fn new(at: i64, seen: PageState, key: u64) -> Self {
        PageVisit {
            at,
            seen,
            modified: None,
            expires: None,
            importance: 1.0,
            key,
            inner: None,
            quick: false,
        }
    }
}

/// What is remembered of one page. The default is a page never visited.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct History {
    /// Visits that told whether the page is there and the same; B's records.
    pub visits: u32,
    /// Visits that found another text.
    pub changes: u32,
    /// Last of the `visits`, Unix seconds.
    pub last_visit: u32,
    /// Last of the `changes`, Unix seconds; 0 = none.
    pub last_change: u32,
    /// The last 32 visits, the newest in the lowest bit: 1 where the text had changed.
    pub recent: u32,
    /// B's `fr_max`: the page is visited in one of so many rounds; 0 = not known yet.
    pub level: u8,
    /// Visits in a row that found the page gone.
    pub gone: u8,
    /// Where the page stands in the [`Census`](crate::Census); 0 = nowhere.
    pub(crate) cell: u16,
    /// [`Belief`](crate::Belief) about the rate of change: its shape; 0 = not begun.
    pub(crate) shape: f32,
    /// Its rate parameter, days.
    pub(crate) exposure: f32,
}

impl History {
    /// Days from the last visit that told something to this one; `None` at the first.
    pub(crate) fn days_since(&self, at: i64) -> Option<f64> {
        (self.visits > 0)
            .then(|| (at as f64 - f64::from(self.last_visit) * 1000.0).max(0.0) / crate::DAY_MS)
    }

    /// Count a visit that found the page.
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
    fn it_is_small() {
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
