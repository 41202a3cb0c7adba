//! The defences against every hazard of the lab, and proof that the tests depend on them (`docs/hazards.md`).
//!
//! For each row ([`rows`]) the binary crawls one kind of hostile site and three honest sites. The row checks the
//! requests that the lab received, and the collection. Then the defence is disabled, and the same check must fail. Some
//! defences are disabled by configuration. The others are disabled by a change of the code ([`mutations`]), which is
//! made in a [`copy`] of the source tree; the tests that the mutation names must fail there.
//!
//! ```text
//! ARANHA_WRITE=1 cargo test -p aranha --test hazards the_document    writes the table of docs/hazards.md
//! ARANHA_HAZARD=calendar,maze cargo test -p aranha --test hazards    only these rows
//! ARANHA_MUTATE=1 cargo test -p aranha --test hazards -- --nocapture mutations   also makes the mutations (half an hour)
//! ```

mod copy;
mod crawl_result;
mod document;
mod mutations;
mod rows;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use aranha_lab::{Group, Hazard};
use tokio::task::JoinSet;

use copy::Copy;
use crawl_result::{CrawlResult, run};
use mutations::{Edit, Test, mutations};
use rows::{Row, rows};
use support::{assert_status, tool, volumes};

/// Crawls with the defence and without it. Returns what is wrong, and the result of the crawl with the defence.
async fn check_row(row: Row) -> (Vec<String>, CrawlResult) {
    let name = row.hazard.name();
    let mut faults = Vec::new();
    let defended = run(row.hazard, &[row.with], &["--time", "60s"]).await;
    let checks = [defended.common(), defended.polite(), (row.holds)(&defended)];
    for check in checks {
        if let Err(fault) = check {
            faults.push(format!("{name}: {fault}"));
        }
    }
    if let Some(switch) = row.switch {
        let open = run(row.hazard, &[row.with, switch.lines], switch.flags).await;
        if (row.holds)(&open).is_ok() {
            faults.push(format!(
                "{name}: the check does not fail without the defence ({} requests, {:?}, exit {:?}: {})",
                open.requests.len(),
                open.duration,
                open.output.status.code(),
                String::from_utf8_lossy(&open.output.stderr),
            ));
        }
    }
    println!("{name}: {:?}", defended.duration);
    (faults, defended)
}

/// Whether `ARANHA_HAZARD` names the hazard, or is not set.
fn is_chosen(hazard: Hazard) -> bool {
    std::env::var("ARANHA_HAZARD").map_or(true, |names| {
        names.split(',').any(|name| name == hazard.name())
    })
}

/// Checks all rows of a group concurrently.
async fn check_group(group: Group) {
    let mut runs = JoinSet::new();
    let in_group = |row: &Row| row.hazard.group() == group && is_chosen(row.hazard);
    for row in rows().into_iter().filter(in_group) {
        runs.spawn(check_row(row));
    }
    let mut faults = Vec::new();
    let mut ended = Vec::new();
    while let Some(checked) = runs.join_next().await {
        let (wrong, result) = checked.expect("the check does not panic");
        faults.extend(wrong);
        ended.push(result);
    }
    assert!(faults.is_empty(), "{faults:#?}");
    tokio::task::spawn_blocking(move || assert_archives(&ended))
        .await
        .expect("every archive is valid");
}

/// Lets warcio verify the archives of all crawls. One process verifies all, because warcio takes longer to start than
/// to read.
fn assert_archives(ended: &[CrawlResult]) {
    if ended.is_empty() {
        return;
    }
    let files = ended.iter().flat_map(|result| volumes(&result.collection));
    let output = Command::new(tool("warcio"))
        .arg("check")
        .args(files)
        .output()
        .expect("warcio runs");
    assert_status(&output, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn traps() {
    check_group(Group::Trap).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers() {
    check_group(Group::Server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contents() {
    check_group(Group::Content).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attacks() {
    check_group(Group::Attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names() {
    check_group(Group::Name).await;
}

#[test]
fn every_hazard_has_a_row() {
    let rows = rows().into_iter().map(|row| row.hazard);
    assert_eq!(rows.collect::<Vec<_>>(), Hazard::ALL);
}

#[test]
fn every_row_has_a_switch_or_a_mutation() {
    for row in rows() {
        let name = row.hazard.name();
        assert!(root().join(row.file).exists(), "{name}: {}", row.file);
        let changed = mutations().iter().any(|m| m.hazard == row.hazard);
        assert!(
            row.switch.is_some() || changed,
            "{name}: neither a switch nor a mutation"
        );
    }
}

/// Checks that the mutations can still be made. The code that they replace and the tests that they name must exist.
/// With `ARANHA_MUTATE` the mutations are made, and these tests must fail.
#[test]
fn mutations_can_still_be_made() {
    for mutation in mutations() {
        let name = mutation.hazard.name();
        for Edit(file, from, _) in &mutation.edits {
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let times = text.matches(from).count();
            assert_eq!(times, 1, "{name}: in {file}: {from}");
        }
        for test in &mutation.tests {
            if let Test::Named(file, test) = test {
                let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
                let found = text.contains(&format!("fn {test}("));
                assert!(found, "{name}: no test {test} in {file}");
            }
        }
    }
    if std::env::var_os("ARANHA_MUTATE").is_some() {
        make_mutations();
    }
}

/// Makes every mutation and requires that the tests it names fail.
fn make_mutations() {
    let copy = Copy::of(&root());
    let mut passed = Vec::new();
    for mutation in mutations().iter().filter(|m| is_chosen(m.hazard)) {
        passed.extend(copy.try_out(mutation));
    }
    assert!(passed.is_empty(), "{passed:#?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
