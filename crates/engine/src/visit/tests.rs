//! Tests that apply a verdict to a visit. They check the queue, the batch, the facts of the site and the ending of the
//! visit. No request is sent.
//!
//! The file is long because it is a list of cases.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use aranha_fetch::{Failure, FetchSession, SimulatedResponse, Simulation};
use aranha_frontier::{
    Absent, Embedded, Flags, Frontier as _, Hop, Outcome, PageRecord, Past, Pending, RobotsFile,
    Seed,
};
use aranha_revisit::{GroupHistory, PagePlace, PageState, SiteHistory};
use aranha_url::{CanonUrl, Canonicaliser};

use super::*;
use crate::collect::{
    Collected, FetchTask, FetchedPage, FinishedTask, MAX_ABANDONED, PageResponse, ReaderFault,
    Version, collect,
};
use crate::collection::Collection;
use crate::config::Config;
use crate::courtesy::BackOff;
use crate::links::{PageLinks, RedirectTarget};
use crate::node::Node;
use crate::node::stop::Stop;
use crate::signals::Source;
use crate::verdict::{KeptVersion, NextVisit, RedirectAction, SignalCheck, SiteOutage, Verdict};
use crate::world::World;

const NOW: i64 = 1_700_000_000_000;

/// The entry page of a site, for the policy `selective`.
const ENTRY: PagePlace = PagePlace { key: 0, head: None };

/// A web without servers.
struct EmptyWeb;

impl Simulation for EmptyWeb {
    fn look_up(&self, _: i64, _: &str) -> (Duration, Result<Vec<IpAddr>, Failure>) {
        (Duration::ZERO, Err(Failure::DnsNotFound))
    }

    fn connect(&self, _: i64, _: SocketAddr) -> (Duration, Result<(), Failure>) {
        (Duration::ZERO, Err(Failure::ConnectTimeout))
    }

    fn respond(&self, _: i64, _: SocketAddr, _: &[u8]) -> SimulatedResponse {
        unreachable!("no connection is made")
    }

    fn exchange_ended(&self, _: i64, _: SocketAddr, _: u64) {}
}

/// A visit of example.org with an empty queue. It must be created within a tokio runtime.
struct Test {
    visit: Visit,
    _node: Node,
    _folder: tempfile::TempDir,
}

impl Test {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let collection = Collection::at(folder.path());
        let logs = collection.crawl_log();
        std::fs::create_dir_all(logs.parent().unwrap()).unwrap();
        std::fs::create_dir_all(collection.frontier()).unwrap();
        let mut frontier = Embedded::open(&collection.frontier(), config.frontier.clone()).unwrap();
        frontier.seed(NOW, &[Seed::of(&url("/"))]).unwrap();
        let lease = frontier.check_out(NOW, 1).unwrap().remove(0);
        let world = World::simulated(NOW, Arc::new(EmptyWeb), Duration::ZERO);
        let (frontier, stop) = (Box::new(frontier), Stop::new());
        let node = Node::open_in(&world, &collection, config, frontier, false, stop).unwrap();
        let mut visit = Visit::new(Arc::clone(&node.context), lease, Arc::default());
        assert_eq!(visit.queue.pop_front().unwrap().path, "/");
        Self {
            visit,
            _node: node,
            _folder: folder,
        }
    }

    /// Applies a verdict about `page`.
    fn apply(&mut self, verdict: &Verdict, page: &Pending, response: &PageResponse) {
        self.visit.apply(verdict, page, &url(&page.path), response);
    }

    /// Applies the end of a fetch, as if a collector had returned it.
    fn apply_fetched(&mut self, page: Pending, response: PageResponse) {
        let fetched = FetchedPage {
            task: task(page),
            response,
            links: PageLinks::default(),
            resolved: None,
            from_cache: false,
            set_cookies: None,
            receipt: None,
            notes: String::new(),
        };
        self.visit
            .apply_collected(Collected::Fetched(Box::new(fetched)));
    }

    fn queue(&self) -> Vec<(String, u8)> {
        let pages = self.visit.queue.clone();
        pages.map(|page| (page.path, page.tries)).collect()
    }

    /// The record of the page that was recorded last.
    fn last_record(&self) -> &PageRecord {
        &self.visit.batch.done.last().expect("a record").record
    }
}

fn url(path: &str) -> CanonUrl {
    let url = format!("http://example.org{path}");
    Canonicaliser::default().canon(&url).unwrap()
}

