//! Tests of the rules in `mod.rs` and of their order. Most tests are tables of cases for one rule.
//! The file is long because all tables share the functions that build a site, a response and a page.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use aranha_fetch::Truncated;
use aranha_frontier::{Absent, Counters, Hop, Outcome, Past, Pending};
use aranha_revisit::{Pace, PagePlace, PageState, Policy, Schedule, SiteHistory, SiteUpdate};
use aranha_url::{CanonUrl, Canonicaliser, SiteKey};

use super::*;
use crate::collect::Version;
use crate::config::{Config, Thresholds};
use crate::links::RedirectTarget;
use crate::signals::Source;
use crate::traps::novelty::{Reading, Trap};
use crate::visit::Ending;

const NOW: i64 = 1_700_000_000_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn policy(revisit: Policy) -> CrawlPolicy {
    let mut config = Config::default();
    config.revisit.policy = revisit;
    CrawlPolicy {
        canon: Canonicaliser::default(),
        literal: Canonicaliser::default(),
        requisites: Canonicaliser::default(),
        schedule: Schedule::new(&config.revisit),
        paces: HashMap::new(),
        keep: None,
        config,
    }
}

static NO_ROUNDS: OnceLock<SiteHistory> = OnceLock::new();

fn site() -> SiteView<'static> {
    SiteView {
        key: SiteKey::of("example.org"),
        now: NOW,
        absent: None,
        rounds: NO_ROUNDS.get_or_init(SiteHistory::default),
        pace: Pace::default(),
        failures: 0,
        outage: None,
    }
}

fn url(path: &str) -> CanonUrl {
    let url = format!("http://example.org{path}");
    Canonicaliser::default().canon(&url).unwrap()
}

fn page(tries: u8) -> Pending {
    Pending {
        path: "/page".to_owned(),
        key: url("/page").path_key(),
        depth: 2,
        site_depth: 2,
        tries,
        hop: Hop::Link,
        via: String::new(),
        past: None,
    }
}

/// A page that was fetched a week ago. The fingerprint of its text was 1.
fn known_page(tries: u8) -> Pending {
    let past = Past {
        time: NOW - 7 * DAY,
        fingerprint: 1,
        ..Past::default()
    };
    Pending {
        past: Some(Box::new(past)),
        ..page(tries)
    }
}

fn failed(outcome: Outcome) -> PageResponse {
    PageResponse::without_body(NOW, outcome)
}

/// A 200 response whose text has this fingerprint.
fn text(fingerprint: u64) -> PageResponse {
    let past = Past {
        time: NOW,
        fingerprint,
        ..Past::default()
    };
    PageResponse {
        text_digest: fingerprint,
        size: 100,
        reading: Some(Reading::without_words(fingerprint, 0)),
        version: Some(Version {
            past,
            is_new: true,
            expires: None,
        }),
        ..failed(Outcome::Answer(200))
    }
}

fn redirect(target: &CanonUrl) -> PageResponse {
    let text = text(7);
    PageResponse {
        outcome: Outcome::Answer(301),
        reading: None,
        redirect: Some(RedirectTarget {
            target: target.clone(),
            literal_path: format!("{}?as=written", target.path()),
        }),
        ..text
    }
}

fn with_retry_after(seconds: u64, response: PageResponse) -> PageResponse {
    PageResponse {
        retry_after: Some(Duration::from_secs(seconds)),
        ..response
    }
}

fn decide_now(site: &SiteView<'_>, response: &PageResponse, page: &Pending) -> Verdict {
    decide(site, response, page, &policy(Policy::Frequency))
}

#[test]
fn rule_1_an_outage_keeps_the_page_in_the_queue() {
    for outage in [SiteOutage::Wait { until: NOW + DAY }, SiteOutage::Ending] {
        let site = SiteView {
            outage: Some(outage),
            ..site()
        };
        for page in [page(2), known_page(2)] {
            let verdict = decide_now(&site, &failed(Outcome::ConnectFailed), &page);
            let next = NextVisit::Queued {
                path: None,
                tries: 2,
            };
            assert_eq!(
                verdict,
                Verdict {
                    next,
                    ..Verdict::done(3)
                },
                "{outage:?}"
            );
        }
    }
}

