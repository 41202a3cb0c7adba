//! Checks the test suite of `texting_robots`, stored as data: its own cases, cases from reppy, rep-cpp and Google, and
//! files of real sites (`tests/corpus/robots/published.json` and `real/`).
//!
//! If this crate decides differently from the suite on purpose, the case gives the reason under `differs`. The test
//! also fails if a listed difference no longer exists.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use aranha_robots::{Robots, RobotsRules};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    agent: String,
    /// Exactly one of `text`, `latin1` and `file` is present: the content as text, the content as bytes written as
    /// Latin-1, or the name of a file in `real/`.
    text: Option<String>,
    latin1: Option<String>,
    file: Option<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    delay: Option<Delay>,
    sitemaps: Option<Vec<String>>,
    /// Reasons for differences from the suite. The key is the path, `delay` or `sitemaps`.
    #[serde(default)]
    differs: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NoDelay {
    None,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Delay {
    Seconds(f64),
    Absent(NoDelay),
}

impl Delay {
    /// The expected delay, limited to one day as in this crate.
    fn within_a_day(&self) -> Option<Duration> {
        match self {
            Delay::Seconds(seconds) => Some(Duration::from_secs_f64(seconds.min(86_400.0))),
            Delay::Absent(NoDelay::None) => None,
        }
    }
}

impl Case {
    fn bytes(&self, folder: &Path) -> Vec<u8> {
        match (&self.text, &self.latin1, &self.file) {
            (Some(text), None, None) => text.clone().into_bytes(),
            (None, Some(text), None) => text
                .chars()
                .map(|letter| u8::try_from(letter).expect("a byte"))
                .collect(),
            (None, None, Some(name)) => {
                std::fs::read(folder.join("real").join(name)).expect("the file is there")
            }
            _ => panic!("{}: a case has exactly one file", self.name),
        }
    }

    /// Returns the key of each expectation, as in `differs`, and whether the expectation was met.
    fn outcomes(&self, robots: &Robots, rules: &RobotsRules) -> Vec<(String, bool)> {
        let allowed = |path: &String| rules.judge(path).allowed;
        let mut outcomes: Vec<_> = self
            .allow
            .iter()
            .map(|path| (path.clone(), allowed(path)))
            .chain(self.deny.iter().map(|path| (path.clone(), !allowed(path))))
            .collect();
        if let Some(delay) = &self.delay {
            let ours = rules.crawl_delay();
            outcomes.push(("delay".to_owned(), ours == delay.within_a_day()));
        }
        if let Some(sitemaps) = &self.sitemaps {
            outcomes.push(("sitemaps".to_owned(), robots.sitemaps() == sitemaps));
        }
        outcomes
    }
}

#[test]
fn every_published_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/robots");
    let text =
        std::fs::read_to_string(folder.join("published.json")).expect("published.json can be read");
    let cases: Vec<Case> =
        serde_json::from_str(&text).expect("published.json has the format of `Case`");
    let mut faults = Vec::new();
    let mut expectations = 0;
    for case in &cases {
        let robots = Robots::parse(&case.bytes(&folder));
        let rules = robots.agent(&case.agent);
        let outcomes = case.outcomes(&robots, &rules);
        expectations += outcomes.len();
        for (name, agrees) in outcomes {
            if agrees == case.differs.contains_key(&name) {
                faults.push(format!("{}, {}: {name}", case.name, case.agent));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(
        (cases.len(), expectations),
        (140, 394),
        "the corpus is complete"
    );
}
