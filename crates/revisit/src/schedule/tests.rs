//! Properties of every policy, and the behaviour of each over many visits.

use super::*;
use crate::{PagePlace, SiteHistory};
use proptest::prelude::*;

const DAY: i64 = 86_400_000;
const START: i64 = 20_000 * DAY;

/// The entry page of a site.
const ENTRY: PagePlace = PagePlace { key: 0, head: None };

/// A page that the entry page links to.
fn inner(key: u64) -> PagePlace {
    PagePlace { key, head: Some(0) }
}

fn schedule(policy: Policy) -> Schedule {
    Schedule::new(&Options {
        policy,
        ..Options::default()
    })
}

/// Visits a page. The page has changed at each visit whose number `changes` accepts. Returns the days between visits.
fn intervals(schedule: &Schedule, visits: usize, changes: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut history = History::default();
    let mut at = START;
    (0..visits)
        .map(|number| {
            let seen = match number {
                0 => PageState::New,
                _ if changes(number) => PageState::Changed,
                _ => PageState::Same,
            };
            let due = schedule
                .plan(&mut history, &PageVisit::new(at, seen, 42))
                .expect("the page exists");
            let days = (due - at) as f64 / DAY as f64;
            at = due;
            days
        })
        .collect()
}

#[track_caller]
fn check(policy: Policy, changes: impl Fn(usize) -> bool, expected: std::ops::Range<f64>) {
    let intervals = intervals(&schedule(policy), 60, changes);
    let last = intervals[40..].iter().sum::<f64>() / 20.0;
    assert!(expected.contains(&last), "{policy:?}: {last} {intervals:?}");
}

#[test]
fn fixed_visits_once_a_round() {
    check(Policy::Fixed, |_| false, 0.95..1.05);
    check(Policy::Fixed, |_| true, 0.95..1.05);
}

#[test]
fn short_rounds_are_kept() {
    for policy in [Policy::Fixed, Policy::Frequency] {
        let schedule = Schedule::new(&Options {
            policy,
            every: Duration::from_secs(2),
            ..Options::default()
        });
        let seconds = intervals(&schedule, 40, |_| true);
        let all = seconds.iter().sum::<f64>() * 86_400.0;
        assert!((76.0..84.0).contains(&all), "{all}");
        let visit = PageVisit::new(START + 1_999, PageState::New, 42);
        let due = schedule.plan(&mut History::default(), &visit);
        assert!(
            due >= Some(visit.at + 1000),
            "the next visit is at least half a round later"
        );
    }
}

#[test]
fn pages_that_do_not_change_skip_rounds() {
    check(Policy::Frequency, |_| false, 18.5..20.5);
    check(Policy::Frequency, |_| true, 0.95..1.05);
    check(Policy::Frequency, |number| number % 5 == 0, 3.5..5.5);
}

#[test]
fn the_rate_of_change_sets_the_interval() {
    check(Policy::Poisson, |_| false, 80.0..100.0);
    check(Policy::Poisson, |_| true, 0.1..0.6);
    // The default budget is large for a single page, so the interval is the shortest one.
    check(Policy::Optimal, |_| false, 0.03..0.05);
}

#[test]
fn a_page_that_is_gone_is_visited_less_often_then_never() {
    for policy in [Policy::Frequency, Policy::Poisson, Policy::Optimal] {
        let schedule = schedule(policy);
        let mut history = History::default();
        let mut at = START;
        schedule.plan(&mut history, &PageVisit::new(at, PageState::New, 7));
        let mut waits = Vec::new();
        while let Some(due) = schedule.plan(&mut history, &PageVisit::new(at, PageState::Gone, 7)) {
            waits.push((due - at) as f64 / DAY as f64);
            at = due;
        }
        assert_eq!(waits.len(), 4, "{waits:?}");
        assert!(
            waits.windows(2).all(|pair| pair[1] > 1.5 * pair[0]),
            "{waits:?}"
        );
        assert_eq!(schedule.census().pages(), 0);
        // The page exists again.
        assert!(
            schedule
                .plan(&mut history, &PageVisit::new(at, PageState::Changed, 7))
                .is_some()
        );
        assert_eq!(history.gone, 0);
    }
}

#[test]
fn a_failed_visit_does_not_change_the_history() {
    for policy in [Policy::Frequency, Policy::Poisson] {
        let schedule = schedule(policy);
        let mut history = History::default();
        schedule.plan(&mut history, &PageVisit::new(START, PageState::New, 7));
        let before = history.clone();
        let due = schedule.plan(
            &mut history,
            &PageVisit::new(START + DAY, PageState::Failed, 7),
        );
        assert_eq!(history, before);
        assert!(due > Some(START + DAY));
    }
}