#[test]
fn rule_1_the_pages_of_a_site_that_is_given_up_are_recorded() {
    let site = SiteView {
        outage: Some(SiteOutage::GiveUp),
        ..site()
    };
    let never = policy(Policy::Never);
    let response = failed(Outcome::ConnectFailed);
    let verdict = decide(&site, &response, &page(2), &never);
    assert_eq!((verdict.next, verdict.tries), (NextVisit::Done, 3));
}

#[test]
fn outages_are_retried_by_the_table_and_then_once_per_round() {
    let check = |outages, ending, revisit, expected: &dyn Fn(SiteOutage) -> bool| {
        let cause = Outcome::ConnectFailed;
        let outage = decide_outage(&site(), cause, outages, ending, &policy(revisit));
        assert!(
            expected(outage),
            "{outages} {ending:?} {revisit:?}: {outage:?}"
        );
    };
    let wait = |delay| move |outage| outage == SiteOutage::Wait { until: NOW + delay };
    let frequency = Policy::Frequency;
    check(0, None, frequency, &wait(10 * MINUTE));
    check(1, None, frequency, &wait(12 * HOUR));
    check(1, Some(Ending::Release), frequency, &wait(12 * HOUR));
    // The retry table is used up. The next try is in the next round, but not before the last delay of the table is
    // over.
    check(
        2,
        None,
        frequency,
        &|outage| matches!(outage, SiteOutage::Wait { until } if (NOW + 12 * HOUR..NOW + 3 * DAY).contains(&until)),
    );
    check(2, None, Policy::Never, &|outage| {
        outage == SiteOutage::GiveUp
    });
    for ending in [Ending::ReleaseUntil(5), Ending::Block] {
        check(0, Some(ending), frequency, &|outage| {
            outage == SiteOutage::Ending
        });
    }
}

#[test]
fn outcomes_that_concern_the_whole_site() {
    for (outcome, expected) in [
        (Outcome::DnsNotFound, true),
        (Outcome::DnsFailed, true),
        (Outcome::ConnectFailed, true),
        (Outcome::ConnectTimeout, true),
        (Outcome::AddressRefused, true),
        (Outcome::TlsFailed, false),
        (Outcome::Timeout, false),
        (Outcome::Stalled, false),
        (Outcome::Reset, false),
        (Outcome::Answer(503), false),
    ] {
        assert_eq!(is_outage(outcome), expected, "{outcome}");
    }
}

#[test]
fn rule_2_temporary_failures_are_retried_by_the_table() {
    for (outcome, tries, delay) in [
        (Outcome::Timeout, 0, Some(MINUTE)),
        (Outcome::Timeout, 1, Some(HOUR)),
        (Outcome::Timeout, 3, None),
        (Outcome::Reset, 0, Some(MINUTE)),
        (Outcome::Answer(500), 0, Some(10 * MINUTE)),
        (Outcome::Answer(404), 0, None),
        (Outcome::Answer(501), 0, None),
        (Outcome::NoTarget, 0, None),
    ] {
        let verdict = decide_now(&site(), &failed(outcome), &page(tries));
        let retry = match verdict.next {
            NextVisit::Retry { due } => Some(due - NOW),
            _ => None,
        };
        assert_eq!(retry, delay, "{outcome}, try {tries}");
        // Tries are counted only if a retry follows.
        let expected = if delay.is_some() { tries + 1 } else { 0 };
        assert_eq!(verdict.tries, expected, "{outcome}, try {tries}");
        assert_eq!(verdict.back_off, None, "{outcome}, try {tries}");
    }
}

#[test]
fn rule_2_a_truncated_response_is_retried_like_a_failure() {
    for (truncated, delay) in [
        (Truncated::Disconnect, Some(MINUTE)),
        (Truncated::Time, Some(MINUTE)),
        (Truncated::Length, None),
    ] {
        let response = PageResponse {
            truncated: Some(truncated),
            ..text(1)
        };
        let verdict = decide_now(&site(), &response, &page(0));
        let retry = delay.map(|delay| NextVisit::Retry { due: NOW + delay });
        match retry {
            Some(retry) => assert_eq!(verdict.next, retry, "{truncated:?}"),
            None => assert!(matches!(verdict.next, NextVisit::Revisit { .. })),
        }
        // The bytes that arrived are kept.
        assert_eq!(verdict.kept, KeptVersion::ThisResponse);
    }
}