fn page(path: &str) -> Pending {
    Pending {
        path: path.to_owned(),
        key: url(path).path_key(),
        depth: 1,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: "http://example.org/".to_owned(),
        past: None,
    }
}

fn known_page(path: &str) -> Pending {
    let past = Past {
        time: NOW - 1000,
        visited: NOW - 1000,
        ..Past::default()
    };
    Pending {
        past: Some(Box::new(past)),
        ..page(path)
    }
}

fn task(page: Pending) -> FinishedTask {
    FinishedTask {
        session: FetchSession::new(),
        url: url(&page.path),
        page,
        took: Duration::from_millis(100),
        ended: Instant::now(),
    }
}

fn response(status: u16) -> PageResponse {
    PageResponse::without_body(NOW, Outcome::Answer(status))
}

fn redirect(target: &str) -> PageResponse {
    PageResponse {
        redirect: Some(RedirectTarget {
            target: Canonicaliser::default().canon(target).unwrap(),
            literal_path: "/".to_owned(),
        }),
        ..response(301)
    }
}

fn count(counter: &std::sync::atomic::AtomicU64) -> u64 {
    counter.load(std::sync::atomic::Ordering::Relaxed)
}

#[tokio::test]
async fn a_queued_page_is_the_next_one() {
    let mut test = Test::new();
    test.visit.queue.push_back(page("/other"));
    let mut verdict = Verdict::done(1);
    for (path, expected) in [
        (None, "/page"),
        (Some("/page?as=written"), "/page?as=written"),
    ] {
        let path = path.map(str::to_owned);
        verdict.next = NextVisit::Queued { path, tries: 2 };
        test.apply(&verdict, &page("/page"), &response(200));
        assert_eq!(test.queue()[0], (expected.to_owned(), 2));
    }
    assert_eq!(test.queue().len(), 3);
}

#[tokio::test]
async fn only_queued_pages_return_to_the_queue() {
    let history = Vec::new();
    for next in [
        NextVisit::Retry { due: NOW + 1 },
        NextVisit::Revisit {
            due: NOW + 1,
            history,
        },
        NextVisit::NextRound { due: NOW + 1 },
        NextVisit::Done,
    ] {
        let mut test = Test::new();
        let verdict = Verdict {
            next,
            ..Verdict::done(1)
        };
        test.apply(&verdict, &page("/page"), &response(200));
        assert!(test.queue().is_empty());
        assert_eq!(test.visit.ending, None);
    }
}

#[tokio::test]
async fn a_back_off_ends_the_visit() {
    use Ending::{Abandon, Block, Release, ReleaseUntil};
    let back_off = |until, extends| BackOff {
        until,
        is_requested: true,
        extends,
    };
    for (before, back_off, after) in [
        (None, back_off(5, false), ReleaseUntil(5)),
        (None, back_off(5, true), ReleaseUntil(5)),
        (Some(Release), back_off(5, false), Release),
        (Some(Release), back_off(5, true), ReleaseUntil(5)),
        (Some(ReleaseUntil(3)), back_off(5, false), ReleaseUntil(3)),
        (Some(ReleaseUntil(3)), back_off(5, true), ReleaseUntil(5)),
        (Some(ReleaseUntil(9)), back_off(5, true), ReleaseUntil(9)),
        (Some(Block), back_off(5, true), Block),
        (Some(Abandon), back_off(5, true), Abandon),
    ] {
        let mut test = Test::new();
        test.visit.ending = before;
        let verdict = Verdict {
            back_off: Some(back_off),
            ..Verdict::done(1)
        };
        test.apply(&verdict, &page("/page"), &response(503));
        assert_eq!(test.visit.ending, Some(after), "{before:?}, {back_off:?}");
        let stored = test.visit.site.facts().retry_after;
        assert_eq!(
            stored, 5,
            "the time that the server requested is stored in every case"
        );
    }
}

#[tokio::test]
async fn a_back_off_without_retry_after_is_not_stored_with_the_site() {
    let mut test = Test::new();
    test.visit.apply_back_off(BackOff::server_down(NOW + 5));
    assert_eq!(test.visit.ending, Some(Ending::ReleaseUntil(NOW + 5)));
    assert_eq!(test.visit.site.facts().retry_after, 0);
}

