//! The totals of the crawl (tables `totals` and `outcomes`), updated in the same transactions as the data, so that the
//! status needs no scan of other tables.

use std::collections::BTreeMap;

use super::site_row::SiteRow;
use crate::{FrontierStatus, Outcome, PageRecord, PageTotals, SiteState, SiteTotals};

/// The counters. Their names in the table are in [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Waiting,
    Leased,
    Idle,
    SitesBlocked,
    Known,
    Pending,
    Later,
    Records,
    Bytes,
    Links,
    Sent,
    Gathered,
    Runs,
    Seeds,
    PagesBlocked,
    Again,
}

const NAMES: [&str; 16] = [
    "sites_waiting",
    "sites_leased",
    "sites_idle",
    "sites_blocked",
    "pages_known",
    "pages_pending",
    "pages_later",
    "records",
    "bytes",
    "links",
    "links_sent",
    "links_gathered",
    "runs",
    "seeds",
    "pages_aside", // Count::PagesBlocked
    "pages_again",
];

/// The current counters, and their values in the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    counts: [i64; NAMES.len()],
    stored: [i64; NAMES.len()],
    /// Number of new page records by outcome since the last write.
    outcomes: BTreeMap<i64, i64>,
}

impl Totals {
    pub(crate) fn add(&mut self, count: Count, change: i64) {
        self.counts[count as usize] += change;
    }

    pub(crate) fn set(&mut self, count: Count, value: i64) {
        self.counts[count as usize] = value;
    }

    fn of(&self, count: Count) -> u64 {
        self.counts[count as usize].max(0) as u64
    }

    pub(crate) fn records(&mut self, records: &[PageRecord]) {
        self.add(Count::Records, records.len() as i64);
        for record in records {
            // The record of a 304 response has the size of the stored version, but no body was fetched.
            if record.outcome.status() != Some(304) {
                self.add(Count::Bytes, record.size as i64);
            }
            let (code, status) = record.outcome.code();
            *self
                .outcomes
                .entry(i64::from(code) << 16 | i64::from(status))
                .or_default() += 1;
        }
    }

    /// Update the counters for a changed row of `sites`; `before` is `None` for a new row.
    pub(crate) fn site(&mut self, before: Option<&SiteRow>, after: &SiteRow) {
        self.tally(after, 1);
        if let Some(before) = before {
            self.tally(before, -1);
        }
    }

    fn tally(&mut self, site: &SiteRow, sign: i64) {
        let state = match site.state() {
            SiteState::Waiting => Count::Waiting,
            SiteState::Leased => Count::Leased,
            SiteState::Idle => Count::Idle,
            SiteState::Blocked => Count::SitesBlocked,
        };
        self.add(state, sign);
        self.add(Count::Known, sign * site.known);
        if site.blocked {
            let blocked = site.held + site.queued + site.later;
            self.add(Count::PagesBlocked, sign * blocked);
            return;
        }
        self.add(Count::Pending, sign * (site.held + site.queued));
        self.add(Count::Later, sign * site.later);
        self.add(Count::Again, sign * site.again);
    }
}

impl Totals {
    /// The counters with these names and values. Names that are not those of counters are ignored.
    pub(crate) fn from_rows(rows: impl IntoIterator<Item = (String, i64)>) -> Totals {
        let mut totals = Totals::default();
        for (name, value) in rows {
            if let Some(index) = NAMES.iter().position(|known| *known == name) {
                totals.counts[index] = value;
            }
        }
        totals.stored = totals.counts;
        totals
    }

    /// The counters that changed since the last call, each with its value and the change.
    pub(crate) fn take_changes(&mut self) -> Vec<(&'static str, i64, i64)> {
        let numbers = NAMES.iter().zip(self.counts).zip(self.stored);
        let changes = numbers.filter(|((_, count), stored)| count != stored);
        let changes = changes.map(|((name, count), stored)| (*name, count, count - stored));
        let changes = changes.collect();
        self.stored = self.counts;
        changes
    }

    /// The number of new page records by outcome since the last call.
    pub(crate) fn take_outcomes(&mut self) -> BTreeMap<i64, i64> {
        std::mem::take(&mut self.outcomes)
    }

    /// The status. `next` has the earliest time at which a check-out can return a lease, and the earliest due time
    /// among the sites that have only revisits to do. If there are gathered links (`links/gather.rs`), the caller must
    /// still lower [`FrontierStatus::next_due`]. Gathered links make no site due yet. A check-out that finds no due
    /// site writes them to a link run, which makes their sites due.
    pub(crate) fn status(
        &self,
        outcomes: Vec<(i64, i64)>,
        next: (Option<i64>, Option<i64>),
        disk: u64,
    ) -> FrontierStatus {
        let outcomes = outcomes.into_iter().filter_map(|(code, count)| {
            let outcome = Outcome::from_code((code >> 16) as u8, code as u16)?;
            Some((outcome, count as u64))
        });
        let [waiting, leased, idle, blocked] = [
            Count::Waiting,
            Count::Leased,
            Count::Idle,
            Count::SitesBlocked,
        ]
        .map(|count| self.of(count));
        let [known, queued, retry, blocked_pages] = [
            Count::Known,
            Count::Pending,
            Count::Later,
            Count::PagesBlocked,
        ]
        .map(|count| self.of(count));
        FrontierStatus {
            sites: SiteTotals {
                known: waiting + leased + idle + blocked,
                waiting,
                leased,
                idle,
                blocked,
                problems: 0,
            },
            pages: PageTotals {
                known,
                queued,
                retry,
                blocked: blocked_pages,
                done: known.saturating_sub(queued + retry + blocked_pages),
                revisit: self.of(Count::Again),
            },
            records: self.of(Count::Records),
            outcomes: outcomes.collect(),
            bytes: self.of(Count::Bytes),
            links: self.of(Count::Links),
            links_sent: self.of(Count::Sent),
            links_gathered: self.of(Count::Gathered),
            runs: self.of(Count::Runs),
            seeds: self.of(Count::Seeds),
            next_due: next.0,
            next_revisit: next.1,
            disk,
        }
    }
}