#[test]
fn rule_3_the_server_is_left_alone() {
    let back_off = |delay, is_requested, extends| {
        Some(BackOff {
            until: NOW + delay,
            is_requested,
            extends,
        })
    };
    let busy = || failed(Outcome::Answer(503));
    let check = |failures, tries, response: PageResponse, expected: Option<BackOff>| {
        let site = SiteView { failures, ..site() };
        let verdict = decide_now(&site, &response, &page(tries));
        let outcome = response.outcome;
        assert_eq!(verdict.back_off, expected, "{outcome}, try {tries}");
        if let (Some(back_off), NextVisit::Retry { due }) = (expected, verdict.next) {
            assert_eq!(due, back_off.until, "{outcome}: the page waits as long");
        }
    };
    // Retry-After, longer and shorter than the table's delay.
    check(
        1,
        0,
        with_retry_after(3600, busy()),
        back_off(HOUR, true, false),
    );
    let ten_minutes = back_off(10 * MINUTE, true, false);
    check(1, 0, with_retry_after(60, busy()), ten_minutes);
    // 429 without the header.
    check(
        1,
        0,
        failed(Outcome::Answer(429)),
        back_off(MINUTE, true, false),
    );
    // No retry is left.
    check(
        1,
        3,
        with_retry_after(60, busy()),
        back_off(MINUTE, true, true),
    );
    // A failure that is not temporary.
    let gone = failed(Outcome::Answer(404));
    check(
        0,
        0,
        with_retry_after(60, gone),
        back_off(MINUTE, true, true),
    );
    // The header is ignored in a successful response.
    check(0, 0, with_retry_after(60, text(1)), None);
    // Five failures in a row.
    check(4, 0, busy(), None);
    check(5, 0, busy(), back_off(10 * MINUTE, false, false));
    check(
        5,
        0,
        failed(Outcome::Timeout),
        back_off(MINUTE, false, false),
    );
    // No retry is left for this page, so it does not stop the fetches of other pages of the site.
    check(5, 3, busy(), None);
}

#[test]
fn rule_4_a_soft_404_is_gone() {
    let absent = Absent {
        status: 200,
        text_digest: 9,
        ..Absent::default()
    };
    let site = SiteView {
        absent: Some(&absent),
        ..site()
    };
    let home = Pending {
        path: "/".to_owned(),
        ..known_page(0)
    };
    for (name, page, response, soft, state) in [
        ("new page", page(0), text(9), true, PageState::Gone),
        ("known page", known_page(0), text(9), true, PageState::Gone),
        (
            "other text",
            known_page(0),
            text(8),
            false,
            PageState::Changed,
        ),
        ("home page", home, text(9), false, PageState::Changed),
    ] {
        let verdict = decide_now(&site, &response, &page);
        assert_eq!(
            (verdict.soft_404, verdict.state),
            (soft, Some(state)),
            "{name}"
        );
    }
    // A new page has no version, so it is never fetched again. A known page keeps its earlier version.
    let verdict = decide_now(&site, &text(9), &page(0));
    assert_eq!(
        (verdict.next, verdict.kept),
        (NextVisit::Done, KeptVersion::None)
    );
    let verdict = decide_now(&site, &text(9), &known_page(0));
    assert_eq!(verdict.kept, KeptVersion::Earlier);
    assert!(matches!(verdict.next, NextVisit::Revisit { .. }));
}

