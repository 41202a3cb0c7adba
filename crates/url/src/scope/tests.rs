//! Tests of the scope: the rules alone and in combination.

use super::*;
use crate::canonicaliser::Canonicaliser;

fn canon(text: &str) -> CanonUrl {
    Canonicaliser::default().canon(text).expect(text)
}

fn scope(reach: Reach, seeds: &[&str]) -> Scope {
    let mut scope = Scope::new(reach, &[], None, None, Blacklist::default(), None);
    for seed in seeds {
        scope.add_seed(&canon(seed));
    }
    scope
}

#[track_caller]
fn check(scope: &Scope, url: &str, depth: u16, inside: bool, rule: &str) {
    let url = canon(url);
    let judgement = scope.judge(&url, depth);
    assert_eq!(
        (judgement.inside, judgement.rule.to_string().as_str()),
        (inside, rule),
        "{url}"
    );
}

#[test]
fn links_out_of_reach_by_their_host() {
    let host = scope(
        Reach::Host,
        &["http://www.example.org/", "http://a.test:81/"],
    );
    let domain = scope(Reach::Domain, &["http://www.example.org/"]);
    let check = |href: &str, expected: [bool; 2]| {
        assert_eq!(
            [host.is_beyond(href), domain.is_beyond(href)],
            expected,
            "{href}"
        );
    };
    check("https://example.net/?a=%20#b", [true; 2]);
    check("http://example.net", [true; 2]);
    check("http://news.example.org/", [true, false]);
    check("http://example.org?a", [false; 2]);
    check("https://www.example.org#a", [false; 2]);
    // The text of these links does not show whether they are out of reach.
    for href in [
        "http://a.test:81/",
        "http://example.net:80/",
        "http://EXAMPLE.net/",
        "//example.net/",
        "/a",
        "",
    ] {
        check(href, [false; 2]);
    }
    let any = scope(Reach::Any, &["http://example.org/"]);
    assert!(!any.is_beyond("http://example.net/"));
    let tlds = ["net".to_owned()];
    let tld = Scope::new(Reach::Host, &tlds, None, None, Blacklist::default(), None);
    assert!(!tld.is_beyond("http://example.net/"));
}

proptest::proptest! {
    /// The test runs with and without folding of `www.`, because a scope does not know whether the
    /// canonicaliser folds `www.`.
    #[test]
    fn a_link_out_of_reach_is_judged_outside(
        scheme in "https?://|//|HTTP://|http:/| http://",
        host in "(www\\.)?(example|other|news\\.example)\\.(org|co\\.uk|test)\\.?|[a-z.]{1,9}|127\\.0\\.0\\.1",
        rest in "(:80|:81)?[/?#]?[a-z%@]{0,4}",
        fold_www in proptest::bool::ANY,
        reach in proptest::sample::select(vec![Reach::Host, Reach::Domain]),
    ) {
        let rules = crate::UrlRules { fold_www, ..crate::UrlRules::default() };
        let canonicaliser = Canonicaliser::new(rules);
        let mut scope = scope(reach, &[]);
        let seeds = ["http://www.example.org/", "http://example.test/", "http://news.example.co.uk:81/"];
        for seed in seeds {
            scope.add_seed(&canonicaliser.canon(seed).expect(seed));
        }
        let base = crate::Base::of(&canonicaliser.canon(seeds[0]).expect("a seed"));
        let href = format!("{scheme}{host}{rest}");
        if scope.is_beyond(&href) && let Ok(url) = canonicaliser.join(&base, &href) {
            proptest::prop_assert!(!scope.judge(&url, 1).inside, "{}", url);
        }
    }
}

#[test]
fn page() {
    let scope = scope(Reach::Page, &["http://example.org/a"]);
    check(&scope, "https://www.example.org/a", 0, true, "it is a seed");
    check(
        &scope,
        "http://example.org/b",
        1,
        false,
        "it is not a seed (--scope page)",
    );
}

#[test]
fn prefix() {
    let scope = scope(
        Reach::Prefix,
        &[
            "http://example.org/docs/x/y.html?q=/",
            "http://example.org/docs/index.html",
        ],
    );
    check(
        &scope,
        "https://www.example.org/docs/z/",
        1,
        true,
        "it is below a seed's folder /docs/ (--scope prefix)",
    );
    check(
        &scope,
        "http://example.org/docs",
        1,
        false,
        "it is not below the folder of a seed (--scope prefix)",
    );
    check(
        &scope,
        "http://example.net/docs/",
        1,
        false,
        "it is not below the folder of a seed (--scope prefix)",
    );
}

#[test]
fn host() {
    let scope = scope(
        Reach::Host,
        &["http://www.example.org/", "http://127.0.0.1:8080/"],
    );
    check(
        &scope,
        "https://example.org/x",
        1,
        true,
        "example.org is the site of a seed (--scope host)",
    );
    check(
        &scope,
        "http://127.0.0.1:8080/x",
        1,
        true,
        "127.0.0.1:8080 is the site of a seed (--scope host)",
    );
    check(
        &scope,
        "http://127.0.0.1/x",
        1,
        false,
        "127.0.0.1 is not the site of a seed (--scope host)",
    );
    check(
        &scope,
        "https://news.example.org/",
        1,
        false,
        "news.example.org is not the site of a seed (--scope host)",
    );
}