#[tokio::test]
async fn a_redirect_is_admitted_like_a_link() {
    let mut test = Test::new();
    let verdict = Verdict {
        redirect: Some(RedirectAction::Link),
        ..Verdict::done(0)
    };
    let inside = redirect("http://example.org/new");
    test.apply(&verdict, &page("/page"), &inside);
    test.apply(&verdict, &page("/page"), &inside);
    assert_eq!(test.queue(), [("/new".to_owned(), 0)], "admitted once");
    let new = test.visit.queue.pop_front().unwrap();
    assert_eq!((new.hop, new.depth, new.site_depth), (Hop::Redirect, 1, 1));
    // Another site is in scope only if a seed redirects to it. The target then becomes a seed.
    let outside = redirect("http://example.net/");
    test.apply(&verdict, &page("/page"), &outside);
    assert!(test.visit.batch.outside.is_empty());
    let seed = Pending {
        hop: Hop::Seed,
        depth: 0,
        ..page("/")
    };
    test.apply(&verdict, &seed, &outside);
    assert_eq!(test.visit.batch.outside.len(), 1);
    assert_eq!(test.visit.batch.new_seeds.len(), 1);
}

#[tokio::test]
async fn a_redirect_to_the_page_itself_changes_the_preferred_name() {
    let mut test = Test::new();
    let robots = |url: &str| RobotsFile {
        fetched: NOW,
        status: 200,
        url: url.to_owned(),
        body: Vec::new(),
    };
    for (action, target, origin, keeps_robots) in [
        (
            RedirectAction::GiveUp,
            "https://example.org/",
            "http://example.org",
            true,
        ),
        (
            RedirectAction::Repeat,
            "http://example.org/",
            "http://example.org",
            true,
        ),
        (
            RedirectAction::Repeat,
            "https://example.org/",
            "https://example.org",
            true,
        ),
        (
            RedirectAction::Repeat,
            "http://www.example.org/",
            "http://www.example.org",
            false,
        ),
    ] {
        test.visit
            .site
            .store_robots(robots("http://example.org/robots.txt"));
        let verdict = Verdict {
            redirect: Some(action),
            ..Verdict::done(1)
        };
        test.apply(&verdict, &page("/"), &redirect(target));
        let facts = test.visit.site.facts();
        assert_eq!(facts.origin, origin);
        assert_eq!(facts.robots.is_some(), keeps_robots, "{target}");
    }
    assert!(test.queue().is_empty(), "the target is not a link");
}

#[tokio::test]
async fn an_outage_releases_the_site_with_its_pages() {
    let mut test = Test::new();
    test.visit.queue.push_back(page("/other"));
    test.apply_fetched(
        page("/page"),
        PageResponse::without_body(NOW, Outcome::ConnectFailed),
    );
    let Some(Ending::ReleaseUntil(until)) = test.visit.ending else {
        panic!("{:?}", test.visit.ending);
    };
    assert!(until > NOW);
    assert_eq!(test.visit.site.facts().counters.outages, 1);
    assert_eq!(
        test.queue(),
        [("/page".to_owned(), 0), ("/other".to_owned(), 0)]
    );
    let record = test.last_record();
    assert_eq!(
        (record.outcome, record.tries, record.next),
        (Outcome::ConnectFailed, 1, None)
    );
    // If a second request in flight fails too, this is not another outage.
    let second = test.visit.apply_outage(Outcome::ConnectFailed);
    assert_eq!(
        (second, test.visit.site.facts().counters.outages),
        (SiteOutage::Ending, 1)
    );
}

#[tokio::test]
async fn a_site_that_is_given_up_has_all_its_pages_recorded() {
    let mut config = Config::default();
    config.revisit.policy = Policy::Never;
    config.retry.server_down.clear();
    let mut test = Test::with(config);
    test.visit.queue.push_back(page("/other"));
    test.visit.queue.push_back(known_page("/known"));
    test.apply_fetched(
        page("/page"),
        PageResponse::without_body(NOW, Outcome::ConnectFailed),
    );
    assert_eq!(test.visit.ending, Some(Ending::Release));
    assert!(test.queue().is_empty());
    let done = &test.visit.batch.done;
    let paths: Vec<&str> = done.iter().map(|fetch| &*fetch.record.path).collect();
    assert_eq!(paths, ["/other", "/known", "/page"]);
    assert!(done.iter().all(|fetch| fetch.record.next.is_none()));
}

