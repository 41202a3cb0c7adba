//! The engine against a model: random operations on both, the engine opened anew at random points. No page is lost, none
//! is handed out twice, none comes back after it is done.
//!
//! The model is a map from page to state; what it does not foresee (which site comes first, when a link becomes visible)
//! it takes from the engine, and at the end everything must have come out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aranha_url::PathKey;
use proptest::prelude::*;

use super::tests::Folder;
use super::*;
use crate::suite::{EngineFactory, link, page, record, release, seed, small};
use crate::{Outcome, Pending, Then, WindowUpdate};

type PageName = (String, String);

#[derive(Clone, Debug)]
enum Operation {
    Seed(u8, u8),
    CheckOut(u8),
    /// Which visit; pages done; pages that fail; new pages kept; new pages beyond the window; links; release? whole window?
    CheckIn(u8, u8, u8, u8, u8, Vec<(u8, u8)>, bool, bool),
    Tidy,
    Flush,
    Reopen,
    Expire,
}

fn operation() -> impl Strategy<Value = Operation> {
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

/// A visit: its lease and the queue it holds.
struct ModelVisit {
    lease: Lease,
    queue: Vec<Pending>,
    /// How many of its first pages the frontier knows to be there.
    told: usize,
    known: BTreeSet<PathKey>,
}

struct Model {
    folder: Folder,
    engine: Option<Embedded>,
    now: i64,
    visits: Vec<ModelVisit>,
    /// Every page ever sent or admitted.
    expected: BTreeSet<PageName>,
    /// Pages with a lasting answer.
    done: BTreeSet<PageName>,
    /// Entries each page must have in its history.
    history: BTreeMap<PageName, usize>,
    /// What the frontier must keep of each site's window, in order.
    windows: BTreeMap<String, Vec<Pending>>,
    counter: u32,
}

fn site_of(number: u8) -> String {
    format!("s{number}.example")
}

impl Model {
    fn new() -> Model {
        let folder = Folder::new();
        let engine = Some(folder.open(small()));
        Model {
            folder,
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

    fn engine(&mut self) -> &mut Embedded {
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
            Operation::CheckIn(visit, done, failed, held, over, links, over_and_out, whole) => {
                if !self.visits.is_empty() {
                    let place = usize::from(visit) % self.visits.len();
                    let counts = [done, failed, held, over];
                    self.check_in(place, counts, &links, over_and_out, whole);
                }
            }
            Operation::Tidy => {
                self.engine().tidy(now, Duration::ZERO).expect("tidies");
            }
            Operation::Flush => self.engine().flush(now).expect("flushes"),
            Operation::Reopen => {
                self.visits.clear();
                self.engine = None;
                self.engine = Some(self.folder.open(small()));
            }
            Operation::Expire => {
                // Longer than a lease: what the visits held must come out again.
                self.now += 600_000;
                self.visits.clear();
            }
        }
    }

    fn check_out(&mut self, room: usize) -> usize {
        let now = self.now;
        let leases = self.engine().check_out(now, "n", room).expect("works");
        let count = leases.len();
        for lease in leases {
            // Leases that expired were taken back by this very call, so their visits are over.
            self.visits.retain(|visit| visit.lease.site != lease.site);
            assert!(!lease.pending.is_empty() && lease.pending.len() <= small().window);
            let window = self.windows.entry(lease.site.clone()).or_default();
            assert_eq!(
                lease.pending.get(..window.len()),
                Some(window.as_slice()),
                "what the last visit held comes first"
            );
            window.clone_from(&lease.pending);
            let visit = ModelVisit {
                queue: lease.pending.clone(),
                told: lease.pending.len(),
                known: lease.known.iter().copied().collect(),
                lease,
            };
            assert_eq!(
                visit.known.len(),
                visit.lease.known.len(),
                "keys are known once"
            );
            self.admit(&visit.lease.site, &visit.queue, &visit.known);
            self.visits.push(visit);
        }
        count
    }

    fn admit(&self, site: &str, pages: &[Pending], known: &BTreeSet<PathKey>) {
        let mut twice = BTreeSet::new();
        for page in pages {
            let name = (site.to_owned(), page.path.clone());
            assert!(known.contains(&page.key), "{name:?} is not among the keys");
            assert!(self.expected.contains(&name), "{name:?} was never sent");
            assert!(!self.done.contains(&name), "{name:?} was done");
            assert!(twice.insert(page.key), "{name:?} twice in one window");
        }
    }

    fn check_in(
        &mut self,
        place: usize,
        counts: [u8; 4],
        links: &[(u8, u8)],
        out: bool,
        whole: bool,
    ) {
        let now = self.now;
        let mut visit = self.visits.swap_remove(place);
        let site = visit.lease.site.clone();
        let mut entry = release(&visit.lease, now + 100);
        for turn in 0..counts[0] + counts[1] {
            if visit.queue.is_empty() {
                break;
            }
            let page = visit.queue.remove(0);
            visit.told = visit.told.saturating_sub(1);
            let mut record = record(&page, now, Outcome::Answer(200));
            if turn >= counts[0] {
                record.outcome = Outcome::Timeout;
                record.tries = page.tries + 1;
                record.next = Some(now + 5000);
            }
            entry.done.push(record);
        }
        for turn in 0..counts[2] + counts[3] {
            self.counter += 1;
            // Now and then a path that links from outside also name.
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
        entry.window = if whole {
            WindowUpdate::Replace(visit.queue.clone())
        } else {
            WindowUpdate::Tail {
                keep_last: visit.told,
                append: visit.queue[visit.told..].to_vec(),
            }
        };
        if !out {
            let want = small().window.saturating_sub(visit.queue.len());
            entry.then = Then::Keep { want };
        }
        let accepted = entry.clone();
        let answer = self
            .engine()
            .check_in(now, vec![entry])
            .expect("stored")
            .remove(0);
        let Ok(answer) = answer else {
            return;
        };
        self.take_note(&site, &accepted, &visit.queue);
        self.admit(&site, &answer.more, &visit.known);
        visit.queue.extend(answer.more);
        visit.told = visit.queue.len();
        self.windows.insert(site, visit.queue.clone());
        if !answer.released {
            self.visits.push(visit);
        }
    }

    /// What an acknowledged check-in promises, and `held`, which it told of.
    fn take_note(&mut self, site: &str, entry: &CheckIn, held: &[Pending]) {
        for record in &entry.done {
            let name = (site.to_owned(), record.path.clone());
            *self.history.entry(name.clone()).or_default() += 1;
            if record.next.is_none() {
                assert!(self.done.insert(name), "fetched again: {}", record.path);
            }
        }
        for page in held.iter().chain(&entry.overflow) {
            self.expected.insert((site.to_owned(), page.path.clone()));
        }
        for link in &entry.outside {
            self.expected.insert((link.site.clone(), link.path.clone()));
        }
    }

    /// Crawl on until nothing is left: everything that was ever promised must come out.
    fn finish(&mut self) {
        self.apply(Operation::Reopen);
        for round in 0.. {
            assert!(round < 2000, "the crawl ends");
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
        let view = View::open(&self.folder.path()).expect("opens");
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        operations in proptest::collection::vec(operation(), 1..120)
    ) {
        let mut world = Model::new();
        for operation in operations {
            world.apply(operation);
        }
        world.finish();
    }
}
