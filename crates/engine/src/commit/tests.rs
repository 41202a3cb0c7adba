//! Tests of the records that are made from responses and verdicts, and of the commit of a check-in.

use std::sync::Arc;
use std::time::Duration;

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier as _, Hop, Lease, Options, Outcome, Past, Pending, Seed,
    Then, WindowUpdate,
};
use aranha_revisit::PageState;
use aranha_url::{CanonUrl, Canonicaliser};
use aranha_volume::{Archive, Exchange, Location, Stored};
use tokio::sync::{Notify, oneshot};

use aranha_frontier::ErrorClass;

use super::*;
use crate::collect::{PageResponse, Version};
use crate::status::event_log::EventLog;
use crate::status::notice::{Notice, Notices};
use crate::verdict::{KeptVersion, NextVisit, Verdict};

const NOW: i64 = 1_700_000_000_000;
const DUE: i64 = NOW + 1000;

fn url(path: &str) -> CanonUrl {
    let url = format!("http://example.org{path}");
    Canonicaliser::default().canon(&url).unwrap()
}

fn at(offset: u64) -> Location {
    Location {
        volume: 1.into(),
        offset,
        length: 1,
    }
}

fn past(fingerprint: u64) -> Past {
    Past {
        time: NOW - 500,
        visited: NOW - 500,
        digest: [1; 20],
        location: Some(at(0)),
        fingerprint,
        history: vec![1],
        claim: 3,
        ..Past::default()
    }
}

/// A page with a stored version; the fingerprint of the version is 1.
fn page() -> Pending {
    Pending {
        path: "/page".to_owned(),
        key: url("/page").path_key(),
        depth: 1,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: String::new(),
        past: Some(Box::new(past(1))),
    }
}

/// A response with a version whose fingerprint is 2. `is_new`: the response contains the version. Otherwise it confirms
/// a stored version, like a 304.
fn response(is_new: bool) -> PageResponse {
    let past = Past {
        // Even a confirmed version has the time of this response here. So the test shows that the record depends on
        // `is_new`, not on the time.
        time: NOW,
        claim: 0,
        ..past(2)
    };
    PageResponse {
        version: Some(Version {
            past,
            is_new,
            expires: None,
        }),
        ..PageResponse::without_body(NOW, Outcome::Answer(200))
    }
}

fn verdict(next: NextVisit, kept: KeptVersion, state: PageState) -> Verdict {
    Verdict {
        next,
        kept,
        state: Some(state),
        ..Verdict::done(0)
    }
}

fn revisit() -> NextVisit {
    NextVisit::Revisit {
        due: DUE,
        history: vec![7],
    }
}

fn complete(response: PageResponse, verdict: Verdict) -> CompletedFetch {
    let mut fetch = CompletedFetch::page(page(), String::new(), response, verdict, false);
    fetch.stored(&Stored {
        location: at(9),
        digest: [9; 20],
        revisit: false,
        written: 1,
    });
    fetch
}

#[test]
fn a_new_version_gets_the_digest_and_location_of_its_bytes() {
    for (is_new, kept, fingerprint, digest) in [
        (true, KeptVersion::ThisResponse, 2, [9; 20]),
        // A 304: the bytes are those of the stored version.
        (false, KeptVersion::ThisResponse, 2, [1; 20]),
        // A page that is gone, or could not be fetched: the earlier version is kept.
        (true, KeptVersion::Earlier, 1, [1; 20]),
        (false, KeptVersion::Earlier, 1, [1; 20]),
    ] {
        let fetch = complete(response(is_new), verdict(revisit(), kept, PageState::Same));
        assert_eq!(
            fetch.record.digest,
            Some([9; 20]),
            "of this response's record"
        );
        let past = fetch.record.past.expect("it is revisited");
        let found = (past.fingerprint, past.digest);
        assert_eq!(found, (fingerprint, digest), "{is_new} {kept:?}");
        let offset = past.location.map(|location| location.offset);
        assert_eq!(offset, Some(u64::from(digest[0] / 9 * 9)));
    }
}

#[test]
fn a_page_is_remembered_only_if_it_is_due_again() {
    let retry = || NextVisit::Retry { due: DUE };
    let queued = NextVisit::Queued {
        path: None,
        tries: 0,
    };
    for (next, due, remembered) in [
        (revisit(), Some(DUE), true),
        (retry(), Some(DUE), true),
        (NextVisit::NextRound { due: DUE }, Some(DUE), true),
        // A queued page keeps its past in the queue.
        (queued, None, false),
        (NextVisit::Done, None, false),
    ] {
        let verdict = verdict(next, KeptVersion::Earlier, PageState::Failed);
        let record = complete(response(true), verdict).record;
        assert_eq!((record.next, record.past.is_some()), (due, remembered));
    }
    let verdict = verdict(retry(), KeptVersion::None, PageState::Failed);
    assert_eq!(complete(response(true), verdict).record.past, None);
}

