//! References in comments and documents resolve: requirement rows, papers, RFCs, files and tests.
//!
//! `docs/requirements.md` has a row for every requirement, with the files that implement it and the tests that show it.
//! `docs/references.md` lists the papers and standards. These tests read both documents and the source tree, and fail
//! when a comment cites something that neither document has, or when a row names a file or test that does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A requirement code is one of these letters, followed by a number.
const CODE_LETTERS: &[u8] = b"UFNRTDISMX";

/// The states that a row of `docs/requirements.md` may have.
const STATES: [&str; 3] = ["works", "partly", "missing"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below `folder` whose names end with `suffix`. `folder` is relative to the root.
fn files(folder: &str, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(suffix) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The comment of a line of Rust, if it has one.
fn comment(line: &str) -> Option<&str> {
    let start = line.find("//")?;
    let before = line.get(..start)?;
    // `//` inside a string or URL is not a comment.
    let is_code = before.ends_with(':') || before.matches('"').count() % 2 == 1;
    (!is_code).then(|| &line[start..])
}

/// Every line of text in which references are looked for: comments of Rust files, whole Markdown documents.
fn lines() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for path in files("crates", ".rs") {
        for (number, line) in read(&path).lines().enumerate() {
            if let Some(comment) = comment(line) {
                let place = format!("{}:{}", path.display(), number + 1);
                lines.push((place, comment.to_owned()));
            }
        }
    }
    for path in files("docs", ".md") {
        for (number, line) in read(&path).lines().enumerate() {
            lines.push((
                format!("{}:{}", path.display(), number + 1),
                line.to_owned(),
            ));
        }
    }
    lines
}

/// Words of a line, each with the character before it. Letters and digits make up a word.
fn words(line: &str) -> impl Iterator<Item = (char, &str)> {
    let mut rest = line;
    let mut before = ' ';
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if first.is_alphanumeric() {
                let end = rest
                    .find(|other: char| !other.is_alphanumeric())
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                let found = (before, word);
                before = word.chars().next_back().unwrap_or(' ');
                rest = after;
                return Some(found);
            }
            before = first;
            rest = &rest[first.len_utf8()..];
        }
    })
}

/// Whether a word has the form of a requirement code: `U4`, `F13`.
fn is_code(word: &str) -> bool {
    let bytes = word.as_bytes();
    (2..=3).contains(&bytes.len())
        && CODE_LETTERS.contains(&bytes[0])
        && bytes[1..].iter().all(u8::is_ascii_digit)
        && bytes[1] != b'0'
}

/// One row of `docs/requirements.md`.
struct Row {
    state: String,
    /// Code spans of the column "code".
    code: Vec<String>,
    /// Code spans of the column "tests": `file::test`.
    tests: Vec<String>,
}

/// The text between back-ticks.
fn code_spans(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn rows() -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in read("docs/requirements.md").lines() {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, _, state, code, tests] = cells[..] else {
            continue;
        };
        if is_code(id) {
            let row = Row {
                state: state.to_owned(),
                code: code_spans(code),
                tests: code_spans(tests),
            };
            assert!(
                rows.insert(id.to_owned(), row).is_none(),
                "{id} has two rows"
            );
        }
    }
    rows
}

#[test]
fn every_cited_requirement_has_a_row() {
    let rows = rows();
    assert!(rows.len() > 80, "only {} rows were read", rows.len());
    let mut unknown = Vec::new();
    for (place, line) in lines() {
        for (before, word) in words(&line) {
            // Not requirements: `%D0` is an escape, `U+FFFD` a character, `-F5` an option.
            if is_code(word) && !"%\\+-_".contains(before) && !rows.contains_key(word) {
                unknown.push(format!("{place}: {word}"));
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "these codes are cited, but docs/requirements.md has no row for them:\n{}",
        unknown.join("\n")
    );
}

#[test]
fn every_row_names_files_and_tests_that_exist() {
    let mut wrong = Vec::new();
    for (id, row) in rows() {
        if !STATES.contains(&row.state.as_str()) {
            wrong.push(format!("{id}: unknown state `{}`", row.state));
        }
        if row.state == "works" && (row.code.is_empty() || row.tests.is_empty()) {
            wrong.push(format!("{id}: works, but names no file or no test"));
        }
        for path in &row.code {
            if !root().join(path).exists() {
                wrong.push(format!("{id}: there is no file {path}"));
            }
        }
        for test in &row.tests {
            let Some((path, name)) = test.split_once("::") else {
                wrong.push(format!("{id}: `{test}` is not of the form file::test"));
                continue;
            };
            let text = fs::read_to_string(root().join(path)).unwrap_or_default();
            if !text.contains(&format!("fn {name}(")) {
                wrong.push(format!("{id}: there is no test {name} in {path}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/requirements.md:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn papers_are_cited_by_name() {
    // A capital letter and a section number ("V 5.4") do not say which paper is meant.
    let mut wrong = Vec::new();
    for (place, line) in lines() {
        let all: Vec<_> = words(&line).collect();
        for pair in all.windows(2) {
            let [(before, letter), (space, section)] = pair else {
                continue;
            };
            let is_letter =
                matches!(*letter, "V" | "B" | "C" | "P" | "K") && "( ;".contains(*before);
            let after = format!("{letter} {section}.");
            let is_section = section.len() == 1 && *space == ' ' && line.contains(&after);
            if is_letter && is_section {
                wrong.push(format!("{place}: {letter} {section}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "cite a paper by the short name in docs/references.md:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_cited_rfc_is_listed() {
    let listed: BTreeSet<_> = read("docs/references.md")
        .lines()
        .filter(|line| line.starts_with("| RFC"))
        .flat_map(|line| {
            let numbers: Vec<_> = words(line)
                .map(|(_, word)| word.to_owned())
                .filter(|word| word.parse::<u32>().is_ok())
                .collect();
            numbers
        })
        .collect();
    let mut missing = Vec::new();
    for (place, line) in lines() {
        let all: Vec<_> = words(&line).collect();
        for pair in all.windows(2) {
            if pair[0].1 == "RFC" && pair[1].1.parse::<u32>().is_ok() && !listed.contains(pair[1].1)
            {
                missing.push(format!("{place}: RFC {}", pair[1].1));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "these RFCs are cited, but docs/references.md does not list them:\n{}",
        missing.join("\n")
    );
}