#[test]
fn rule_5_a_redirect_to_the_page_itself_is_repeated() {
    let other = Canonicaliser::default()
        .canon("http://example.net/page")
        .unwrap();
    for (target, tries, action) in [
        (url("/page"), 0, RedirectAction::Repeat),
        (url("/page"), 2, RedirectAction::Repeat),
        (url("/page"), 3, RedirectAction::GiveUp),
        (url("/other"), 0, RedirectAction::Link),
        (url("/other"), 9, RedirectAction::Link),
        (other, 0, RedirectAction::Link),
    ] {
        let verdict = decide_now(&site(), &redirect(&target), &page(tries));
        assert_eq!(verdict.redirect, Some(action), "{target:?}, try {tries}");
        let repeat = NextVisit::Queued {
            path: Some("/page?as=written".to_owned()),
            tries: tries + 1,
        };
        assert_eq!(verdict.next == repeat, action == RedirectAction::Repeat);
        // Every other redirect is a version of the page, and is revisited.
        let is_revisited = matches!(verdict.next, NextVisit::Revisit { .. });
        assert_eq!(is_revisited, action != RedirectAction::Repeat);
    }
}

#[test]
fn rule_5_comes_before_the_retry_of_rule_2() {
    let response = PageResponse {
        truncated: Some(Truncated::Disconnect),
        ..redirect(&url("/page"))
    };
    let verdict = decide_now(&site(), &response, &page(0));
    assert!(matches!(verdict.next, NextVisit::Queued { tries: 1, .. }));
    assert_eq!((verdict.state, verdict.kept), (None, KeptVersion::None));
}

#[test]
fn rule_6_a_page_with_a_version_is_revisited() {
    let not_modified = PageResponse {
        outcome: Outcome::Answer(304),
        reading: None,
        ..text(1)
    };
    let refused = || failed(Outcome::Answer(403));
    let this = KeptVersion::ThisResponse;
    for (name, page, response, state, kept) in [
        ("new", page(0), text(1), PageState::New, this),
        ("same text", known_page(0), text(1), PageState::Same, this),
        (
            "other text",
            known_page(0),
            text(2),
            PageState::Changed,
            this,
        ),
        ("304", known_page(0), not_modified, PageState::Same, this),
        (
            "404",
            known_page(0),
            failed(Outcome::Answer(404)),
            PageState::Gone,
            KeptVersion::Earlier,
        ),
        (
            "410",
            known_page(0),
            failed(Outcome::Answer(410)),
            PageState::Gone,
            KeptVersion::Earlier,
        ),
        (
            "403",
            known_page(0),
            refused(),
            PageState::Failed,
            KeptVersion::Earlier,
        ),
    ] {
        let verdict = decide_now(&site(), &response, &page);
        assert_eq!((verdict.state, verdict.kept), (Some(state), kept), "{name}");
        assert!(verdict.next.due().is_some_and(|due| due > NOW), "{name}");
        assert!(matches!(verdict.next, NextVisit::Revisit { .. }), "{name}");
        let never = decide(&site(), &response, &page, &policy(Policy::Never));
        assert_eq!(never.next, NextVisit::Done, "{name}");
    }
}

#[test]
fn rule_6_does_not_replace_a_retry_but_keeps_the_version() {
    let verdict = decide_now(&site(), &failed(Outcome::Timeout), &known_page(0));
    let retry = NextVisit::Retry { due: NOW + MINUTE };
    assert_eq!((verdict.next, verdict.kept), (retry, KeptVersion::Earlier));
    assert_eq!(verdict.state, Some(PageState::Failed));
}

#[test]
fn rule_6_a_signal_is_checked_against_the_page() {
    let claimed = |source| {
        let mut page = known_page(0);
        page.past.as_mut().unwrap().claim = source;
        page
    };
    let feed = Source::Feed as u8;
    for (response, source, changed) in [
        (text(1), feed, Some(false)),
        (text(2), feed, Some(true)),
        (failed(Outcome::Answer(404)), feed, Some(true)),
        (failed(Outcome::Answer(403)), feed, None),
        (text(2), 0, None),
    ] {
        let verdict = decide_now(&site(), &response, &claimed(source));
        let expected = changed.map(|changed| SignalCheck { source, changed });
        assert_eq!(verdict.signal, expected, "{}", response.outcome);
    }
    let never = decide(&site(), &text(2), &claimed(feed), &policy(Policy::Never));
    assert_eq!(never.signal, None);
}

