//! The DNS breaker (N4): stops look-ups while the name servers do not answer.
//!
//! Without it, a crawl whose name servers are down would mark every site as unreachable within minutes (Castillo
//! A.2.1). The breaker counts the last [`WINDOW`] questions that were sent, once there are [`LEAST`] of them. It opens
//! when the share of unanswered questions reaches the option `dns_breaker`; "no such name" counts as an answer. While
//! it is open, look-ups wait, and one name at a time is asked as a probe, after pauses that grow from 1 to 30 seconds.
//! The first answer closes the breaker and empties the window.
//!
//! A probe asks for the waiting name whose domain failed least often, so that many names below a domain with dead
//! servers do not delay the others.
//!
//! The breaker starts no task and no timer: `resolver.rs` sends the probes. A waiting look-up may be cancelled.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Mutex,
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use tracing::info;

use super::resolver::lock;

/// Questions looked back upon.
const WINDOW: usize = 50;

/// Questions before anything is concluded.
pub(super) const LEAST: usize = 20;

/// Before the first probe.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Between two probes at most.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Numbers the outages, so that the probes of one that is over do not go on in the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Outage(u64);

pub(super) struct Breaker {
    /// Of unanswered questions; 0 = never down.
    share: f64,
    state: Mutex<State>,
    /// Since when names are down.
    down: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct State {
    recent: VecDeque<Asked>,
    unanswered: usize,
    outage: Outage,
    /// In the order of their arrival.
    waiting: BTreeMap<u64, Waiting>,
    ticket: u64,
    /// By domain: questions of this outage, and those that led to it, that were not answered.
    tried: HashMap<Box<str>, u32>,
    /// Names that were not answered, for probes while nobody waits.
    suspects: VecDeque<Box<str>>,
}

struct Asked {
    name: Box<str>,
    answered: bool,
}

struct Waiting {
    name: Box<str>,
    domain: Box<str>,
}

impl Breaker {
    pub(super) fn new(share: f64) -> Breaker {
        Breaker {
            share: if share > 0.0 { share } else { 0.0 },
            state: Mutex::default(),
            down: watch::Sender::new(None),
        }
    }