#[test]
fn only_a_plan_of_the_revisit_policy_changes_the_history() {
    let check = |next, state, visited, history: &[u8], claim| {
        let verdict = verdict(next, KeptVersion::Earlier, state);
        let past = complete(response(true), verdict).record.past.unwrap();
        let found = (past.visited, &*past.history, past.claim);
        assert_eq!(found, (visited, history, claim), "{state:?}");
    };
    let retry = || NextVisit::Retry { due: DUE };
    check(revisit(), PageState::Gone, NOW, &[7], 0);
    check(revisit(), PageState::Failed, NOW - 500, &[7], 0);
    check(retry(), PageState::Failed, NOW - 500, &[1], 3);
    check(retry(), PageState::Changed, NOW, &[1], 3);
}

#[test]
fn flags_come_from_the_response_the_verdict_and_the_site() {
    let response = PageResponse {
        flags: Flags::default().with(Flags::NOINDEX),
        ..response(true)
    };
    let verdict = Verdict {
        soft_404: true,
        ..Verdict::done(0)
    };
    let record = CompletedFetch::page(page(), String::new(), response, verdict, true).record;
    for flag in [Flags::NOINDEX, Flags::SOFT_404, Flags::BLOCKED] {
        assert!(record.flags.has(flag));
    }
    assert!(!record.flags.has(Flags::TRUNCATED));
}

#[test]
fn robots_txt_files_and_probes_are_not_pages() {
    let response = PageResponse::without_body(NOW, Outcome::Answer(200));
    let fetch = CompletedFetch::auxiliary(page(), String::new(), response);
    assert!(!fetch.is_page);
    assert_eq!((fetch.record.tries, fetch.record.next), (1, None));
}

/// Returns a committer whose archive discards all bytes, and the lease of example.org, which has the page `/`.
fn committer(folder: &std::path::Path) -> (Committer, Lease) {
    let mut frontier = Embedded::open(folder, Options::default()).unwrap();
    frontier.seed(NOW, &[Seed::of(&url("/"))]).unwrap();
    let lease = frontier.check_out(NOW, 1).unwrap().remove(0);
    let committer = Committer {
        frontier: SharedFrontier::in_place(Box::new(frontier)),
        archive: Archive::discarding(Duration::ZERO),
        log: None,
        clock: Clock::at(NOW),
        tidy_budget: Duration::MAX,
        counters: Arc::default(),
        stop: Stop::new(),
        sites_due: Arc::new(Notify::new()),
        visits_ended: Arc::default(),
        committing: Arc::default(),
        waiting: None,
    };
    (committer, lease)
}

fn submission(lease: u64, done: Vec<CompletedFetch>) -> (Submission, oneshot::Receiver<Committed>) {
    let (reply, receiver) = oneshot::channel();
    let submission = Submission {
        check_in: CheckIn {
            lease,
            done: Vec::new(),
            window: WindowUpdate::default(),
            later: Vec::new(),
            claims: Vec::new(),
            overflow: Vec::new(),
            keys: Vec::new(),
            outside: Vec::new(),
            facts: None,
            then: Then::Keep { want: 0 },
        },
        done,
        window: PageQueue::default().report(std::iter::empty()),
        overflow: PageQueue::default(),
        new_seeds: vec![Seed::of(&url("/seed"))],
        reply,
    };
    (submission, receiver)
}

