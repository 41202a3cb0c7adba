//! Compares this crate with two published parsers (oracles). Each oracle gets only files that it is known to parse
//! correctly.
//!
//! The generated files contain no version or other word after an agent name, no `Crawl-delay` between agents, and no
//! rule without a slash, because both oracles fail on these. Files for `texting_robots` also contain no
//! percent-encoding and no empty `Disallow`, because `texting_robots` reads an empty `Disallow` beside other rules as
//! `Allow: /`.

use aranha_robots::Robots;
use proptest::prelude::*;

const AGENTS: [&str; 4] = ["aranha", "FooBot", "foo-bot", "*"];

fn path(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(pieces), 0..most)
        .prop_map(|pieces| format!("/{}", pieces.concat()))
}

/// Patterns and paths are built from few letters, so that they match often. `ENCODED` has no `?`, because in a query
/// the RFC requires matches that `robotxt` does not find (tested in `corpus.rs`).
const PLAIN: &[&str] = &["a", "b", "/", "ab", ".php", "?", "=", "*", "*a"];
const ENCODED: &[&str] = &[
    "a", "b", "/", "%61", "%7E", "~", "%2F", "%2f", "é", "%C3%A9", "%c3%a9", "*", "%zz",
];

fn file(pieces: &'static [&'static str], empty: &'static str) -> impl Strategy<Value = String> {
    let rule =
        (any::<bool>(), path(pieces, 6), any::<bool>()).prop_map(|(allow, path, anchored)| {
            let name = if allow { "Allow" } else { "Disallow" };
            format!("{name}: {path}{}\n", if anchored { "$" } else { "" })
        });
    let rules =
        proptest::collection::vec(prop_oneof![8 => rule, 1 => Just(empty.to_owned())], 1..5);
    let agents = proptest::collection::vec(proptest::sample::select(AGENTS.to_vec()), 1..3);
    let group = (agents, rules).prop_map(|(agents, rules)| {
        let agents: Vec<String> = agents
            .iter()
            .map(|agent| format!("User-agent: {agent}\n"))
            .collect();
        format!("{}{}\n", agents.concat(), rules.concat())
    });
    proptest::collection::vec(group, 1..4).prop_map(|groups| groups.concat())
}

fn ours(file: &str, agent: &str, path: &str) -> bool {
    Robots::parse(file.as_bytes())
        .agent(agent)
        .judge(path)
        .allowed
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn agrees_with_robotxt(file in file(ENCODED, "Disallow:\n"), agent in 0..3usize, path in path(ENCODED, 8)) {
        let path = path.replace('*', "x");
        let theirs = robotxt::Robots::parse(file.as_bytes(), AGENTS[agent]).is_allowed(&path);
        prop_assert_eq!(ours(&file, AGENTS[agent], &path), theirs, "{}\n{}", file, path);
    }

    #[test]
    fn both_agree_without_encoding(file in file(PLAIN, "\n"), agent in 0..3usize, path in path(PLAIN, 8)) {
        let path = path.replace('*', "x");
        let robot = texting_robots::Robot::new(AGENTS[agent], file.as_bytes()).expect("it parses every file");
        let ours = ours(&file, AGENTS[agent], &path);
        prop_assert_eq!(ours, robot.allowed(&path), "{}\n{}", file, path);
        let other = robotxt::Robots::parse(file.as_bytes(), AGENTS[agent]);
        prop_assert_eq!(ours, other.is_allowed(&path), "{}\n{}", file, path);
    }

    /// Parsing any bytes and judging any path does not panic.
    #[test]
    fn never_fails(bytes in proptest::collection::vec(any::<u8>(), 0..400), path in "/\\PC{0,40}") {
        let robots = Robots::parse(&bytes);
        let _ = robots.agent("aranha").judge(&path);
    }

    /// Known field names in random order reach every branch of the parser.
    #[test]
    fn never_fails_on_near_files(lines in proptest::collection::vec(
        proptest::sample::select(vec!["User-agent: *", "Disallow", "Disallow: ", "/a*$", "%", "Crawl-delay: ", "1e9", "\r", "\n", "#", ":", "\u{feff}", "Sitemap:"]), 0..40)) {
        let file = lines.concat();
        let robots = Robots::parse(file.as_bytes());
        let _ = robots.agent("aranha").judge("/a%");
        prop_assert!(robots.remarks().len() <= 100);
    }
}