    pub(super) fn down(&self) -> Option<Instant> {
        *self.down.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<Instant>> {
        self.down.subscribe()
    }

    /// A question ended. Gives the outage that begins with it: its probes are the caller's to ask.
    pub(super) fn record(&self, name: &str, answered: bool) -> Option<Outage> {
        if self.share <= 0.0 {
            return None;
        }
        let mut state = lock(&self.state);
        match (self.down().is_some(), answered) {
            (true, true) => {
                state.recover();
                self.down.send_replace(None);
                info!(name, "DNS breaker closed: a name server answered");
                None
            }
            (true, false) => {
                *state.tried.entry(domain(name).into()).or_default() += 1;
                None
            }
            (false, _) => {
                state.push(name, answered);
                let questions = state.recent.len();
                let most = self.share * questions as f64;
                if questions < LEAST || (state.unanswered as f64) < most {
                    return None;
                }
                self.down.send_replace(Some(Instant::now()));
                // The engine sends a notice.
                info!(
                    unanswered = state.unanswered,
                    questions, "DNS breaker open: look-ups wait until a name server answers"
                );
                Some(state.fail())
            }
        }
    }

    /// Waits until names are not down. May be cancelled.
    pub(super) async fn wait(&self, name: &str) {
        let mut down = self.down.subscribe();
        if down.borrow().is_none() {
            return;
        }
        let _place = Place::new(self, name);
        down.wait_for(Option::is_none)
            .await
            .expect("the sender is ours");
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    /// The name for the next probe; `None` when the outage is over.
    pub(super) fn candidate(&self, outage: Outage) -> Option<Box<str>> {
        let mut state = lock(&self.state);
        if self.down().is_none() || state.outage != outage {
            return None;
        }
        let tries = |waiting: &&Waiting| {
            state
                .tried
                .get(&waiting.domain)
                .copied()
                .unwrap_or_default()
        };
        if let Some(waiting) = state.waiting.values().min_by_key(tries) {
            return Some(waiting.name.clone());
        }
        state.suspects.rotate_left(1);
        state.suspects.back().cloned()
    }
}

impl State {
    fn push(&mut self, name: &str, answered: bool) {
        if self.recent.len() == WINDOW
            && let Some(oldest) = self.recent.pop_front()
        {
            self.unanswered -= usize::from(!oldest.answered);
        }
        self.unanswered += usize::from(!answered);
        // Only names that may have to be asked again are kept.
        let name = if answered { "" } else { name }.into();
        self.recent.push_back(Asked { name, answered });
    }

    fn fail(&mut self) -> Outage {
        self.outage.0 += 1;
        self.unanswered = 0;
        for asked in self.recent.drain(..).filter(|asked| !asked.answered) {
            *self.tried.entry(domain(&asked.name).into()).or_default() += 1;
            self.suspects.push_back(asked.name);
        }
        self.outage
    }

    fn recover(&mut self) {
        self.tried.clear();
        self.suspects.clear();
    }
}

/// The part of a name that one owner answers for.
fn domain(name: &str) -> &str {
    psl::domain_str(name).unwrap_or(name)
}

/// A place among those who wait, given up when dropped.
struct Place<'a> {
    breaker: &'a Breaker,
    ticket: u64,
}

impl<'a> Place<'a> {
    fn new(breaker: &'a Breaker, name: &str) -> Place<'a> {
        let mut state = lock(&breaker.state);
        let ticket = state.ticket;
        state.ticket += 1;
        let waiting = Waiting {
            name: name.into(),
            domain: domain(name).into(),
        };
        state.waiting.insert(ticket, waiting);
        Place { breaker, ticket }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.breaker.state).waiting.remove(&self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the question at which names went down.
    fn falls(share: f64, answers: impl IntoIterator<Item = bool>) -> Option<usize> {
        let breaker = Breaker::new(share);
        answers
            .into_iter()
            .position(|answered| breaker.record("a.example", answered).is_some())
            .map(|at| at + 1)
    }

    #[test]
    fn the_share_over_the_window() {
        let (yes, no) = (true, false);
        assert_eq!(falls(0.9, [no; 19]), None, "too few to say");
        assert_eq!(falls(0.9, [no; 30]), Some(20));
        assert_eq!(falls(0.9, [[yes; 50], [no; 50]].concat()), Some(50 + 45));
        assert_eq!(
            falls(0.5, [[yes; 50], [no; 50]].concat()),
            Some(50 + 25),
            "the option decides"
        );
        let every = |nth: usize| (0..1000).map(move |n| n % nth == 0);
        assert_eq!(falls(0.9, every(8)), None, "88% fail");
        assert_eq!(falls(0.9, every(10)), Some(20), "90% fail");
        assert_eq!(falls(0.0, [no; 100]), None, "off");
        assert_eq!(falls(1.0, [no; 100]), Some(20));
        assert_eq!(falls(f64::NAN, [yes; 100]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_ends_the_outage_and_the_window_begins_empty() {
        let breaker = Breaker::new(0.9);
        let mut seen = breaker.watch();
        let fail = |times: usize| (0..times).find_map(|_| breaker.record("a.example", false));
        let outage = fail(20).expect("down");
        assert_eq!(breaker.down(), Some(Instant::now()));
        assert!(seen.has_changed().expect("the sender lives"));
        assert_eq!(fail(100), None, "down already");
        assert_eq!(breaker.candidate(outage).as_deref(), Some("a.example"));
        assert_eq!(breaker.record("b.example", true), None);
        assert_eq!(breaker.down(), None);
        assert_eq!(*seen.borrow_and_update(), None);
        assert_eq!(breaker.candidate(outage), None);
        assert_eq!(fail(19), None);
        let next = fail(1).expect("down again");
        assert_ne!(next, outage);
        assert_eq!(breaker.candidate(outage), None, "the old outage is over");
        assert!(breaker.candidate(next).is_some());
    }

    #[tokio::test]
    async fn probes_take_the_domain_that_failed_least() {
        let breaker = Breaker::new(0.9);
        let outage = (0..20).find_map(|n| breaker.record(&format!("{n}.dead.example"), false));
        let outage = outage.expect("down");
        assert!(
            breaker
                .candidate(outage)
                .is_some_and(|name| name.ends_with(".dead.example")),
            "nobody waits: one that failed"
        );
        let places =
            ["x.dead.example", "one.example", "two.example"].map(|name| Place::new(&breaker, name));
        for expected in ["one.example", "two.example", "one.example", "two.example"] {
            let name = breaker.candidate(outage).expect("still down");
            assert_eq!(&*name, expected);
            breaker.record(&name, false);
        }
        drop(places);
        assert!(lock(&breaker.state).waiting.is_empty());
    }
}
