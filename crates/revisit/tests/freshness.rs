//! The bounds of `bench/freshness`, checked on a small web.

#[path = "../examples/freshness/crawl.rs"]
mod crawl;
#[path = "../examples/freshness/study.rs"]
mod study;
#[path = "../examples/freshness/web.rs"]
mod web;

use aranha_revisit::{Policy, SelectiveGroups};
use study::{MAX_OF_CLAIRVOYANT, MAX_OF_UNIFORM, MIN_SAVED, Study};
use web::{ChangeKind, ChangingWeb, Similar};

fn small_web() -> ChangingWeb {
    ChangingWeb::new(1000, 180.0, 5, Similar::Sites)
}

#[test]
fn optimal_is_much_better_than_uniform_and_near_the_clairvoyant_optimum() {
    let web = small_web();
    let study = Study::new(&web);
    let optimal = study.optimal();
    let uniform = study.uniform();
    let clairvoyant = study.clairvoyant();
    let of_uniform = optimal.staleness / uniform.staleness;
    let of_clairvoyant = optimal.staleness / clairvoyant.staleness;
    assert!(of_uniform <= MAX_OF_UNIFORM, "{of_uniform}");
    assert!(of_clairvoyant <= MAX_OF_CLAIRVOYANT, "{of_clairvoyant}");
    let spent = study.experiment.requests_per_day(&optimal) / study.budget;
    assert!(spent <= 1.02, "{spent}");
    let poisson = study.at_budget(Policy::Poisson);
    assert!(optimal.staleness < poisson.staleness);
    // A change of markup or links alone does not count as a change. `optimal` therefore visits pages with only such
    // changes less often than uniform visits would.
    for kind in ChangeKind::ALL {
        let [visits, stale] = optimal.kinds[kind as usize];
        let [uniform_visits, _] = uniform.kinds[kind as usize];
        if matches!(kind, ChangeKind::Markup | ChangeKind::Links) {
            assert!(
                visits < 0.7 * uniform_visits && stale < 1e-9,
                "{visits} {uniform_visits}"
            );
        } else {
            assert!(
                visits > 0.5 * uniform_visits,
                "{kind:?}: {visits} {uniform_visits}"
            );
        }
    }
}

#[test]
fn frequency_saves_downloads_at_equal_freshness() {
    let web = ChangingWeb::new(400, 90.0, 5, Similar::Sites);
    let saving = Study::new(&web).saving(1.0);
    assert!(saving.saved() >= MIN_SAVED, "{}", saving.saved());
    assert!(saving.shorter_round < saving.round);
    assert!(saving.same_round.requests < saving.same_freshness.requests);
}

#[test]
fn selective_finds_changes_in_sites_with_an_unchanged_entry_page() {
    let web = small_web();
    let (skipping, selective) = Study::new(&web).selective();
    assert!(selective.requests <= skipping.requests);
    assert!(selective.hidden_changes_found > 0.0 && skipping.hidden_changes_found < 1.0);
    assert!(selective.changes_found > skipping.changes_found);
    assert!(selective.inner_freshness > skipping.inner_freshness + 0.05);
}

/// The reason for the default of `revisit.selective` (docs/decisions/0010-revisit.md).
#[test]
fn judging_every_page_is_not_better_than_judging_entry_pages() {
    for similar in [Similar::Sites, Similar::Sections] {
        let web = ChangingWeb::new(1000, 180.0, 5, similar);
        let study = Study::new(&web);
        let freshness = |policy, selective| study.at_budget_with(policy, selective).freshness;
        let fixed = freshness(Policy::Fixed, SelectiveGroups::EntryPages);
        let [entry_pages, all_pages, descend] = [
            SelectiveGroups::EntryPages,
            SelectiveGroups::AllPages,
            SelectiveGroups::Descend,
        ]
        .map(|selective| freshness(Policy::Selective, selective));
        let all = format!("{similar:?}: {fixed} {entry_pages} {all_pages} {descend}");
        assert!(entry_pages > fixed && all_pages > fixed, "{all}");
        assert!((entry_pages - all_pages).abs() < 0.015, "{all}");
        assert!(descend < entry_pages && descend > fixed - 0.015, "{all}");
    }
}