#[tokio::test]
async fn a_revisit_is_counted_and_its_signal_is_checked() {
    let mut test = Test::new();
    let source = Source::Feed as u8;
    let schedule = &test.visit.context.policy.schedule;
    let rounds = schedule.observe(&SiteHistory::default(), ENTRY, PageState::New, NOW);
    for (state, changed) in [(PageState::Same, false), (PageState::Changed, true)] {
        let verdict = Verdict {
            state: Some(state),
            kept: KeptVersion::Earlier,
            signal: Some(SignalCheck { source, changed }),
            rounds: Some(rounds.clone()),
            ..Verdict::done(0)
        };
        test.apply(&verdict, &known_page("/page"), &response(200));
        // A page that is fetched for the first time does not count as changed or unchanged.
        let new = Verdict {
            state: Some(state),
            ..Verdict::done(0)
        };
        test.apply(&new, &page("/page"), &response(200));
    }
    let counters = test.visit.context.counters();
    assert_eq!(
        (count(&counters.unchanged), count(&counters.changed)),
        (1, 1)
    );
    assert!(!test.visit.site.facts().trust.is_empty());
    let sent = test.visit.site.take_changes();
    let stored = sent.expect("the next check-in sends the facts").rounds;
    assert_eq!(
        postcard::from_bytes::<GroupHistory>(&stored).unwrap(),
        rounds.inner
    );
    assert!(test.visit.site.take_changes().is_none());
}

#[tokio::test]
async fn a_fetched_page_is_counted_and_recorded() {
    let mut test = Test::new();
    let version = Version {
        past: Past {
            time: NOW,
            fingerprint: 1,
            ..Past::default()
        },
        is_new: true,
        expires: None,
    };
    let fetched = PageResponse {
        size: 10,
        version: Some(version),
        ..response(200)
    };
    test.apply_fetched(page("/page"), fetched);
    let record = test.last_record();
    assert_eq!(
        (record.outcome, record.tries, record.size),
        (Outcome::Answer(200), 0, 10)
    );
    assert!(record.next.is_some_and(|due| due > NOW));
    assert_eq!(record.past.as_ref().map(|past| past.fingerprint), Some(1));
    let counters = &test.visit.site.facts().counters;
    assert_eq!((counters.fetched, counters.bytes), (1, 10));
    assert_eq!(count(&test.visit.context.counters().pages), 1);
    // The pause starts at the end of the response.
    assert!(test.visit.requests.allowed_at > Instant::now());
    // Revisits and temporary failures do not count towards the thresholds.
    test.apply_fetched(known_page("/page"), response(404));
    test.apply_fetched(page("/busy"), response(503));
    assert_eq!(test.visit.site.facts().counters.fetched, 1);
    assert_eq!(test.visit.requests.failures, 1);
}

#[tokio::test]
async fn a_soft_404_is_counted_and_marked() {
    let mut test = Test::new();
    test.visit.site.store_absent(Absent {
        status: 301,
        location: "http://example.org/error".to_owned(),
        ..Absent::default()
    });
    test.apply_fetched(page("/page"), redirect("http://example.org/error"));
    assert!(test.last_record().flags.has(Flags::SOFT_404));
    assert_eq!(count(&test.visit.context.counters().soft_404), 1);
}

#[tokio::test]
async fn the_response_to_the_probe_is_stored_and_not_recorded_as_a_page() {
    let mut test = Test::new();
    let probe = Pending {
        hop: Hop::SoftNotFoundProbe,
        ..page("/aranha-0.html")
    };
    let busy = PageResponse {
        retry_after: Some(Duration::from_mins(1)),
        ..response(503)
    };
    test.apply_fetched(probe, busy);
    let facts = test.visit.site.facts();
    assert_eq!(facts.absent.as_ref().map(|absent| absent.status), Some(503));
    assert!(facts.retry_after > NOW, "its Retry-After is obeyed");
    assert_eq!(facts.counters.fetched, 0);
    assert!(!test.visit.batch.done[0].is_page);
}

#[tokio::test]
async fn a_page_that_the_cache_no_longer_has() {
    let mut test = Test::new();
    let announced = Pending {
        hop: Hop::ProxyCache,
        ..page("/new")
    };
    let miss = |page| Collected::CacheMiss(Box::new(task(page)));
    test.visit.apply_collected(miss(announced));
    let queued = test.visit.queue.pop_front().unwrap();
    assert_eq!((&*queued.path, queued.hop), ("/new", Hop::Signal));
    let mut known = known_page("/known");
    known.past.as_mut().unwrap().claim = Source::Proxy as u8;
    test.visit.apply_collected(miss(known));
    let (due, later) = &test.visit.batch.later[0];
    assert!(*due > NOW);
    assert_eq!(later.past.as_ref().map(|past| past.claim), Some(0));
    assert!(test.visit.batch.done.is_empty(), "nothing was fetched");
}

