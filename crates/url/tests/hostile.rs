//! Hostile text: URL parsing ends, keeps its invariants, and takes time linear in the length.

use aranha_url::{Base, Blacklist, CanonUrl, Canonicaliser, Filter, UrlRules, surt};
use proptest::prelude::*;

#[path = "../../../tests/linear_time.rs"]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
mod linear_time;

use linear_time::assert_linear;

/// Applies all rules except the limits on length and slashes, which would reject the long inputs.
fn unlimited(max_repeats: usize) -> Canonicaliser {
    Canonicaliser::new(UrlRules {
        max_length: 0,
        max_repeats,
        max_slashes: 0,
        drop_index: true,
        ..UrlRules::default()
    })
}

fn repeat(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len() + 1)
}

/// Pieces that follow the host.
const PATHS: [&str; 16] = [
    "/..",
    "/a/..",
    "/%2e%2E",
    "/a",
    "/a;jsessionid=1",
    ";sid=0123456789abcdef",
    "/(S(lit3py55t21z5v55vlm25s55))",
    "/(lit3py55t21z5v55vlm25s55)",
    "/(s(lit3py55t21z5v55vlm25s55))/x.aspx",
    "%",
    "%41",
    "%%34%31",
    "\\",
    "é",
    " ",
    ".aspx",
];

const QUERIES: [&str; 9] = [
    "&",
    "a=b&",
    "PHPSESSID=0123456789abcdef0123456789abcdef&",
    "sid=0123456789abcdef0123456789abcdef&",
    "cfid=",
    "cfid=1&cftoken=",
    "aspsessionid",
    "C=N;O=D&",
    "%26%3d",
];

#[test]
fn paths_and_queries() {
    let strict = unlimited(2);
    let tolerant = unlimited(0);
    let base = Base::of(&tolerant.canon("http://example.org/a/b/c?d").expect("a URL"));
    let check = |name: &str, head: &str, piece: &str| {
        assert_linear(
            &format!("{name} of {piece:?}"),
            |size| format!("{head}{}", repeat(piece, size)),
            |text| {
                let _ = strict.canon(text);
                let _ = tolerant.canon(text);
                let _ = tolerant.join(&base, &text["http://example.org".len()..]);
                let _ = surt(text);
            },
        );
    };
    for piece in PATHS {
        check("path", "http://example.org/", piece);
    }
    for piece in QUERIES {
        check("query", "http://example.org/?", piece);
    }
    check("nested escapes", "http://example.org/%", "25");
    check("nested escapes in a query", "http://example.org/?%", "25");
}

#[test]
fn the_rest_of_a_url() {
    let canonicaliser = unlimited(0);
    for (name, head, piece, tail) in [
        ("labels", "http://", "a.", "example.org/"),
        ("label", "http://", "a", ".example.org/"),
        ("foreign labels", "http://", "bücher.", "example.org/"),
        ("foreign label", "http://", "ü", ".example.org/"),
        ("joined letters", "http://", "\u{200d}क", ".example.org/"),
        ("right to left", "http://", "א.", "a/"),
        ("punycode", "http://", "xn--bcher-kva.", "example.org/"),
        ("long punycode", "http://xn--", "a0", ".example.org/"),
        ("escaped labels", "http://", "%61.", "example.org/"),
        ("dots", "http://", ".", "example.org/"),
        ("digits", "http://", "1", "/"),
        ("dotted digits", "http://", "1.", "/"),
        ("colons", "http://[", ":", "]/"),
        ("port", "http://example.org:", "0", "80/"),
        ("credentials", "http://", "a:b@", "example.org/"),
        ("slashes", "http:", "/\\", "example.org/"),
        ("scheme", "", "a+", ":x"),
        ("bare words", "", "a", ""),
        ("fragments", "http://example.org/", "#", ""),
        ("space around", "", " \n", "http://example.org/"),
    ] {
        assert_linear(
            name,
            |size| format!("{head}{}{tail}", repeat(piece, size)),
            |text| {
                let _ = canonicaliser.canon(text);
                let _ = surt(text);
            },
        );
    }
}

/// Checks bases with long paths, and links with many steps to the parent directory.
#[test]
fn bases() {
    let canonicaliser = unlimited(0);
    for piece in ["a/", "%41/", "é/"] {
        assert_linear(
            &format!("base of {piece}"),
            |size| {
                let base = format!("http://example.org/{}", repeat(piece, size / 2));
                let base = Base::of(&canonicaliser.canon(&base).expect("a URL"));
                (base, repeat("../", size / 2))
            },
            |(base, href)| {
                let _ = canonicaliser.join(base, href);
                let _ = canonicaliser.join(&base.with_href(href), "x");
            },
        );
    }
}