#[tokio::test]
async fn a_commit_records_pages_with_the_location_of_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut committer, lease) = committer(folder.path());
    let home = Pending {
        path: "/".to_owned(),
        key: url("/").path_key(),
        ..page()
    };
    let verdict = verdict(revisit(), KeptVersion::ThisResponse, PageState::New);
    let mut fetch = CompletedFetch::page(home, String::new(), response(true), verdict, false);
    let exchange = Exchange {
        response: b"body"[..].into(),
        payload: b"body"[..].into(),
        ..Exchange::default()
    };
    fetch.receipt = Some(committer.archive.append(exchange).await.unwrap());
    let robots = PageResponse::without_body(NOW, Outcome::Answer(200));
    let robots = CompletedFetch::auxiliary(page(), String::new(), robots);
    let (mut submission, reply) = submission(lease.id, vec![robots, fetch]);
    submission.check_in.then = Then::Release { due: NOW };
    committer.commit(vec![submission]).await.unwrap();
    assert!(reply.await.unwrap().checked_in.is_some());
    let frontier = committer.frontier.clone();
    let explain = |path: &'static str| frontier.call(move |f| f.explain(&url(path)).unwrap());
    let home = explain("/").await;
    let record = &home.records[0];
    assert!(record.location.is_some() && record.digest.is_some());
    let stored = (record.location, record.digest);
    assert!(
        explain("/page").await.records.is_empty(),
        "robots.txt is not a page"
    );
    assert!(explain("/seed").await.seed);
    // The next check-out returns the page with its past.
    let leases = frontier.call(|frontier| frontier.check_out(DUE, 1).unwrap());
    let pages = leases.await.remove(0).pending;
    let past = pages.iter().find_map(|page| page.past.as_ref());
    let past = past.expect("it is revisited");
    assert_eq!((past.location, Some(past.digest)), stored);
}

#[tokio::test]
async fn a_lost_lease_fails_only_its_own_check_in() {
    let folder = tempfile::tempdir().unwrap();
    let (mut committer, lease) = committer(folder.path());
    let (lost, lost_reply) = submission(lease.id + 1, Vec::new());
    let (held, held_reply) = submission(lease.id, Vec::new());
    committer.commit(vec![lost, held]).await.unwrap();
    assert!(lost_reply.await.unwrap().checked_in.is_none());
    assert!(held_reply.await.unwrap().checked_in.is_some());
}

#[tokio::test]
async fn the_committer_ends_when_all_visits_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (committer, lease) = committer(folder.path());
    let (sender, receiver) = channel();
    let stop = committer.stop.clone();
    let running = tokio::spawn(committer.run(receiver));
    let (submission, reply) = submission(lease.id, Vec::new());
    sender.send(submission).await.ok().unwrap();
    assert!(reply.await.unwrap().checked_in.is_some());
    drop(sender);
    running.await.unwrap();
    assert!(!stop.asked());
}

/// A call that fails because the database is away is repeated, and the operator is told once.
#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_while_the_frontier_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let (committer, _) = committer(folder.path());
    let log = EventLog::open(&folder.path().join("events.jsonl")).unwrap();
    let (notices, mut receiver) = Notices::new(log, committer.clock);
    committer.frontier.watch(notices, committer.stop.clone());
    let away = || FrontierError::Away {
        place: "postgres://db/crawl".into(),
        source: "connection refused".into(),
    };
    let mut tries = 0;
    let seeds = committer.frontier.persist(move |frontier| {
        tries += 1;
        if tries < 5 {
            Err(away())
        } else {
            frontier.seeds()
        }
    });
    assert_eq!(seeds.await.unwrap().len(), 1);
    let told = [receiver.try_recv().unwrap(), receiver.try_recv().unwrap()];
    assert!(
        matches!(&told[0], Notice::FrontierDown { problem } if problem.contains("db/crawl is away"))
    );
    assert_eq!(told[1], Notice::FrontierUp { seconds: 3 });
    assert!(receiver.try_recv().is_err());

    // After a request to stop, the call is given up within a minute. Calls that fail with other errors are not
    // repeated.
    committer.stop.ask(Reason::Interrupted);
    let begun = tokio::time::Instant::now();
    let failed = committer
        .frontier
        .persist(move |_| Err::<(), _>(away()))
        .await;
    assert_eq!(failed.unwrap_err().class(), ErrorClass::MayPass);
    assert!((60..70).contains(&begun.elapsed().as_secs()));
    let full = || FrontierError::Full { place: "x".into() };
    let failed = committer
        .frontier
        .persist(move |_| Err::<(), _>(full()))
        .await;
    assert_eq!(failed.unwrap_err().class(), ErrorClass::Final);
}

/// An abandoned page reader holds a sender forever.
#[tokio::test]
async fn the_committer_ends_although_a_sender_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let (committer, lease) = committer(folder.path());
    let (sender, receiver) = channel();
    let visits_ended = Arc::clone(&committer.visits_ended);
    let (submission, reply) = submission(lease.id, Vec::new());
    sender.send(submission).await.ok().unwrap();
    visits_ended.notify_one();
    committer.run(receiver).await;
    assert!(reply.await.unwrap().checked_in.is_some());
    assert!(sender.is_closed());
}
