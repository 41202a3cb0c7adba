//! As bad as the web: the lab's honest sites among hostile ones of every kind. The honest pages all arrive, politely;
//! no refused address is ever connected to; the crawl ends.

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use aranha_lab::{BLACK_LIST, Hazard, Lab, Plan};
use support::{answered, assert_status, assert_valid, expected, finish, zoo_crawl};

#[tokio::test(flavor = "multi_thread")]
async fn honest_pages_arrive_among_hostile_sites() {
    // Endless crowds of hosts and pages need budgets that do not exist yet; everything else must be survived now.
    let endless = [
        Hazard::Wildcard,
        Hazard::Crowd,
        Hazard::Facets,
        Hazard::Maze,
        Hazard::Tarpit,
    ];
    let hazards = Hazard::ALL
        .iter()
        .filter(|hazard| !endless.contains(hazard));
    let plan = Plan {
        hazards: hazards.copied().collect(),
        ..Plan::zoo(40, 0)
    };
    let lab = Lab::start(plan).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let output = finish(zoo_crawl(&lab, &collection, BLACK_LIST)).await;
    assert_status(&output, 0);
    let found = answered(&lab, &collection);
    let missed: BTreeSet<_> = expected(&lab)
        .into_iter()
        .filter(|(url, status)| found.get(url) != Some(status))
        .collect();
    assert_eq!(missed, BTreeSet::new());
    assert_eq!(lab.trespasses(), []);
    assert_eq!(lab.violations(Duration::from_millis(10)), []);
    assert_valid(&collection);
    let said = [output.stdout, output.stderr].concat();
    assert!(
        said.iter().all(|byte| *byte >= b' ' || *byte == b'\n'),
        "a control byte reached the terminal"
    );
}