#[test]
fn rule_6_only_selective_has_rounds() {
    for revisit in [Policy::Fixed, Policy::Frequency, Policy::Poisson] {
        let verdict = decide(&site(), &text(1), &known_page(0), &policy(revisit));
        assert_eq!(verdict.rounds, None, "{revisit:?}");
    }
    let verdict = decide(
        &site(),
        &text(1),
        &known_page(0),
        &policy(Policy::Selective),
    );
    assert!(
        verdict
            .rounds
            .is_some_and(|rounds| rounds != SiteUpdate::default())
    );
}

#[test]
fn rule_7_a_page_without_a_version_starts_over_or_is_done() {
    for (outcome, tries, starts_over) in [
        (Outcome::Timeout, 3, true),
        (Outcome::Answer(500), 3, true),
        (Outcome::Answer(404), 0, false),
        (Outcome::Answer(403), 0, false),
        (Outcome::NoTarget, 0, false),
    ] {
        let verdict = decide_now(&site(), &failed(outcome), &page(tries));
        match verdict.next {
            // In the next round, but not before the last delay of the retry table is over.
            NextVisit::NextRound { due } => {
                assert!(starts_over && due >= NOW + 12 * HOUR, "{outcome}");
            }
            next => assert_eq!((next, starts_over), (NextVisit::Done, false), "{outcome}"),
        }
        assert_eq!((verdict.tries, verdict.kept), (0, KeptVersion::None));
        let never = decide(
            &site(),
            &failed(outcome),
            &page(tries),
            &policy(Policy::Never),
        );
        assert_eq!(never.next, NextVisit::Done, "{outcome}");
    }
}

#[test]
fn pages_that_are_not_fetched() {
    let decide = |outcome, page: &Pending| {
        decide_unfetched(&site(), outcome, page, &policy(Policy::Frequency))
    };
    for outcome in [Outcome::Blocked, Outcome::OutOfScope] {
        for page in [page(1), known_page(1)] {
            assert_eq!(decide(outcome, &page), Verdict::done(1), "{outcome}");
        }
    }
    // robots.txt may allow the page later.
    let verdict = decide(Outcome::RobotsRefused, &known_page(1));
    assert!(matches!(verdict.next, NextVisit::Revisit { .. }));
    assert_eq!((verdict.tries, verdict.kept), (1, KeptVersion::Earlier));
    assert_eq!((verdict.state, verdict.signal), (None, None));
    let verdict = decide(Outcome::RobotsRefused, &page(1));
    assert!(matches!(verdict.next, NextVisit::NextRound { .. }));
    let never = policy(Policy::Never);
    let verdict = decide_unfetched(&site(), Outcome::RobotsRefused, &page(1), &never);
    assert_eq!(verdict, Verdict::done(1));
    let verdict = decide(Outcome::Protocol, &page(1));
    assert!(matches!(verdict.next, NextVisit::NextRound { .. }));
}

#[test]
fn pages_that_the_cache_no_longer_has() {
    let frequency = policy(Policy::Frequency);
    let verdict = decide_cache_miss(&site(), &page(0), &frequency);
    assert!(matches!(
        verdict.next,
        NextVisit::Queued {
            path: None,
            tries: 0
        }
    ));
    let mut page = known_page(0);
    page.past.as_mut().unwrap().claim = Source::Proxy as u8;
    let verdict = decide_cache_miss(&site(), &page, &frequency);
    assert!(matches!(verdict.next, NextVisit::Revisit { .. }));
    assert_eq!(verdict.signal, None, "the page was not fetched");
    let never = decide_cache_miss(&site(), &page, &policy(Policy::Never));
    assert_eq!(never.next, NextVisit::Done);
}

