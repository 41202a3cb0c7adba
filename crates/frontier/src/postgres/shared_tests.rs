//! Tests of what the nodes share beside sites and pages: folders, texts, the horizon, and what operators do with nodes.

use std::path::Path;

use super::outage_tests::connection;
use super::tests::{LONG, Schema};
use super::*;
use crate::Frontier as _;
use crate::shared::SharedCrawl;
use crate::suite::{page, record, release, seed};
use crate::{NodeState, Outcome, View};

fn open_in(schema: &Schema, node: &str, folder: &Path) -> Result<Postgres, FrontierError> {
    let settings = NodeSettings {
        node: node.to_owned(),
        ttl: LONG,
        pause: Duration::from_millis(100),
        is_on_database_time: false,
        folder: Some(folder.to_owned()),
    };
    Postgres::open(schema.address(), Options::default(), settings)
}

fn shared(node: &mut Postgres) -> &mut dyn SharedCrawl {
    node.shared().expect("nodes share this frontier")
}

#[test]
fn a_folder_keeps_its_number_unless_it_was_copied() {
    let schema = Schema::new();
    let folders = tempfile::tempdir().expect("a folder");
    let (one, two) = (folders.path().join("one"), folders.path().join("two"));
    for folder in [&one, &two] {
        std::fs::create_dir(folder).expect("creates");
    }
    let number = |node: &str, folder: &Path| {
        let mut node = open_in(&schema, node, folder).expect("opens");
        shared(&mut node).folder()
    };
    let first = number("a", &one);
    assert_eq!(number("a", &one), first);
    std::fs::copy(one.join("node.toml"), two.join("node.toml")).expect("copies");
    let second = number("b", &two);
    assert_ne!(second, first);
    assert_eq!(number("b", &two), second);
    let view = View::connect(schema.address(), None).expect("opens");
    let folders = view.folders().expect("folders");
    let shown: Vec<_> = folders
        .iter()
        .map(|folder| (folder.number, folder.node.as_str()))
        .collect();
    assert_eq!(shown, [(first, "a"), (second, "b")]);
    assert!(folders[0].place.ends_with("/one"), "{}", folders[0].place);

    let other = Schema::new();
    let error = open_in(&other, "a", &one).expect_err("volumes of another crawl");
    assert!(
        matches!(error, FrontierError::OtherFrontier { .. }),
        "{error}"
    );
}

/// A folder got a new number after the database was restored, and the next new folder got the number that the volumes of the first
/// one have in their names.
#[test]
fn a_folder_that_a_restored_database_does_not_know_keeps_its_number() {
    let schema = Schema::new();
    let folders = tempfile::tempdir().expect("a folder");
    let number = |name: &str| {
        let folder = folders.path().join(name);
        std::fs::create_dir_all(&folder).expect("creates");
        let mut node = open_in(&schema, name, &folder).expect("opens");
        shared(&mut node).folder()
    };
    assert_eq!([number("a"), number("b"), number("c")], [1, 2, 3]);
    // As in a backup that was made when there was one folder.
    let restored = "DELETE FROM folders WHERE folder > 1; SELECT setval('folder_ids', 1)";
    connection(schema.address())
        .batch(restored)
        .expect("changes");
    assert_eq!(
        [number("c"), number("new"), number("b"), number("a")],
        [3, 4, 2, 1]
    );
}

#[test]
fn one_process_uses_a_folder() {
    let schema = Schema::new();
    let folder = tempfile::tempdir().expect("a folder");
    let _node = open_in(&schema, "a", folder.path()).expect("opens");
    let error = open_in(&schema, "b", folder.path()).expect_err("in use");
    assert!(matches!(error, FrontierError::Locked { .. }), "{error}");
}