#[test]
fn an_expiry_time_defers_the_visit() {
    let schedule = schedule(Policy::Fixed);
    let due = |expires: Option<i64>| {
        let visit = PageVisit {
            expires,
            ..PageVisit::new(START, PageState::New, 7)
        };
        schedule
            .plan(&mut History::default(), &visit)
            .expect("the page exists")
    };
    let plain = due(None);
    assert_eq!(
        due(Some(START)),
        plain,
        "an expiry in the past has no effect"
    );
    assert_eq!(due(Some(plain + 1000)), plain + 1000);
    assert_eq!(due(Some(START + 300 * DAY)), START + 2 * (plain - START));
}

#[test]
fn dates_of_change_are_used() {
    let schedule = schedule(Policy::Poisson);
    let rate = |modified: Option<i64>| {
        let mut history = History::default();
        let visit = PageVisit {
            modified,
            ..PageVisit::new(START, PageState::New, 7)
        };
        schedule.plan(&mut history, &visit);
        schedule.rate(&history)
    };
    assert!(rate(Some(START - 2 * DAY)) > 2.0 * rate(None));
    assert!(rate(Some(START - 2000 * DAY)) < 0.5 * rate(None));
    assert!(
        (rate(Some(START)) - rate(None)).abs() < 1e-9,
        "a Last-Modified equal to the time of the response is ignored"
    );
}

#[test]
fn changed_inner_pages_bring_the_entry_page_forward() {
    let schedule = schedule(Policy::Selective);
    let level = |inner: Option<f32>| {
        let mut history = History::default();
        let mut at = START;
        for number in 0..12 {
            let seen = if number == 0 {
                PageState::New
            } else {
                PageState::Same
            };
            let visit = PageVisit {
                inner,
                ..PageVisit::new(at, seen, 7)
            };
            at = schedule
                .plan(&mut history, &visit)
                .expect("the page exists");
        }
        history.level
    };
    assert!(level(Some(0.89)) <= level(None) / 2);
    assert_eq!(level(Some(0.0)), level(None));
}

#[test]
fn fast_sites_have_quick_rounds() {
    let schedule = Schedule::new(&Options {
        policy: Policy::Selective,
        quick_every: Some(Duration::from_hours(6)),
        ..Options::default()
    });
    let mut site = SiteHistory::default();
    let visit = |site: &mut SiteHistory, page, seen, at| {
        site.apply(schedule.observe(site, page, seen, at));
    };
    visit(&mut site, ENTRY, PageState::New, START);
    assert!(!schedule.quick(&site.inner));
    visit(&mut site, inner(1), PageState::Changed, START);
    visit(&mut site, ENTRY, PageState::Same, START + DAY);
    assert!(schedule.quick(&site.inner));
    let next = schedule.next_round(&site.inner, 7, START + DAY);
    assert_eq!(next.div_euclid(DAY / 4), (START + DAY) / (DAY / 4) + 1);

    let mut history = History::default();
    let visit = PageVisit {
        quick: true,
        ..PageVisit::new(START, PageState::Changed, 7)
    };
    let due = schedule
        .plan(&mut history, &visit)
        .expect("the page exists");
    assert!(due < START + DAY / 2, "{due}");
    let calm = PageVisit {
        seen: PageState::Same,
        ..visit
    };
    let due = schedule.plan(&mut history, &calm).expect("the page exists");
    assert!(due >= START + DAY, "{due}");
}

#[test]
fn only_selective_skips_inner_pages() {
    let selective = schedule(Policy::Selective);
    let mut site = SiteHistory::default();
    let history = History::default();
    let is_visited = |schedule: &Schedule, site: &SiteHistory, key, at| {
        let pace = Pace::default();
        schedule.judge(site, inner(key), &history, pace, at).0
    };
    for round in 0..9 {
        let at = START + round * DAY;
        site.apply(selective.observe(&site, ENTRY, PageState::Same, at));
        for key in 1..51 {
            if is_visited(&selective, &site, key, at) {
                site.apply(selective.observe(&site, inner(key), PageState::Same, at));
            }
        }
    }
    let at = START + 8 * DAY;
    let visited = (1..1001)
        .filter(|key| is_visited(&selective, &site, *key, at))
        .count();
    assert!((80..180).contains(&visited), "{visited}");
    let frequency = schedule(Policy::Frequency);
    assert!((1..1001).all(|key| is_visited(&frequency, &site, key, at)));
    let at = START + 9 * DAY + 5;
    assert_eq!(
        frequency.round(frequency.in_next_round(7, at)),
        frequency.round(at) + 1
    );
}