#[test]
fn selective_passes_over_inner_pages_until_the_next_round() {
    let selective = policy(Policy::Selective);
    // In 31 daily visits, neither the entry page nor an inner page has changed.
    let mut rounds = SiteHistory::default();
    for day in (0..=30).rev() {
        let place = |key| PagePlace {
            key,
            head: (key > 0).then_some(0),
        };
        for key in 0..=20 {
            let at = NOW - day * DAY;
            let schedule = &selective.schedule;
            let update = schedule.observe(&rounds, place(key), PageState::Same, at);
            rounds.apply(update);
        }
    }
    let site = SiteView {
        rounds: &rounds,
        ..site()
    };
    let passed_over = |page: &Pending| decide_pass_over(&site, page, &selective).until;
    let inner: Vec<Pending> = (0..50)
        .map(|number| {
            let mut page = known_page(0);
            page.key = aranha_url::PathKey(number << 40 | 7);
            page
        })
        .collect();
    assert!(
        inner
            .iter()
            .any(|page| passed_over(page).is_some_and(|due| due > NOW))
    );
    for page in inner {
        let mut claimed = page.clone();
        claimed.past.as_mut().unwrap().claim = Source::Feed as u8;
        let entry = Pending {
            site_depth: 0,
            ..page.clone()
        };
        let retried = Pending {
            tries: 1,
            ..page.clone()
        };
        let new = Pending {
            past: None,
            ..page.clone()
        };
        for always in [claimed, entry, retried, new] {
            assert_eq!(passed_over(&always), None);
        }
        let frequency = policy(Policy::Frequency);
        assert_eq!(decide_pass_over(&site, &page, &frequency).until, None);
    }
}

#[test]
fn thresholds_of_a_trap() {
    let thresholds = Thresholds {
        urls: Some(10),
        duplicates: Some(3),
        block: true,
        ..Thresholds::default()
    };
    let counters = |fetched, duplicates| Counters {
        fetched,
        duplicates,
        ..Counters::default()
    };
    for (fetched, expected) in [(9, None), (10, Some(TrapReason::Pages(10)))] {
        assert_eq!(page_threshold(&counters(fetched, 0), &thresholds), expected);
    }
    for (duplicates, expected) in [(2, None), (3, Some(TrapReason::Duplicates(3)))] {
        let counters = counters(0, duplicates);
        assert_eq!(duplicate_threshold(&counters, &thresholds), expected);
    }
    assert_eq!(link_threshold(100, &counters(0, 9), &thresholds), None);
    let links_only = Thresholds {
        block: false,
        ..thresholds
    };
    assert_eq!(page_threshold(&counters(u64::MAX, 0), &links_only), None);
    for (known, duplicates, expected) in [
        (9, 2, None),
        (10, 2, Some(TrapReason::Urls(10))),
        (9, 3, Some(TrapReason::Duplicates(3))),
    ] {
        let counters = counters(0, duplicates);
        assert_eq!(link_threshold(known, &counters, &links_only), expected);
    }
    let none = Thresholds::default();
    assert_eq!(page_threshold(&counters(u64::MAX, 0), &none), None);
    assert_eq!(duplicate_threshold(&counters(0, u64::MAX), &none), None);
    for (reason, words) in [
        (TrapReason::Pages(10), "10 pages fetched from this site"),
        (
            TrapReason::Duplicates(3),
            "3 pages with a text already seen",
        ),
        (
            TrapReason::Endless(Trap::NoNewText),
            &Trap::NoNewText.to_string(),
        ),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}

#[test]
fn a_page_is_classified_for_the_trap_check() {
    let image = || PageResponse {
        reading: None,
        ..text(1)
    };
    let hop = |hop| Pending { hop, ..page(0) };
    let check = |page: Pending, response: PageResponse, links, expected: &str| {
        let observation = match observe(&page, &response, links) {
            TrapObservation::Text(reading) => format!("text {}", reading.text),
            other => format!("{other:?}"),
        };
        assert_eq!(observation, expected);
    };
    check(page(0), text(5), (3, 1), "text 5");
    check(page(0), image(), (0, 0), "EndOfPath");
    check(page(0), image(), (3, 0), "Nothing");
    check(page(0), image(), (3, 2), "Chain { new_pages: 2 }");
    let empty = PageResponse { size: 0, ..image() };
    check(page(0), empty, (0, 0), "Nothing");
    check(page(0), failed(Outcome::Answer(404)), (0, 0), "Nothing");
    let chain = "Chain { new_pages: 1 }";
    check(hop(Hop::Redirect), redirect(&url("/next")), (0, 0), chain);
    check(hop(Hop::Link), redirect(&url("/next")), (0, 0), "Nothing");
}