#[test]
fn a_text_reaches_the_other_nodes() {
    let schema = Schema::new();
    let (mut one, mut two) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    let (one, two) = (shared(&mut one), shared(&mut two));
    assert_eq!(two.text("list").expect("reads"), None);
    assert_eq!(two.news().expect("news").texts, 0);
    let append = |node: &mut dyn SharedCrawl, line: &str| {
        let text = node.change_text("list", &mut |text| Some(format!("{text}{line}\n")));
        text.expect("changes")
    };
    let first = append(one, "a.example");
    assert_eq!(two.news().expect("news").texts, first.version);
    let second = append(two, "b.example");
    assert!(second.version > first.version);
    assert_eq!(second.text, "a.example\nb.example\n");
    assert_eq!(one.text("list").expect("reads"), Some(second.clone()));
    let same = one.change_text("list", &mut |_| None).expect("reads");
    assert_eq!(same, second);
    let view = View::connect(schema.address(), None).expect("opens");
    assert_eq!(view.text("list").expect("reads"), Some(second));
    assert_eq!(view.text("none").expect("reads"), None);
}

#[test]
fn the_horizon_holds_for_all_nodes() {
    let schema = Schema::new();
    let (mut one, mut two) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    one.seed(0, &[seed("https://a.example/")]).expect("seeds");
    assert_eq!(shared(&mut two).news().expect("news").horizon, None);
    let lease = one.check_out(10, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 10);
    entry.done = vec![crate::PageRecord {
        next: Some(500),
        past: Some(Box::default()),
        ..record(&lease.pending[0], 10, Outcome::Answer(200))
    }];
    assert!(one.check_in(20, vec![entry]).expect("stored")[0].is_ok());
    shared(&mut one).set_horizon(100, 100).expect("sets");
    let horizon = shared(&mut two).news().expect("news").horizon;
    assert_eq!(horizon, Some(100));
    shared(&mut two).follow_horizon(100);
    // The revisit is due after the horizon, so both nodes leave it to the next crawl.
    for node in [&mut one, &mut two] {
        assert!(node.check_out(1000, 1).expect("checks out").is_empty());
    }
    let mut third = schema.open_as("c", LONG);
    assert!(third.check_out(1000, 1).expect("checks out").is_empty());
    shared(&mut one).set_horizon(1000, 1000).expect("sets");
    shared(&mut two).follow_horizon(1000);
    assert_eq!(two.check_out(1001, 1).expect("checks out").len(), 1);
}

#[test]
fn seeds_are_read_from_where_a_node_left_off() {
    let schema = Schema::new();
    let (mut one, mut two) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    one.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let two = shared(&mut two);
    let (last, seeds) = two.seeds_after(0).expect("reads");
    assert_eq!(seeds, ["https://a.example/"]);
    assert_eq!(two.news().expect("news").seeds, last);
    one.seed(0, &[seed("https://b.example/")]).expect("seeds");
    let (last, seeds) = two.seeds_after(last).expect("reads");
    assert_eq!(seeds, ["https://b.example/"]);
    assert_eq!(two.news().expect("news").seeds, last);
}

#[test]
fn nodes_are_listed_and_drained() {
    let schema = Schema::new();
    let folder = tempfile::tempdir().expect("a folder");
    let view = || View::connect(schema.address(), None).expect("opens");
    let states = || {
        let nodes = view().nodes().expect("nodes");
        let shown = nodes
            .iter()
            .map(|node| (node.name.clone(), node.state, node.leases));
        shown.collect::<Vec<_>>()
    };
    // A command that only changes something is not listed.
    let mut command = schema.open_as("command", LONG);
    assert_eq!(states(), []);
    let mut node = open_in(&schema, "a", folder.path()).expect("opens");
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    assert_eq!(node.check_out(1, 1).expect("checks out").len(), 1);
    assert_eq!(states(), [("a".to_owned(), NodeState::Alive, 1)]);
    let named = command.nodes_named("a").expect("finds");
    assert_eq!(named.len(), 1);
    assert!(!shared(&mut node).news().expect("news").is_draining);
    assert!(command.drain(named[0].number).expect("drains"));
    assert!(shared(&mut node).news().expect("news").is_draining);
    assert_eq!(states(), [("a".to_owned(), NodeState::Draining, 1)]);
    drop(node);
    assert_eq!(states(), [("a".to_owned(), NodeState::Left, 0)]);
    assert!(!command.drain(named[0].number).expect("answers"));
    let again = open_in(&schema, "a", folder.path()).expect("opens");
    assert_eq!(states(), [("a".to_owned(), NodeState::Alive, 0)]);
    drop(again);
}