#[tokio::test]
async fn a_page_that_could_not_be_archived_stays_in_the_queue() {
    let mut test = Test::new();
    let lost = Collected::Unfinished(Box::new(task(page("/page"))));
    test.visit.apply_collected(lost);
    assert_eq!(test.queue(), [("/page".to_owned(), 0)]);
    assert!(test.visit.batch.done.is_empty());
}

#[tokio::test]
async fn a_threshold_blocks_the_site() {
    let mut config = Config::default();
    config.thresholds.urls = Some(2);
    config.thresholds.block = true;
    let mut test = Test::with(config);
    test.apply_fetched(page("/1"), response(404));
    assert_eq!(test.visit.ending, None);
    test.apply_fetched(page("/2"), response(404));
    assert_eq!(test.visit.ending, Some(Ending::Block));
    assert!(test.visit.site.is_blocked());
    // The links of a blocked site are not admitted.
    let from = page("/2");
    let key = url("/3").path_key();
    assert!(!test.visit.admit("/3", key, &from, Hop::Link, ""));
}

#[tokio::test]
async fn addresses_are_sent_with_the_next_check_in_only_if_they_changed() {
    let mut test = Test::new();
    let resolved = |last, expires_ms| Resolved {
        addresses: vec![IpAddr::from([192, 0, 2, last])],
        expires_ms,
    };
    for (last, expires, changed) in [(1, 5, true), (1, 5, false), (2, 5, true), (2, 6, true)] {
        let site = &mut test.visit.site;
        site.store_addresses(&url("/"), resolved(last, expires));
        assert_eq!(site.take_changes().is_some(), changed, "{last} {expires}");
    }
}

/// Ends the fetch of the page at `path`, whose bytes have arrived but whose reader has failed with this fault.
fn fail_to_read(test: &mut Test, path: &str, fault: ReaderFault) {
    let id = tokio::spawn(async {}).id();
    test.visit.requests.in_flight.push((id, page(path)));
    let ended = Instant::now();
    test.visit
        .on_collected(Ok((id, Collected::NotRead { fault, ended })));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_cannot_be_read_is_recorded_and_the_pause_is_kept() {
    let mut test = Test::new();
    let began = Instant::now();
    fail_to_read(&mut test, "/a", ReaderFault::Panic("broken".to_owned()));
    assert_eq!(test.last_record().outcome, Outcome::InternalError);
    assert!(
        test.last_record().next.is_some(),
        "tried again in the next round"
    );
    let pause = test.visit.context.config().crawl.pause;
    assert!(test.visit.requests.allowed_at >= began + pause);
    assert!(test.visit.requests.are_finished());
    assert_eq!(test.visit.ending, None);
}

#[tokio::test(start_paused = true)]
async fn the_crawl_stops_if_too_many_readers_were_abandoned() {
    let mut test = Test::new();
    for abandoned in [MAX_ABANDONED - 1, MAX_ABANDONED] {
        let limit = Duration::from_mins(1);
        fail_to_read(&mut test, "/a", ReaderFault::TooSlow { limit, abandoned });
        let is_asked = test.visit.context.control.stop.asked();
        assert_eq!(is_asked, abandoned == MAX_ABANDONED);
    }
}

fn size_of_future<A, B, F: Future>(_: impl Fn(A, B) -> F) -> usize {
    size_of::<F>()
}

/// Tens of thousands of visits are in memory at the same time, so the visit itself (without its queue) must be small.
#[test]
fn a_waiting_visit_is_small() {
    let bytes = size_of_future(|context, (lease, activity)| visit(context, lease, activity));
    let visit = size_of::<Visit>();
    assert!(bytes <= 2304, "{bytes}, of which Visit {visit}");
}

#[test]
fn a_page_in_flight_is_small() {
    let bytes = size_of_future(|context: &'static Arc<Context>, (session, task)| {
        let task: FetchTask = task;
        collect(context, session, task)
    });
    let fetched = size_of::<FetchedPage>();
    assert!(bytes <= 5760, "{bytes}, of which FetchedPage {fetched}");
}