fn seen() -> impl Strategy<Value = PageState> {
    prop_oneof![
        Just(PageState::New),
        Just(PageState::Same),
        Just(PageState::Changed),
        Just(PageState::Gone),
        Just(PageState::Failed)
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Fixed),
        Just(Policy::Frequency),
        Just(Policy::Selective),
        Just(Policy::Poisson),
        Just(Policy::Optimal)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The next visit is later than this one, and within the shortest and longest interval. A history that was stored
    /// and read back gives the same time.
    #[test]
    fn every_plan_is_within_bounds(policy in policy(), visits in proptest::collection::vec(
        (seen(), -5 * DAY..40 * DAY, proptest::option::of(0..80 * DAY), any::<f32>(), any::<u64>()), 1..40)) {
        let schedule = schedule(policy);
        let again = Schedule::new(&schedule.options);
        let mut history = History::default();
        let mut at = START;
        for (seen, step, other, importance, key) in visits {
            at += step;
            let visit = PageVisit {
                modified: other.map(|ms| at - ms),
                expires: other.map(|ms| at + ms),
                importance,
                inner: Some(importance),
                ..PageVisit::new(at, seen, key)
            };
            let stored = postcard::to_stdvec(&history).expect("encodes");
            let mut restored: History = postcard::from_bytes(&stored).expect("decodes");
            let due = schedule.plan(&mut history, &visit);
            prop_assert_eq!(again.plan(&mut restored, &visit), due);
            prop_assert_eq!(&restored, &history);
            if let Some(due) = due {
                prop_assert!(due >= at + 3_600_000, "{due} {at}");
                prop_assert!(due <= at + 105 * DAY);
            } else {
                prop_assert_eq!(seen, PageState::Gone);
            }
        }
    }
}

/// The days between the visits of a page that never changes. The intervals are those of a seed's settings.
fn paced(policy: Policy, every: Option<u64>, max_every: Option<u64>) -> Vec<i64> {
    let days = |days: u64| Duration::from_hours(24 * days);
    let schedule = Schedule::new(&Options {
        policy,
        spread: 0.0,
        ..Options::default()
    });
    let pace = Pace {
        every: every.map(days),
        max_every: max_every.map(days),
    };
    let (mut history, mut at) = (History::default(), START);
    let waits = (0..8).map(|number| {
        let seen = if number == 0 {
            PageState::New
        } else {
            PageState::Same
        };
        let visit = PageVisit {
            pace,
            ..PageVisit::new(at, seen, 42)
        };
        let due = schedule.plan(&mut history, &visit).expect("exists");
        let wait = (due - at) as f64 / DAY as f64;
        at = due;
        wait.round() as i64
    });
    waits.collect()
}

/// Bouras, Table 1: each seed has its own first frequency. The longest interval limits the adaptation.
#[test]
fn a_seed_has_intervals_of_its_own() {
    assert_eq!(paced(Policy::Frequency, None, None)[..3], [1, 1, 2]);
    assert_eq!(paced(Policy::Frequency, Some(2), None)[..4], [2, 2, 2, 3]);
    assert_eq!(paced(Policy::Frequency, Some(7), Some(3)), [3; 8]);
    assert_eq!(paced(Policy::Selective, None, Some(1)), [1; 8]);
    assert_eq!(paced(Policy::Fixed, Some(7), None), [7; 8]);
    assert_eq!(paced(Policy::Fixed, None, None), [1; 8]);
    // This interval is longer than `max_interval`, which is 90 days.
    assert_eq!(paced(Policy::Fixed, Some(200), None), [90; 8]);
    assert_eq!(paced(Policy::Fixed, Some(200), Some(200)), [200; 8]);
    let most = |policy, max| *paced(policy, None, max).iter().max().expect("visits");
    for policy in [Policy::Poisson, Policy::Optimal] {
        assert!(most(policy, Some(1)) <= 1, "{policy:?}");
    }
    assert!(most(Policy::Poisson, None) > 20);
    let first = |every| paced(Policy::Poisson, every, None)[0];
    assert!(first(Some(1)) < first(None), "the prior");
}