#[test]
fn an_operator_gives_back_what_a_node_holds() {
    let schema = Schema::new();
    let folder = tempfile::tempdir().expect("a folder");
    let mut node = open_in(&schema, "a", folder.path()).expect("opens");
    let mut command = schema.open_as("command", LONG);
    node.seed(0, &[seed("https://a.example/"), seed("https://b.example/")])
        .expect("seeds");
    let lost = node.check_out(1, 2).expect("checks out");
    let unlock = |command: &mut Postgres, site: &str, force: bool| {
        command.unlock_site(10, site, force).expect("answers")
    };
    assert_eq!(unlock(&mut command, "c.example", false), Unlocked::Unknown);
    assert_eq!(
        unlock(&mut command, "a.example", false),
        Unlocked::HeldBy("a".to_owned())
    );
    assert_eq!(unlock(&mut command, "a.example", true), Unlocked::Done);
    assert_eq!(unlock(&mut command, "a.example", true), Unlocked::Free);
    let number = command.nodes_named("a").expect("finds")[0].number;
    assert_eq!(command.unlock_node(20, number).expect("unlocks"), Some(1));
    assert_eq!(command.unlock_node(20, number).expect("answers"), None);
    // After the pause another node visits the sites, and what the old node checks in is refused.
    let mut other = schema.open_as("b", LONG);
    assert!(other.check_out(50, 2).expect("checks out").is_empty());
    assert_eq!(other.check_out(120, 2).expect("checks out").len(), 2);
    for lease in lost {
        let replies = node
            .check_in(130, vec![release(&lease, 5)])
            .expect("answers");
        assert!(replies[0].is_err());
    }
}

/// A seed that is given again must not end the courtesy pause of a site that another node has just visited.
#[test]
fn seeds_keep_the_pauses_of_other_nodes() {
    let schema = Schema::new();
    let folder = tempfile::tempdir().expect("a folder");
    let mut node = open_in(&schema, "a", folder.path()).expect("opens");
    let mut crawl = schema.open_as("b", LONG);
    let seeds = [seed("https://a.example/")];
    node.seed(0, &seeds).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 1_000_000);
    entry.window = crate::WindowUpdate::Replace(vec![page("/next")]);
    assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    crawl.make_due(3, &seeds).expect("makes due");
    assert!(crawl.check_out(102, 1).expect("checks out").is_empty());
    assert_eq!(crawl.check_out(103, 1).expect("checks out").len(), 1);
}

#[test]
fn pages_without_a_record_are_adopted_once() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/known")])
        .expect("seeds");
    let origin = "https://a.example";
    let records = [
        record(&page("/known"), 1, Outcome::Answer(200)),
        record(&page("/lost"), 2, Outcome::Answer(200)),
    ];
    let adopt = |node: &mut Postgres| {
        node.adopt(5, "a.example", origin, &records)
            .expect("adopts")
    };
    assert_eq!(adopt(&mut node), 1);
    assert_eq!(adopt(&mut node), 0);
    let status = node.status(6).expect("status");
    assert_eq!(
        (status.pages.known, status.pages.queued, status.records),
        (2, 2, 1)
    );
    let lease = node.check_out(7, 1).expect("checks out").remove(0);
    let paths: Vec<_> = lease
        .pending
        .iter()
        .map(|page| page.path.as_str())
        .collect();
    assert_eq!(paths, ["/known", "/lost"]);
    let more = [record(&page("/more"), 3, Outcome::Answer(200))];
    assert_eq!(
        node.adopt(8, "a.example", origin, &more).expect("adopts"),
        0,
        "a visit is under way"
    );
}
