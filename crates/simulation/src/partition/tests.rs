//! Tests of the model.

use super::*;

fn cost(partition: Partition, assignment: Assignment) -> PartitionCost {
    let mut plan = WebPlan::new(5, 1500);
    plan.max_pages = 50;
    crawl_by(
        &plan,
        Strategy {
            partition,
            assignment,
            nodes: 4,
            workers: 10,
            pause_ms: 2000,
        },
    )
}

#[test]
fn every_strategy_fetches_every_page() {
    let mut plan = WebPlan::new(5, 1500);
    plan.max_pages = 50;
    let sites = (0..1500).map(|number| SimulatedSite::of(&plan, number));
    let pages: u64 = sites.map(|site| u64::from(site.pages)).sum();
    for partition in [
        Partition::Page,
        Partition::Site,
        Partition::GatedSite,
        Partition::Address,
    ] {
        for assignment in [
            Assignment::Pull,
            Assignment::Push,
            Assignment::Hash,
            Assignment::Ring,
        ] {
            let cost = cost(partition, assignment);
            assert_eq!(cost.pages, pages, "{partition:?} {assignment:?}");
        }
    }
}

/// The order of Table 1 of Viuva Negra.
#[test]
fn partitions_by_address_ask_and_connect_least_and_those_by_page_most() {
    let of = |partition| cost(partition, Assignment::Pull);
    let (page, site, address) = (
        of(Partition::Page),
        of(Partition::Site),
        of(Partition::Address),
    );
    assert!(
        page.dns > site.dns && site.dns == 1500,
        "{} {}",
        page.dns,
        site.dns
    );
    assert!(page.robots > site.robots && site.robots == 1500);
    assert!(page.connections > site.connections && site.connections > address.connections);
    assert!(page.too_close > site.too_close && site.too_close > 0);
    assert_eq!(address.too_close, 0);
    let gated = of(Partition::GatedSite);
    assert_eq!(gated.too_close, 0, "closest {}", gated.closest_ms);
    assert!(gated.closest_ms >= 2000, "{}", gated.closest_ms);
}

#[test]
fn consistent_hashing_moves_the_share_of_the_dead_node_and_a_modulus_most() {
    let of = |assignment| cost(Partition::Site, assignment).reassigned;
    let (pull, ring, hash) = (
        of(Assignment::Pull),
        of(Assignment::Ring),
        of(Assignment::Hash),
    );
    assert!(pull < 0.1, "{pull}");
    assert!((0.15..0.35).contains(&ring), "{ring}");
    assert!(hash > 0.6, "{hash}");
}