#[test]
fn filters_and_lists() {
    let canonicaliser = unlimited(0);
    // The URL is lengthened until the time can be measured. For a filter that examines little of the URL, the
    // time stays too short at any length, so the length is limited to 2 MiB.
    let url = |size: usize| {
        let size = size.min(2 << 20);
        let text = format!("http://a.b.example.org/{}?q", repeat("ab", size));
        canonicaliser.canon(&text).expect("a URL")
    };
    for filter in [
        "path:*a*a*a*a*b",
        "path:*ab*ab*ab*c or path:*?*",
        "regex:(a*)*b(.*)*$",
        "regex:(ab|a)(ba|b){1,50}c$",
        "ext:zip or query:*q*q or prefix:http://a.b.example.org/ab",
    ] {
        let filter = Filter::parse(filter).expect("a filter");
        assert_linear(filter.as_str(), url, |url: &CanonUrl| {
            let _ = filter.matches(url, 3);
        });
    }
    for (piece, tail) in [
        ("not ", "ext:a"),
        ("ext:a and ", "ext:a"),
        ("ext:a or ", "ext:a"),
        ("ext:a and (not query:\"\\\"*\") or ", "ext:a"),
    ] {
        assert_linear(
            &format!("filter of {piece}"),
            |size| format!("{}{tail}", repeat(piece, size)),
            |text| {
                assert!(Filter::parse(text).is_ok(), "the filter is valid");
            },
        );
    }
    for line in [
        "example.org\n",
        "http://example.org/a*\n",
        "10.0.0.0/8\n",
        "#\n",
        "é.example\n",
    ] {
        assert_linear(
            &format!("list of {line:?}"),
            |size| repeat(line, size),
            |text| {
                let _ = Blacklist::parse_lines(text).map(|list| list.is_empty());
            },
        );
    }
}

/// Generates a URL that contains problematic pieces.
fn near_url() -> impl Strategy<Value = String> {
    let pieces: Vec<&'static str> = PATHS
        .iter()
        .chain(&QUERIES)
        .copied()
        .chain([
            "http://",
            "https:",
            "//",
            "www.",
            "example.org",
            "[::1]",
            "0x7f.1",
            ":80",
            "@",
            "?",
            "#",
            "xn--",
            "bücher",
            "..",
            "index.html",
            "a",
        ])
        .collect();
    (
        proptest::sample::select(vec![
            "http://example.org/",
            "https://www.example.org",
            "",
            "//",
        ]),
        proptest::collection::vec(proptest::sample::select(pieces), 0..20),
    )
        .prop_map(|(head, pieces)| format!("{head}{}", pieces.concat()))
}

fn check(text: &str, href: &str) -> Result<(), TestCaseError> {
    let _ = surt(text);
    for canonicaliser in [Canonicaliser::default(), unlimited(0)] {
        let Ok(url) = canonicaliser.canon(text) else {
            continue;
        };
        prop_assert_eq!(canonicaliser.canon(url.as_str()), Ok(url.clone()));
        let base = Base::of(&url);
        for base in [base.with_href(href), base] {
            if let Ok(joined) = canonicaliser.join(&base, href) {
                prop_assert_eq!(canonicaliser.canon(joined.as_str()), Ok(joined.clone()));
                let again = canonicaliser.rebuild(joined.origin(), joined.path());
                prop_assert_eq!(again, Ok(joined));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn any_text(text in "\\PC{0,80}", href in "\\PC{0,40}") {
        check(&text, &href)?;
        check(&format!("http://{text}"), &href)?;
    }

    #[test]
    fn any_near_url(text in near_url(), href in near_url()) {
        check(&text, &href)?;
    }

    #[test]
    fn any_filter(text in "\\PC{0,60}", near in proptest::collection::vec(proptest::sample::select(
        vec!["not", " ", "and", "or", "(", ")", "ext:", "path:", "regex:", "depth", "<", "3", "\"", "\\", "a*", "é", "["]), 0..25)) {
        let url = Canonicaliser::default().canon("http://example.org/a/b.zip?c").expect("a URL");
        for text in [text, near.concat()] {
            match Filter::parse(&text) {
                Ok(filter) => drop(filter.matches(&url, 1)),
                Err(error) => prop_assert!(text.is_char_boundary(error.position)),
            }
            if let Ok(list) = Blacklist::parse_lines(&text) {
                let _ = list.url(&url);
            }
        }
    }
}
