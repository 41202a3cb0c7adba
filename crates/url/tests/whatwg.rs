//! The test data of the URL standard, applied to the parser that the canonicaliser uses.
//!
//! `urltestdata.json` is the web-platform-tests file as shipped with the `url` crate. Cases in which that crate differs
//! from the standard are listed in `DEVIATIONS`. The test also fails if a listed deviation no longer occurs. Every http
//! and https case is then passed through the canonicaliser.

use aranha_url::{Base, Canonicaliser, Rejected, UrlRules};
use serde_json::Value;
use url::Url;

/// Input and base of the cases in which the parser differs from the standard. All of them are `file:` URLs, which are
/// rejected by their scheme anyway. The parser drops a host before a drive letter, and drops empty segments at the
/// start of the path.
const DEVIATIONS: &[(&str, &str)] = &[
    ("/", "file://h/C:/a/b"),
    ("file:\\\\//", ""),
    ("file:\\\\\\\\", ""),
    ("file:\\\\\\\\?fox", ""),
    ("file:\\\\\\\\#guppy", ""),
    ("file://spider///", ""),
    ("file:\\\\localhost//", ""),
    ("file://\\/localhost//cat", ""),
    ("file://localhost//a//../..//", ""),
    ("/////mouse", "file:///elephant"),
    ("\\/localhost//pig", "file://lion/"),
    ("//localhost//pig", "file://lion/"),
    ("/..//localhost//pig", "file://lion/"),
    ("C|", "file://host/dir/file"),
    ("C|", "file://host/D:/dir1/dir2/file"),
    ("C|#", "file://host/dir/file"),
    ("C|?", "file://host/dir/file"),
    ("C|/", "file://host/dir/file"),
    ("C|\n/", "file://host/dir/file"),
    ("C|\\", "file://host/dir/file"),
    ("/c:/foo/bar", "file://host/path"),
    ("file://example.net/C:/", ""),
    ("file://1.2.3.4/C:/", ""),
    ("file://[1::8]/C:/", ""),
    ("C|/", "file://host/"),
    ("/C:/", "file://host/"),
    ("file:C:/", "file://host/"),
    ("file:/C:/", "file://host/"),
    ("file://localhost//a//../..//foo", ""),
    ("file://localhost////foo", ""),
    ("file:////foo", ""),
    ("file:////one/two", "file:///"),
    ("////one/two", "file:///"),
    ("file:///.//", "file:////"),
    ("file:.//p", ""),
    ("file:/.//p", ""),
];

struct Case {
    input: String,
    base: Option<String>,
    /// `None` if the standard requires a failure.
    href: Option<String>,
}

fn cases() -> Vec<Case> {
    let data = include_str!("../../../tests/corpus/url/urltestdata.json");
    let data: Vec<Value> = serde_json::from_str(data).expect("the corpus is JSON");
    let text = |case: &Value, name: &str| case.get(name).and_then(Value::as_str).map(str::to_owned);
    data.iter()
        .filter(|entry| entry.is_object())
        .map(|case| Case {
            input: text(case, "input").expect("every case has an input"),
            base: text(case, "base"),
            href: text(case, "href"),
        })
        .collect()
}

impl Case {
    fn parse(&self) -> Option<Url> {
        match &self.base {
            Some(base) => Url::parse(base).ok()?.join(&self.input).ok(),
            None => Url::parse(&self.input).ok(),
        }
    }

    fn is_listed(&self) -> bool {
        let base = self.base.as_deref().unwrap_or_default();
        DEVIATIONS.contains(&(self.input.as_str(), base))
    }
}

#[test]
fn every_case_of_the_standard() {
    let cases = cases();
    assert!(
        cases.len() >= 819,
        "the corpus is complete: {}",
        cases.len()
    );
    let mut wrong = Vec::new();
    let mut listed = 0;
    for case in &cases {
        let parsed = case.parse();
        let agrees = parsed.as_ref().map(Url::as_str) == case.href.as_deref();
        listed += usize::from(case.is_listed());
        if agrees == case.is_listed() {
            wrong.push(format!(
                "{:?} against {:?}: expected {:?}, got {:?}",
                case.input,
                case.base,
                case.href,
                parsed.map(String::from)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(
        listed,
        DEVIATIONS.len(),
        "every listed deviation is a case of the corpus"
    );
}

/// The canonicaliser gives the URL of the standard for http and https, except for the fragment, credentials and the
/// canonicaliser's own rules. It rejects every URL that the standard rejects.
#[test]
fn every_case_through_the_canonicaliser() {
    let canonicaliser = Canonicaliser::new(UrlRules {
        max_length: 0,
        max_repeats: 0,
        max_slashes: 0,
        ..UrlRules::default()
    });
    let mut crawled = 0;
    for case in cases().iter().filter(|case| !case.is_listed()) {
        let joined = match &case.base {
            None => canonicaliser.canon(&case.input),
            Some(base) => match canonicaliser.canon(base) {
                Ok(base) => canonicaliser.join(&Base::of(&base), &case.input),
                Err(_) => continue,
            },
        };
        match &case.href {
            Some(href) if href.starts_with("http://") || href.starts_with("https://") => {
                let expected = canonicaliser.canon(href);
                assert_eq!(joined, expected, "{:?} against {:?}", case.input, case.base);
                crawled += usize::from(expected.is_ok());
            }
            Some(_) => assert!(
                matches!(joined, Err(Rejected::Scheme(_))),
                "{:?}: {joined:?}",
                case.input
            ),
            None => assert!(joined.is_err(), "{:?}: {joined:?}", case.input),
        }
    }
    assert!(
        crawled >= 200,
        "only {crawled} cases give a URL that is crawled"
    );
}
