//! Hostile files, patterns, paths and headers: parsing ends, returns a result, and takes time linear in the length.

use aranha_robots::{Directives, Robots};
use proptest::prelude::*;

#[path = "../../../tests/linear_time.rs"]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
mod linear_time;

use linear_time::assert_linear;

/// Maximum number of bytes of a file that are parsed.
const LIMIT: usize = 500 * 1024;

fn repeat(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len() + 1)
}

/// Checks that parsing takes linear time. The time to parse a file of at most `LIMIT` bytes is too short to be
/// compared, so the file is parsed 16 times.
fn check_file(name: &str, make: impl Fn(usize) -> String) {
    assert_linear(
        name,
        |size| make(size.min(LIMIT)),
        |file| {
            for _ in 0..16 {
                let _ = Robots::parse(file.as_bytes())
                    .agent("aranha")
                    .judge("/a/b?c");
            }
        },
    );
}

#[test]
fn files() {
    check_file("one line", |size| {
        format!("Disallow: /{}", repeat("a", size))
    });
    check_file("stars", |size| {
        format!("User-agent: *\nDisallow: /{}b$", repeat("*a", size))
    });
    check_file("agents", |size| repeat("User-agent: aranha\n", size));
    check_file("agents and delays", |size| {
        repeat("User-agent: aranha\nCrawl-delay: 1\n", size)
    });
    check_file("delays", |size| {
        format!(
            "{}{}",
            repeat("User-agent: a\n", size / 2),
            repeat("Crawl-delay: 1\n", size / 2)
        )
    });
    check_file("groups", |size| {
        repeat("User-agent: aranha\nDisallow: /x\n", size)
    });
    check_file("rules", |size| {
        format!("User-agent: *\n{}", repeat("Disallow: /*a*b*c$\n", size))
    });
    check_file("percent", |size| {
        format!("User-agent: *\nDisallow: /?{}", repeat("%3A%", size))
    });
    check_file("colons", |size| repeat(":", size));
    check_file("spaces", |size| repeat("User agent ", size));
    check_file("nulls", |size| repeat("\0", size));
    check_file("line ends", |size| repeat("\r", size));
    check_file("comments", |size| repeat("#", size));
    check_file("sitemaps", |size| repeat("Sitemap: x\n", size));
}

/// The time is linear in the length of the path for each pattern, and in the total length of the patterns for one path.
#[test]
fn patterns_and_paths() {
    let patterns = [
        format!("/{}b$", "*a".repeat(500)),
        format!("/{}", "*aa".repeat(500)),
        format!("/*{}b", "a".repeat(500)),
        format!("/*{}*{}$", "ab".repeat(100), "ba".repeat(100)),
        format!("/{}", "*".repeat(2000)),
        "/*?*%3A*%2F*".to_owned(),
    ];
    for pattern in &patterns {
        let file = format!("User-agent: *\nDisallow: {pattern}\n");
        let rules = Robots::parse(file.as_bytes()).agent("aranha");
        for piece in ["a", "ab", "?%3A%2F", "é"] {
            assert_linear(
                &format!("{pattern:.12}… against {piece}"),
                |size| format!("/{}", repeat(piece, size)),
                |path| {
                    let _ = rules.judge(path);
                },
            );
        }
    }
    let path = format!("/{}", "ab".repeat(1000));
    for piece in ["*a", "*ab", "*aba", "*b*ab", "**", "$", "%61*"] {
        assert_linear(
            &format!("patterns of {piece}"),
            |size| {
                let rule = format!("Disallow: /{}$\n", repeat(piece, 300));
                let file = format!("User-agent: *\n{}", repeat(&rule, size.min(LIMIT)));
                Robots::parse(file.as_bytes()).agent("aranha")
            },
            |rules| {
                for _ in 0..4 {
                    let _ = rules.judge(&path);
                }
            },
        );
    }
}

#[test]
fn directives() {
    for piece in [
        "none,",
        "aranha: ",
        "a:b:c,",
        "unavailable_after: 1,",
        ":",
        " ",
        ",",
        "noindex ",
    ] {
        assert_linear(
            &format!("header of {piece}"),
            |size| repeat(piece, size),
            |value| {
                let _ = Directives::header(value, "aranha");
                let _ = Directives::meta("robots", value, "aranha");
            },
        );
    }
}

/// Bytes beyond the limit are not read, whether the file has many lines or one very long line.
#[test]
fn beyond_the_limit() {
    let head = "User-agent: *\nDisallow: /x\n";
    let file = format!("{head}{}", "Disallow: /y\n".repeat(4 << 20 >> 3));
    let rules = Robots::parse(file.as_bytes()).agent("aranha");
    assert!(!rules.judge("/x").allowed);
    assert!(rules.len() < LIMIT / 12);
    let line = format!("{head}Disallow: /{}", "a".repeat(4 << 20));
    let robots = Robots::parse(line.as_bytes());
    assert_eq!(
        robots.agent("aranha").len(),
        1,
        "a line beyond the limit is not a rule"
    );
    assert_eq!(robots.remarks().len(), 1);
    let path = format!("/{}", "a".repeat(1 << 20));
    assert!(robots.agent("aranha").judge(&path).allowed);
}

/// A real file with some bytes changed, removed or repeated.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let file = proptest::sample::select(vec![
        include_bytes!("../../../tests/corpus/robots/real/twitter.robots.txt").to_vec(),
        include_bytes!("../../../tests/corpus/robots/real/aviation-safety.net.robots.txt").to_vec(),
        include_bytes!("../../../tests/corpus/robots/real/reddit.robots.txt").to_vec(),
    ]);
    let change = (any::<proptest::sample::Index>(), any::<u8>(), 0..4u8);
    (file, proptest::collection::vec(change, 0..20)).prop_map(|(mut file, changes)| {
        for (place, byte, kind) in changes {
            let at = place.index(file.len());
            match kind {
                0 => file[at] = byte,
                1 => file.insert(at, byte),
                2 if file.len() > 1 => drop(file.remove(at)),
                _ => file.extend_from_within(at..(at + 30).min(file.len())),
            }
        }
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn damaged_real_files(file in mutated(), path in "/\\PC{0,40}") {
        let robots = Robots::parse(&file);
        let decision = robots.agent("aranha").judge(&path).allowed;
        prop_assert_eq!(robots.agent("aranha").judge(&path).allowed, decision);
        prop_assert!(robots.remarks().len() <= 100);
    }

    #[test]
    fn any_directive(value in "\\PC{0,200}", near in proptest::collection::vec(
        proptest::sample::select(vec!["none", ":", ",", ";", " ", "aranha", "max-snippet", "*", "noindex", "é"]), 0..30)) {
        let _ = Directives::header(&value, "aranha");
        let _ = Directives::meta(&value, &value, "aranha");
        let near = near.concat();
        let ours = Directives::header(&near, "aranha");
        let again = Directives::header(&format!("{near},,"), "aranha");
        prop_assert_eq!(ours, again);
    }
}