#[test]
fn domain() {
    let scope = scope(
        Reach::Domain,
        &["http://news.example.co.uk/", "http://localhost/"],
    );
    check(
        &scope,
        "http://a.b.example.co.uk:81/",
        1,
        true,
        "example.co.uk is the domain of a seed (--scope domain)",
    );
    check(
        &scope,
        "http://other.co.uk/",
        1,
        false,
        "other.co.uk is not the domain of a seed (--scope domain)",
    );
    check(
        &scope,
        "http://localhost/x",
        1,
        true,
        "localhost is the domain of a seed (--scope domain)",
    );
}

#[test]
fn top_level_domains_widen() {
    let mut scope = Scope::new(
        Reach::Host,
        &[".PT".to_owned(), "co.uk".to_owned()],
        None,
        None,
        Blacklist::default(),
        None,
    );
    scope.add_seed(&canon("http://example.org/"));
    check(
        &scope,
        "http://example.org/x",
        1,
        true,
        "example.org is the site of a seed (--scope host)",
    );
    check(
        &scope,
        "http://www.tumba.pt/",
        1,
        true,
        "top-level domain: it is below .pt",
    );
    check(
        &scope,
        "http://a.co.uk/",
        1,
        true,
        "top-level domain: it is below .co.uk",
    );
    check(
        &scope,
        "http://opt.example/",
        1,
        false,
        "opt.example is not the site of a seed (--scope host)",
    );
}

#[test]
fn order_of_the_rules() {
    let filter = |text| Some(Filter::parse(text).expect("valid"));
    let blacklist = Blacklist::parse_lines("bad.example\nhttp://example.org/seed2").expect("valid");
    let mut scope = Scope::new(
        Reach::Any,
        &[],
        filter("not domain:foreign.example"),
        filter("ext:zip"),
        blacklist,
        Some(3),
    );
    scope.add_seed(&canon("http://example.org/a.zip"));
    scope.add_seed(&canon("http://example.org/seed2"));
    check(&scope, "http://example.org/a.zip", 9, true, "it is a seed");
    check(
        &scope,
        "http://example.org/seed2",
        0,
        false,
        "black list: http://example.org/seed2",
    );
    check(
        &scope,
        "http://x.bad.example/",
        0,
        false,
        "black list: bad.example",
    );
    check(
        &scope,
        "http://example.org/b.zip",
        1,
        false,
        "reject: ext:zip",
    );
    check(
        &scope,
        "http://foreign.example/",
        1,
        false,
        "does not satisfy filter: not domain:foreign.example",
    );
    check(
        &scope,
        "http://example.org/x",
        4,
        false,
        "depth 4 is beyond the limit of 3",
    );
    check(
        &scope,
        "http://example.org/x",
        3,
        true,
        "every URL is in scope (--scope any)",
    );
}

#[test]
fn a_site_can_have_a_depth_of_its_own() {
    let mut scope = Scope::new(Reach::Any, &[], None, None, Blacklist::default(), Some(2));
    scope.set_site_depth(canon("http://deep.test/").site_key(), 5);
    scope.set_site_depth(canon("http://flat.test/").site_key(), 0);
    scope.add_seed(&canon("http://flat.test/"));
    let limit = |depth, limit| {
        format!("depth {depth} is beyond the limit of {limit} that is set for the site's seeds")
    };
    let reached = "--scope any";
    check(&scope, "http://deep.test/a", 5, true, reached);
    check(&scope, "http://deep.test/a", 6, false, &limit(6, 5));
    check(&scope, "http://flat.test/", 0, true, "it is a seed");
    check(&scope, "http://flat.test/a", 1, false, &limit(1, 0));
    check(&scope, "http://a.test/", 2, true, reached);
    let rule = "depth 3 is beyond the limit of 2";
    check(&scope, "http://a.test/", 3, false, rule);
}

#[test]
fn requisites_are_inside_on_any_host_and_beyond_the_depth() {
    let reject = Some(Filter::parse("ext:zip").expect("valid"));
    let blacklist = Blacklist::parse_lines("bad.example").expect("valid");
    let mut scope = Scope::new(Reach::Page, &[], None, reject, blacklist, None);
    scope.add_seed(&canon("http://example.org/"));
    let judge = |scope: &Scope, url: &str, depth: u16| {
        let url = canon(url);
        let judgement = scope.judge_requisite(&url, url.key(), depth);
        (judgement.inside, judgement.rule.to_string())
    };
    let outside = |rule: &str| (false, rule.to_owned());
    let style = "http://cdn.example/a.css";
    assert_eq!(
        judge(&scope, style, 1),
        outside("it is not a seed (--scope page)")
    );
    let scope = scope.with_requisites(true);
    let inside = (true, "page.assets: a page in scope loads it".to_owned());
    assert_eq!(judge(&scope, style, 1), inside);
    assert_eq!(judge(&scope, style, 500), inside);
    assert_eq!(
        judge(&scope, "http://cdn.example/a.zip", 1),
        outside("reject: ext:zip")
    );
    assert_eq!(
        judge(&scope, "http://bad.example/a.css", 1),
        outside("black list: bad.example")
    );
    check(&scope, style, 1, false, "it is not a seed (--scope page)");
}

#[test]
fn reach_is_read_as_written() {
    assert_eq!("domain".parse(), Ok(Reach::Domain));
    assert!("world".parse::<Reach>().is_err());
}
