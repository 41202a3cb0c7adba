//! A small version of `bench/freshness`: its bounds also hold for a thousand pages.

#[path = "../examples/freshness/crawl.rs"]
mod crawl;
#[path = "../examples/freshness/study.rs"]
mod study;
#[path = "../examples/freshness/web.rs"]
mod web;

use aranha_revisit::Policy;
use study::{OF_CLAIRVOYANT, OF_UNIFORM, SAVED, Study};
use web::{Kind, Web};

fn small() -> Web {
    Web::new(1000, 180.0, 5)
}

#[test]
fn optimal_is_far_from_uniform_and_near_the_clairvoyant() {
    let web = small();
    let study = Study::new(&web);
    let optimal = study.optimal();
    let uniform = study.uniform();
    let clairvoyant = study.clairvoyant();
    let of_uniform = optimal.staleness / uniform.staleness;
    let of_clairvoyant = optimal.staleness / clairvoyant.staleness;
    assert!(of_uniform <= OF_UNIFORM, "{of_uniform}");
    assert!(of_clairvoyant <= OF_CLAIRVOYANT, "{of_clairvoyant}");
    let spent = study.setting.spent(&optimal) / study.budget;
    assert!(spent <= 1.02, "{spent}");
    let worst = study.at_budget(Policy::Poisson);
    assert!(optimal.staleness < worst.staleness);
    // A change of markup or links only does not count, so such pages need fewer visits than their share.
    for kind in Kind::ALL {
        let [visits, stale] = optimal.kinds[kind as usize];
        let [alike, _] = uniform.kinds[kind as usize];
        if matches!(kind, Kind::Markup | Kind::Links) {
            assert!(visits < 0.7 * alike && stale < 1e-9, "{visits} {alike}");
        } else {
            assert!(visits > 0.5 * alike, "{kind:?}: {visits} {alike}");
        }
    }
}

#[test]
fn frequency_saves_downloads_at_equal_freshness() {
    let web = Web::new(400, 90.0, 5);
    let saving = Study::new(&web).saving(1.0);
    assert!(saving.saved() >= SAVED, "{}", saving.saved());
    assert!(saving.shorter_round < saving.round);
    assert!(saving.same_round.requests < saving.same_freshness.requests);
}

#[test]
fn selective_finds_what_changes_behind_unchanged_pages() {
    let web = small();
    let (skipping, selective) = Study::new(&web).behind();
    assert!(selective.requests <= skipping.requests);
    assert!(selective.hidden > 0.0 && skipping.hidden < 1.0);
    assert!(selective.found > skipping.found);
    assert!(selective.inner > skipping.inner + 0.05);
}
