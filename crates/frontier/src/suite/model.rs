//! Property test of an engine against a model: random operations are applied to both, and the engine is closed and
//! opened again at random points. No page may be lost, leased twice, or fetched again after it is done.
//!
//! The model does not predict the order of sites, nor when a link becomes visible; it takes both from the engine. At
//! the end all pages must have been fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aranha_url::PathKey;
use proptest::prelude::*;

use super::{EngineFactory, link, page, record, release, seed, small};
use crate::{CheckIn, Frontier as _, Lease, Outcome, PageFilter, Pending, Then, WindowUpdate};

type PageName = (String, String);

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Seed(u8, u8),
    CheckOut(u8),
    /// The fields are: index of the visit; number of pages done; of pages failed; of new pages in the window; of new
    /// pages in the queue; links; whether to release the lease; whether to replace the whole window.
    CheckIn(u8, u8, u8, u8, u8, Vec<(u8, u8)>, bool, bool),
    Tidy,
    Flush,
    Reopen,
    Expire,
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let links = proptest::collection::vec((0..6u8, 0..12u8), 0..6);
    let check_in = (
        any::<u8>(),
        0..5u8,
        0..2u8,
        0..4u8,
        0..6u8,
        links,
        any::<bool>(),
        proptest::bool::weighted(0.2),
    );
    prop_oneof![
        2 => (0..6u8, 0..12u8).prop_map(|(site, path)| Operation::Seed(site, path)),
        4 => (1..4u8).prop_map(Operation::CheckOut),
        8 => check_in.prop_map(|(v, d, f, h, o, l, r, w)| Operation::CheckIn(v, d, f, h, o, l, r, w)),
        2 => Just(Operation::Tidy),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Expire),
    ]
}

/// A visit: its lease and its window.
struct ModelVisit {
    lease: Lease,
    queue: Vec<Pending>,
    /// Number of pages at the front of `queue` that the frontier has stored.
    stored: usize,
    known: BTreeSet<PathKey>,
}

struct FrontierModel<F: EngineFactory> {
    factory: F,
    engine: Option<F::Engine>,
    now: i64,
    visits: Vec<ModelVisit>,
    /// All pages ever sent or admitted.
    expected: BTreeSet<PageName>,
    /// Pages with a final outcome.
    done: BTreeSet<PageName>,
    /// Number of records that each page must have.
    history: BTreeMap<PageName, usize>,
    /// The window that the frontier must have stored for each site.
    windows: BTreeMap<String, Vec<Pending>>,
    counter: u32,
}

fn site_of(number: u8) -> String {
    format!("s{number}.example")
}

impl<F: EngineFactory> FrontierModel<F> {
    fn new(factory: F) -> FrontierModel<F> {
        let engine = Some(factory.open(small()));
        FrontierModel {
            factory,
            engine,
            now: 1000,
            visits: Vec::new(),
            expected: BTreeSet::new(),
            done: BTreeSet::new(),
            history: BTreeMap::new(),
            windows: BTreeMap::new(),
            counter: 0,
        }
    }

    fn engine(&mut self) -> &mut F::Engine {
        self.engine.as_mut().expect("open")
    }

    fn apply(&mut self, operation: Operation) {
        self.now += 400;
        let now = self.now;
        match operation {
            Operation::Seed(site, path) => {
                let (site, path) = (site_of(site), format!("/{path}"));
                let seeds = [seed(&format!("https://{site}{path}"))];
                self.engine().seed(now, &seeds).expect("seeds");
                self.expected.insert((site, path));
            }
            Operation::CheckOut(room) => {
                self.check_out(usize::from(room));
            }
            Operation::CheckIn(visit, done, failed, held, overflow, links, release, replace) => {
                if !self.visits.is_empty() {
                    let index = usize::from(visit) % self.visits.len();
                    let counts = [done, failed, held, overflow];
                    self.check_in(index, counts, &links, release, replace);
                }
            }
            Operation::Tidy => {
                self.engine().tidy(now, Duration::ZERO).expect("tidies");
            }
            Operation::Flush => self.engine().flush(now).expect("flushes"),
            Operation::Reopen => {
                self.visits.clear();
                self.engine = None;
                self.engine = Some(self.factory.open(small()));
            }
            Operation::Expire => {
                // This is longer than a lease, so all leases expire.
                self.now += 600_000;
                self.visits.clear();
            }
        }
    }

    fn check_out(&mut self, room: usize) -> usize {
        let now = self.now;
        let leases = self.engine().check_out(now, room).expect("works");
        let count = leases.len();
        for lease in leases {
            // If the site is leased again, its earlier lease had expired, and the visit with that lease is over.
            self.visits.retain(|visit| visit.lease.site != lease.site);
            assert!(!lease.pending.is_empty() && lease.pending.len() <= small().window);
            let window = self.windows.entry(lease.site.clone()).or_default();
            assert_eq!(
                lease.pending.get(..window.len()),
                Some(window.as_slice()),
                "the stored window comes first"
            );
            window.clone_from(&lease.pending);
            let visit = ModelVisit {
                queue: lease.pending.clone(),
                stored: lease.pending.len(),
                known: lease.known.iter().copied().collect(),
                lease,
            };
            assert_eq!(
                visit.known.len(),
                visit.lease.known.len(),
                "a key occurs twice"
            );
            self.admit(&visit.lease.site, &visit.queue, &visit.known);
            self.visits.push(visit);
        }
        count
    }

    fn admit(&self, site: &str, pages: &[Pending], known: &BTreeSet<PathKey>) {
        let mut keys = BTreeSet::new();
        for page in pages {
            let name = (site.to_owned(), page.path.clone());
            assert!(known.contains(&page.key), "the key of {name:?} is missing");
            assert!(self.expected.contains(&name), "{name:?} was never sent");
            assert!(!self.done.contains(&name), "{name:?} was done");
            assert!(keys.insert(page.key), "{name:?} is twice in one window");
        }
    }

