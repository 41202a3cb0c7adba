//! Checks the cases of `tests/corpus/robots`. The README in that folder describes their format.

use std::time::Duration;

use aranha_robots::Robots;

const FILES: [(&str, &str); 3] = [
    (
        "rfc9309.txt",
        include_str!("../../../tests/corpus/robots/rfc9309.txt"),
    ),
    (
        "google.txt",
        include_str!("../../../tests/corpus/robots/google.txt"),
    ),
    (
        "wild.txt",
        include_str!("../../../tests/corpus/robots/wild.txt"),
    ),
];

#[test]
fn every_case() {
    let mut expectations = 0;
    for (file, text) in FILES {
        for case in text.split("=== ").skip(1) {
            let (title, rest) = case.split_once('\n').expect("a title line");
            let (robots, expected) = rest.split_once("---\n").expect("expectations after ---");
            expectations += check(
                &format!("{file}, {title}"),
                &Robots::parse(robots.as_bytes()),
                expected,
            );
        }
    }
    assert!(expectations > 200, "the corpus is complete: {expectations}");
}

fn check(title: &str, robots: &Robots, expected: &str) -> usize {
    let mut sitemaps = Vec::new();
    let mut remarks = 0;
    for line in expected.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["sitemap", address] => sitemaps.push(address),
            ["remarks", number] => remarks = number.parse().expect("a number"),
            [agent, "delay", seconds] => check_delay(title, robots, agent, seconds),
            [agent, verdict @ ("allow" | "deny"), path, rule] => {
                let rules = robots.agent(agent);
                let decision = rules.judge(path);
                assert_eq!(decision.allowed, verdict == "allow", "{title}: {line}");
                let decided = decision
                    .rule
                    .map_or("-".to_owned(), |rule| rule.line.to_string());
                assert_eq!(decided, rule, "{title}: {line}");
            }
            _ => panic!("{title}: not an expectation: {line}"),
        }
    }
    assert_eq!(robots.sitemaps(), sitemaps, "{title}");
    assert_eq!(
        robots.remarks().len(),
        remarks,
        "{title}: {:?}",
        robots.remarks()
    );
    expected.lines().count()
}

fn check_delay(title: &str, robots: &Robots, agent: &str, seconds: &str) {
    let expected = seconds.parse().ok().map(Duration::from_secs_f64);
    assert_eq!(
        robots.agent(agent).crawl_delay(),
        expected,
        "{title}: delay of {agent}"
    );
}
