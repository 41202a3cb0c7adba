//! Tests that every storage engine must pass. They check what the documentation of the trait [`Frontier`] promises.
//!
//! The test module of an engine implements [`EngineFactory`] and calls [`suite!`] and [`model::model!`]. Each test gets an empty collection.
//! If the engine is dropped and the collection is opened again, it must have the same content, and all leases must be
//! released.

pub(crate) mod blocking;
pub(crate) mod checkout;
pub(crate) mod claims;
pub(crate) mod explain;
pub(crate) mod inbox;
pub(crate) mod model;
pub(crate) mod orders;
pub(crate) mod problems;
pub(crate) mod rediscover;
pub(crate) mod schedule;
pub(crate) mod seed_settings;
pub(crate) mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aranha_url::{CanonUrl, Canonicaliser, PathKey, SiteKey, UrlRules};

use crate::*;

/// Opens an engine on a collection. Every call opens the same collection.
pub(crate) trait EngineFactory {
    type Engine: Frontier;
    fn open(&self, options: Options) -> Self::Engine;

    /// Open the collection for reading.
    fn view(&self) -> View;
}

/// Small limits, so that windows overflow and link runs are written.
pub(crate) fn small() -> Options {
    Options {
        node: "node".to_owned(),
        window: 4,
        run_links: 3,
        recent_links: 8,
        cache_size: 1 << 20,
        ..Options::default()
    }
}

pub(crate) fn url(text: &str) -> CanonUrl {
    Canonicaliser::new(UrlRules::default())
        .canon(text)
        .expect("a URL")
}

pub(crate) fn seed(text: &str) -> Seed {
    Seed::of(&url(text))
}

pub(crate) fn link(text: &str) -> Outside {
    Outside::of(&url(text), 1, Hop::Link, "https://found.example/")
}

pub(crate) fn page(path: &str) -> Pending {
    Pending {
        path: path.into(),
        key: PathKey::of(path),
        depth: 2,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: "https://found.example/".into(),
        past: None,
    }
}

pub(crate) fn record(page: &Pending, time: i64, outcome: Outcome) -> PageRecord {
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time,
        outcome,
        media_type: "text/html".into(),
        size: 1000,
        digest: Some([7; 20]),
        text_digest: 5,
        language: None,
        location: None,
        revisit: false,
        duration_ms: 12,
        tries: 0,
        hop: page.hop,
        via: page.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// A new [`VisitOrder`] for every page. It does not continue an earlier order.
pub(crate) fn everything() -> VisitOrder {
    VisitOrder {
        source: 6,
        unconditional: false,
        max_age: -1,
    }
}

/// An empty check-in that releases the lease.
pub(crate) fn release(lease: &Lease, due: i64) -> CheckIn {
    CheckIn {
        lease: lease.id,
        done: Vec::new(),
        window: WindowUpdate::default(),
        later: Vec::new(),
        claims: Vec::new(),
        overflow: Vec::new(),
        keys: Vec::new(),
        outside: Vec::new(),
        facts: None,
        then: Then::Release { due },
    }
}

/// A check-in that releases the lease, with all pages of the window fetched.
fn finish(lease: &Lease, time: i64) -> CheckIn {
    CheckIn {
        done: lease
            .pending
            .iter()
            .map(|page| record(page, time, Outcome::Answer(200)))
            .collect(),
        ..release(lease, time)
    }
}

/// Check in one entry whose lease is in force.
fn accept(frontier: &mut impl Frontier, now: i64, entry: CheckIn) -> CheckedIn {
    let mut replies = frontier.check_in(now, vec![entry]).expect("stored");
    replies.pop().expect("one reply").expect("lease in force")
}

/// Check out the only due site.
fn one(frontier: &mut impl Frontier, now: i64) -> Lease {
    let mut leases = frontier.check_out(now, 1).expect("checks out");
    assert_eq!(leases.len(), 1, "exactly one site is due");
    leases.remove(0)
}

fn sites(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.site.as_str()).collect()
}

fn paths(pages: &[Pending]) -> Vec<&str> {
    pages.iter().map(|page| page.path.as_str()).collect()
}

/// Define a `#[test]` function for each test of the suite.
macro_rules! suite {
    ($factory:expr) => {
        suite!($factory =>
            blocking::a_trap_is_blocked_until_it_is_unblocked,
            blocking::a_blocked_site_is_not_leased,
            checkout::a_seed_is_leased_once,
            checkout::seeds_come_first_then_the_longest_wait,
            checkout::a_visited_seed_has_no_precedence,
            checkout::the_longest_wait_comes_first,
            checkout::a_lost_lease_does_not_affect_the_rest_of_the_batch,
            checkout::leases_are_released_when_the_frontier_is_opened,
            claims::a_claim_brings_a_visit_forward,
            claims::a_claim_of_full_weight_makes_the_page_due,
            explain::explain_finds_a_page_wherever_it_waits,
            explain::urls_are_explained_together,
            inbox::links_reach_their_site_once,
            inbox::the_domains_of_links_are_counted,
            inbox::a_site_with_only_known_links_is_not_leased,
            inbox::home_page_policy,
            inbox::deep_link_policy,
            inbox::combined_policy,
            inbox::a_seed_of_a_leased_site_is_admitted_at_the_next_check_out,
            inbox::a_claimed_page_passes_the_home_page_policy,
            inbox::merging_loses_nothing,
            orders::an_order_that_has_not_ended_is_continued,
            orders::an_unconditional_order_forgets_validators,
            orders::revisits_due_soon_are_brought_forward,
            rediscover::records_are_read_site_by_site_newest_first,
            rediscover::pages_found_again_are_queued_once,
            problems::a_failed_visit_makes_its_site_a_problem_site,
            schedule::a_failed_page_is_retried_at_its_time,
            schedule::a_repeated_seed_makes_its_site_and_retries_due,
            schedule::a_page_is_revisited_with_its_past,
            schedule::a_site_with_a_revisit_beyond_the_horizon_waits_from_its_first_link,
            schedule::a_postponed_page_is_made_due_once,
            seed_settings::settings_of_a_seed_are_kept_and_replaced,
            schedule::revisits_beyond_the_horizon_wait_for_the_next_crawl,
            schedule::each_crawl_has_its_own_horizon,
            schedule::a_revisit_due_at_the_horizon_is_done_after_the_courtesy_pause,
            window::the_queue_is_first_in_first_out,
            window::taken_pages_leave_the_window,
            window::an_emptied_window_takes_new_pages,
            window::appended_pages_follow_the_kept_ones,
            window::pages_of_a_reply_are_appended_to_the_window,
            window::replace_overrides_the_stored_window,
            window::a_release_keeps_the_rest_of_the_window,
            window::windows_keep_their_order,
            window::keeping_more_pages_than_the_window_has_is_an_error,
        );
    };
    ($factory:expr => $($file:ident::$case:ident,)*) => {
        $(#[test] fn $case() { $crate::suite::$file::$case(&$factory); })*
    };
}
pub(crate) use suite;
