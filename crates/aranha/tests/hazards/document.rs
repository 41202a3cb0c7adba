//! Generates the table of docs/hazards.md from [`rows`](crate::rows).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::mutations::{Test, mutations};
use crate::root;
use crate::rows::{Row, rows};

/// The table in the document, between two HTML comments, must be the generated one. With `ARANHA_WRITE` it is replaced.
#[test]
fn the_document_is_the_table() {
    let path = root().join("docs/hazards.md");
    let text = std::fs::read_to_string(&path).expect("the document exists");
    let (before, rest) = text.split_once(START).expect("the table has a start");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let now = format!("{before}{START}{}{END}{after}", table());
    if std::env::var_os("ARANHA_WRITE").is_some() {
        std::fs::write(&path, &now).expect("the file is written");
    } else {
        assert!(
            text == now,
            "docs/hazards.md is outdated: run `ARANHA_WRITE=1 cargo test -p aranha --test hazards the_document`"
        );
    }
}

const START: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->\n";

fn table() -> String {
    let mut out = String::from(
        "| hazard | what it does | what must happen | defence | disabled by | tests that then fail |\n\
         |---|---|---|---|---|---|\n",
    );
    for row in rows() {
        let (hazard, line) = (row.hazard.name(), row.hazard.description());
        let (taken_out, test) = proof(row);
        let (must, defence, file) = (row.must, row.defence, row.file);
        let _ = writeln!(
            out,
            "| {hazard} | {line} | {must} | {defence} (`{file}`) | {taken_out} | {test} |"
        );
    }
    out
}

/// The last two columns of a row: what disables the defence, and the tests that then fail.
fn proof(row: Row) -> (String, String) {
    let mut disabled_by: Vec<String> = row.switch.iter().map(|s| switches(s.lines)).collect();
    let mut tests: BTreeSet<String> = row.switch.iter().map(|_| Test::Row.to_string()).collect();
    let changes: Vec<_> = mutations()
        .into_iter()
        .filter(|m| m.hazard == row.hazard)
        .collect();
    if !changes.is_empty() {
        let words: Vec<_> = changes.iter().map(ToString::to_string).collect();
        disabled_by.push(format!("**mutation**: {}", words.join("; ")));
        tests.extend(
            changes
                .iter()
                .flat_map(|m| &m.tests)
                .map(ToString::to_string),
        );
    }
    let tests: Vec<String> = tests.into_iter().collect();
    (disabled_by.join("; "), tests.join(", "))
}

/// Converts configuration lines to the form of the table: `[fetch] range_requests = true` to
/// `fetch.range_requests = true`.
fn switches(lines: &str) -> String {
    let mut section = "";
    let mut out = Vec::new();
    for line in lines.lines() {
        match line.strip_prefix('[') {
            Some(name) => section = name.trim_end_matches(']'),
            None => out.push(format!("`{section}.{line}`")),
        }
    }
    format!("**switch**: {}", out.join(", "))
}
