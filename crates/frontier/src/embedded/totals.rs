//! The totals of the crawl (tables `totals` and `outcomes`), updated in the same transactions as the data, so that the
//! status needs no scan of other tables.

use std::collections::BTreeMap;

use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::{FrontierStatus, Outcome, PageRecord, PageTotals, SiteState, SiteTotals};

/// The counters. Their names in the table are in [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
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
pub(super) struct Totals {
    counts: [i64; NAMES.len()],
    stored: [i64; NAMES.len()],
    /// Number of new page records by outcome since the last write.
    outcomes: BTreeMap<i64, i64>,
}

impl Totals {
    pub(super) fn add(&mut self, count: Count, change: i64) {
        self.counts[count as usize] += change;
    }

    pub(super) fn set(&mut self, count: Count, value: i64) {
        self.counts[count as usize] = value;
    }

    fn of(&self, count: Count) -> u64 {
        self.counts[count as usize].max(0) as u64
    }

    pub(super) fn records(&mut self, records: &[PageRecord]) {
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
    pub(super) fn site(&mut self, before: Option<&SiteRow>, after: &SiteRow) {
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

impl Store {
    pub(super) fn totals_read(&self) -> Result<Totals, StoreError> {
        let mut totals = Totals::default();
        let rows = self.all("SELECT name, value FROM totals", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        for (name, value) in rows {
            if let Some(index) = NAMES.iter().position(|known| *known == name) {
                totals.counts[index] = value;
            }
        }
        totals.stored = totals.counts;
        Ok(totals)
    }

    /// Write the changed counters.
    pub(super) fn totals_write(&self, totals: &mut Totals) -> Result<(), StoreError> {
        for (index, name) in NAMES.iter().enumerate() {
            if totals.counts[index] != totals.stored[index] {
                self.run(
                    "INSERT INTO totals VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value",
                    (name, totals.counts[index]),
                )?;
            }
        }
        totals.stored = totals.counts;
        for (outcome, change) in std::mem::take(&mut totals.outcomes) {
            self.run(
                "INSERT INTO outcomes VALUES (?1, ?2) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                (outcome, change),
            )?;
        }
        Ok(())
    }

    /// The status. The caller must still adjust [`FrontierStatus::next_due`] if there are gathered links, because a
    /// check-out can write them and make their sites due.
    pub(super) fn status(&self) -> Result<FrontierStatus, StoreError> {
        let totals = self.totals_read()?;
        let outcomes = self
            .all(
                "SELECT outcome, count FROM outcomes ORDER BY outcome",
                [],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
            )?
            .into_iter()
            .filter_map(|(code, count)| {
                let outcome = Outcome::from_code((code >> 16) as u8, code as u16)?;
                Some((outcome, count as u64))
            })
            .collect();
        let [waiting, leased, idle, blocked] = [
            Count::Waiting,
            Count::Leased,
            Count::Idle,
            Count::SitesBlocked,
        ]
        .map(|count| totals.of(count));
        let [known, queued, retry, blocked_pages] = [
            Count::Known,
            Count::Pending,
            Count::Later,
            Count::PagesBlocked,
        ]
        .map(|count| totals.of(count));
        let next = self.next_due()?;
        Ok(FrontierStatus {
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
                revisit: totals.of(Count::Again),
            },
            records: totals.of(Count::Records),
            outcomes,
            bytes: totals.of(Count::Bytes),
            links: totals.of(Count::Links),
            links_sent: totals.of(Count::Sent),
            links_gathered: totals.of(Count::Gathered),
            runs: totals.of(Count::Runs),
            seeds: totals.of(Count::Seeds),
            next_due: next.0,
            next_revisit: next.1,
            disk: self.disk()?,
        })
    }

    /// Returns two times: the earliest time at which a check-out can return a lease, because a site is due or a lease
    /// expires, and the earliest due time among the sites that have only revisits to do.
    fn next_due(&self) -> Result<(Option<i64>, Option<i64>), StoreError> {
        let expires = self
            .first("SELECT min(expires) FROM leases", [], |row| row.get(0))?
            .flatten();
        let (due, revisit) = self.sites_next()?;
        let due = match (due, expires) {
            (Some(due), Some(expires)) => Some(due.min(expires)),
            (due, expires) => due.or(expires),
        };
        Ok((due, revisit))
    }

    /// Total size of the database, its write-ahead log and the link runs, in bytes.
    fn disk(&self) -> Result<u64, StoreError> {
        let files = ["", "-wal"].iter().filter_map(|suffix| {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            Some(std::fs::metadata(path).ok()?.len())
        });
        let runs: Option<i64> = self
            .first("SELECT sum(bytes) FROM runs", [], |row| row.get(0))?
            .flatten();
        Ok(files.sum::<u64>() + runs.unwrap_or(0) as u64)
    }
}