    fn check_in(
        &mut self,
        index: usize,
        counts: [u8; 4],
        links: &[(u8, u8)],
        releases: bool,
        replaces: bool,
    ) {
        let now = self.now;
        let mut visit = self.visits.swap_remove(index);
        let site = visit.lease.site.clone();
        let mut entry = release(&visit.lease, now + 100);
        for number in 0..counts[0] + counts[1] {
            if visit.queue.is_empty() {
                break;
            }
            let page = visit.queue.remove(0);
            visit.stored = visit.stored.saturating_sub(1);
            let mut record = record(&page, now, Outcome::Answer(200));
            if number >= counts[0] {
                record.outcome = Outcome::Timeout;
                record.tries = page.tries + 1;
                record.next = Some(now + 5000);
            }
            entry.done.push(record);
        }
        for turn in 0..counts[2] + counts[3] {
            self.counter += 1;
            // Every third new page has a path that links from other sites may have too.
            let number = if self.counter.is_multiple_of(3) {
                self.counter % 12
            } else {
                100 + self.counter
            };
            let new = page(&format!("/{number}"));
            if !visit.known.insert(new.key) {
                continue;
            }
            entry.keys.push(new.key);
            if turn < counts[2] && visit.queue.len() < small().window {
                visit.queue.push(new);
            } else {
                entry.overflow.push(new);
            }
        }
        entry.outside = links
            .iter()
            .map(|(site, path)| link(&format!("https://{}/{path}", site_of(*site))))
            .collect();
        entry.window = if replaces {
            WindowUpdate::Replace(visit.queue.clone())
        } else {
            WindowUpdate::Tail {
                keep_last: visit.stored,
                append: visit.queue[visit.stored..].to_vec(),
            }
        };
        if !releases {
            let want = small().window.saturating_sub(visit.queue.len());
            entry.then = Then::Keep { want };
        }
        let accepted = entry.clone();
        let reply = self
            .engine()
            .check_in(now, vec![entry])
            .expect("stored")
            .remove(0);
        let Ok(reply) = reply else {
            return;
        };
        self.record_check_in(&site, &accepted, &visit.queue);
        self.admit(&site, &reply.more, &visit.known);
        visit.queue.extend(reply.more);
        visit.stored = visit.queue.len();
        self.windows.insert(site, visit.queue.clone());
        if !reply.released {
            self.visits.push(visit);
        }
    }

    /// Update the model after a check-in that the engine accepted. `window` is the window after the check-in.
    fn record_check_in(&mut self, site: &str, entry: &CheckIn, window: &[Pending]) {
        for record in &entry.done {
            let name = (site.to_owned(), record.path.clone());
            *self.history.entry(name.clone()).or_default() += 1;
            if record.next.is_none() {
                assert!(self.done.insert(name), "fetched again: {}", record.path);
            }
        }
        for page in window.iter().chain(&entry.overflow) {
            self.expected.insert((site.to_owned(), page.path.clone()));
        }
        for link in &entry.outside {
            self.expected.insert((link.site.clone(), link.path.clone()));
        }
    }

    /// Crawl until no page is left to fetch. All expected pages must have been fetched.
    fn finish(&mut self) {
        self.apply(Operation::Reopen);
        for round in 0.. {
            assert!(round < 2000, "the crawl does not end");
            self.now += 10_000;
            let found = self.check_out(3);
            while !self.visits.is_empty() {
                self.check_in(0, [200, 0, 0, 0], &[], false, false);
                if let Some(visit) = self.visits.iter().position(|visit| visit.queue.is_empty()) {
                    self.check_in(visit, [0; 4], &[], true, false);
                }
            }
            let now = self.now;
            if found == 0
                && self
                    .engine()
                    .status(now)
                    .expect("status")
                    .next_due
                    .is_none()
            {
                break;
            }
        }
        assert_eq!(self.done, self.expected);
        let now = self.now;
        let status = self.engine().status(now).expect("status");
        assert_eq!(status.pages.known, self.expected.len() as u64);
        assert_eq!((status.pages.queued, status.pages.retry), (0, 0));
        assert_eq!(status.records, self.history.values().sum::<usize>() as u64);
        let view = self.factory.view();
        let mut stored: BTreeMap<PageName, usize> = BTreeMap::new();
        let filter = PageFilter {
            all: true,
            ..PageFilter::default()
        };
        view.pages(&filter, |entry| {
            let name = (entry.site.to_owned(), entry.record.path.clone());
            *stored.entry(name).or_default() += 1;
            true
        })
        .expect("lists");
        assert_eq!(stored, self.history);
    }
}

/// Apply these operations, then crawl until no page is left.
pub(crate) fn no_page_is_lost_or_fetched_twice(
    factory: impl EngineFactory,
    operations: Vec<Operation>,
) {
    let mut model = FrontierModel::new(factory);
    for operation in operations {
        model.apply(operation);
    }
    model.finish();
}

/// Define the property test for an engine. `$cases`: number of sequences of operations.
macro_rules! model {
    ($factory:expr, $cases:expr) => {
        proptest::proptest! {
            #![proptest_config(proptest::prelude::ProptestConfig {
                cases: $cases,
                max_shrink_iters: 200,
                ..<_>::default()
            })]

            #[test]
            fn no_page_is_lost_or_fetched_twice(
                operations in proptest::collection::vec($crate::suite::model::operation(), 1..120)
            ) {
                $crate::suite::model::no_page_is_lost_or_fetched_twice($factory, operations);
            }
        }
    };
}
pub(crate) use model;
