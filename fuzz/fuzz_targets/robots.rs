//! robots.txt. A group for another crawler before the file changes no decision, and neither do the letter case of the
//! product token or the kind of line ends.
#![no_main]

use aranha_robots::{Directives, Robots};
use libfuzzer_sys::fuzz_target;

const PATHS: [&str; 7] = [
    "/",
    "/a",
    "/a/b.html?c=d",
    "/robots.txt",
    "/%7Eu/",
    "/x*y$",
    "/caf%C3%A9",
];

fuzz_target!(|data: &[u8]| {
    let robots = Robots::parse(data);
    let rules = robots.agent("aranha");
    let upper = robots.agent("ARANHA/1.0 (+http://example.org)");
    // A byte-order mark is read only at the start of a file, and the size of a file is limited.
    let has_mark =
        data.starts_with(b"\xEF") || data.starts_with(b"\xFF") || data.starts_with(b"\xFE");
    let prefixed = (!has_mark && data.len() < 400_000 && !data.contains(&0)).then(|| {
        let group = b"User-agent: unrelated-bot\nDisallow: /\nCrawl-delay: 9\n\nUser-agent: another-bot\nAllow: /\n\n";
        Robots::parse(&[group, data].concat()).agent("aranha")
    });
    let other_ends =
        (!data.contains(&b'\r') && !has_mark && data.len() < 200_000 && !data.contains(&0)).then(
            || {
                let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
                Robots::parse(&lines.join(&b"\r\n"[..])).agent("aranha")
            },
        );
    for path in PATHS {
        let allowed = rules.judge(path).allowed;
        assert_eq!(upper.judge(path).allowed, allowed);
        if let Some(prefixed) = &prefixed {
            assert_eq!(prefixed.judge(path).allowed, allowed, "{path}");
        }
        if let Some(other_ends) = &other_ends {
            assert_eq!(other_ends.judge(path).allowed, allowed, "{path}");
            assert_eq!(other_ends.crawl_delay(), rules.crawl_delay());
        }
    }
    assert!(robots.remarks().len() <= 101);
    let text = String::from_utf8_lossy(data);
    assert_eq!(
        Directives::meta("robots", &text, "aranha"),
        Directives::meta("ROBOTS", &text, "Aranha")
    );
    assert_eq!(
        Directives::header(&text, "aranha"),
        Directives::header(&text, "ARANHA")
    );
});
