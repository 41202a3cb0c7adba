//! Filter expressions that select URLs (U10; Bouras 4, Chakrabarti 2.3.6).
//!
//! `domain:example.org and not (path:/private/* or ext:zip) and depth<5`
//!
//! | predicate | true if |
//! |---|---|
//! | `domain:a.org,pt` | the host is one of these domains or a subdomain |
//! | `host:docs.*` | the host matches, with or without a `www.` that is folded; `*` matches any characters |
//! | `prefix:https://a.org/docs` | the URL has this prefix; a prefix without a scheme matches both schemes and both twins |
//! | `scheme:https` | the URL has this scheme |
//! | `path:/a/*.html` | the whole path, without query, matches; `*` matches any characters |
//! | `query:id=*` | the whole query, or one of its parameters, matches; `query:*` matches any URL with a query |
//! | `ext:zip,gz` | the file name in the path has this extension, ignoring case |
//! | `regex:"…"` | the expression matches anywhere in the URL |
//! | `depth<5` | the number of links from a seed is below 5; `<=` `=` `!=` `>=` `>` work too |
//! | `type:image/*,text/html` | the response has one of these media types; `*` matches any characters |
//! | `size<10MB` | the decoded body is smaller than 10 MB; the other comparisons work too |
//! | `language:pt,gl` | the text of the response was identified as one of these languages (ISO 639 codes) |
//! | `example.org`, `https://a.org/b/*` … | an entry of the black list matches: see [`crate::blacklist`] |
//!
//! `type`, `size` and `language` are known only after a fetch: [`Filter::matches_response`] tests them, [`Filter::matches`] does not.
//!
//! `not` binds tighter than `and`, and `and` binds tighter than `or`. Values with spaces or quotes are written in
//! `"…"`. `parse.rs` parses expressions at start-up. Matching does not allocate.

mod hint;
mod parse;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::blacklist::Blacklist;
use crate::canonical::{CanonUrl, Scheme};
use crate::glob;

/// A parsed filter expression, displayed as written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Filter {
    text: String,
    root: Expression,
}

/// A syntax error in an expression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("filter, column {column}: {problem} ({hint})")]
pub struct FilterError {
    /// Byte offset of the error, counted from 0.
    pub position: usize,
    /// Position of the error in characters, counted from 1.
    pub column: usize,
    /// The error.
    pub problem: String,
    /// How to correct the expression.
    pub hint: String,
}

#[derive(Clone, Debug)]
enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Predicate(Predicate),
}

#[derive(Clone, Debug)]
enum Predicate {
    Domain(Vec<String>),
    Host(Vec<String>),
    /// A prefix with a scheme, compared with the whole URL.
    Prefix(String),
    /// A prefix without a scheme. It is compared with the part of the URL that begins at the host, and with that part
    /// without a folded `www.`.
    BarePrefix(String),
    Scheme(Vec<Scheme>),
    Path(String),
    Query(String),
    Extension(Vec<String>),
    Regex(Box<regex::Regex>),
    Depth(Comparison, u16),
    /// Patterns of media types, in lower case.
    MediaType(Vec<String>),
    /// The size of the decoded body in bytes.
    Size(Comparison, u64),
    /// ISO 639 codes of languages, in lower case.
    Language(Vec<String>),
    /// An entry of the black list.
    Entry(Box<Blacklist>),
}

/// What a filter tests.
#[derive(Clone, Copy)]
struct Subject<'a> {
    url: &'a CanonUrl,
    depth: u16,
    response: Option<Response<'a>>,
}

/// A response that a filter tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response<'a> {
    /// Media type without parameters, in lower case; empty if unknown.
    pub media_type: &'a str,
    /// Size of the decoded body in bytes.
    pub size: u64,
    /// ISO 639 code of the language of the text, in lower case; empty if unknown.
    pub language: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

impl Filter {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter {
            text: text.to_owned(),
            root: parse::parse(text)?,
        })
    }

    /// Whether the URL, found at this depth, satisfies the expression. The tests `type`, `size` and `language` count as
    /// false.
    pub fn matches(&self, url: &CanonUrl, depth: u16) -> bool {
        self.root.holds(Subject {
            url,
            depth,
            response: None,
        })
    }

    /// Whether the response of the URL, found at this depth, satisfies the expression.
    pub fn matches_response(&self, url: &CanonUrl, depth: u16, response: Response<'_>) -> bool {
        self.root.holds(Subject {
            url,
            depth,
            response: Some(response),
        })
    }

    /// The name of the first test that needs a response: `type`, `size` or `language`. `None` if
    /// [`Filter::matches`] is sufficient.
    pub fn response_test(&self) -> Option<&'static str> {
        self.root.find(&|test| match test {
            Predicate::MediaType(_) => Some("type"),
            Predicate::Size(..) => Some("size"),
            Predicate::Language(_) => Some("language"),
            _ => None,
        })
    }

    /// Whether the expression has a test on the language.
    pub fn tests_language(&self) -> bool {
        let language = |test: &Predicate| matches!(test, Predicate::Language(_)).then_some(());
        self.root.find(&language).is_some()
    }

    /// Whether the expression has a test on the depth.
    pub(crate) fn tests_depth(&self) -> bool {
        let depth = |test: &Predicate| matches!(test, Predicate::Depth(..)).then_some(());
        self.root.find(&depth).is_some()
    }

    /// Whether the result depends only on the host of a URL.
    pub(crate) fn is_by_host(&self) -> bool {
        let other = |test: &Predicate| match test {
            Predicate::Domain(_) | Predicate::Host(_) => None,
            Predicate::Entry(list) if list.blocks_hosts_only() => None,
            _ => Some(()),
        };
        self.root.find(&other).is_none()
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Expression {
    fn holds(&self, subject: Subject<'_>) -> bool {
        match self {
            Expression::All(nodes) => nodes.iter().all(|node| node.holds(subject)),
            Expression::Any(nodes) => nodes.iter().any(|node| node.holds(subject)),
            Expression::Not(node) => !node.holds(subject),
            Expression::Predicate(test) => test.holds(subject),
        }
    }

    /// The first result that `find` returns for a predicate of the expression.
    fn find<T>(&self, find: &impl Fn(&Predicate) -> Option<T>) -> Option<T> {
        match self {
            Expression::All(nodes) | Expression::Any(nodes) => {
                nodes.iter().find_map(|node| node.find(find))
            }
            Expression::Not(node) => node.find(find),
            Expression::Predicate(test) => find(test),
        }
    }
}

impl Predicate {
    fn holds(&self, subject: Subject<'_>) -> bool {
        let Subject {
            url,
            depth,
            response,
        } = subject;
        match self {
            Predicate::Domain(names) => names.iter().any(|name| is_below(url.host(), name)),
            Predicate::Host(patterns) => patterns.iter().any(|pattern| {
                glob::matches(pattern, url.host()) || glob::matches(pattern, url.site_host())
            }),
            Predicate::Prefix(prefix) => url.as_str().starts_with(prefix.as_str()),
            Predicate::BarePrefix(prefix) => {
                url.below_scheme().starts_with(prefix.as_str())
                    || url.below_www().starts_with(prefix.as_str())
            }
            Predicate::Scheme(schemes) => schemes.contains(&url.scheme()),
            Predicate::Path(pattern) => glob::matches(pattern, url.path_only()),
            Predicate::Query(pattern) => url.query().is_some_and(|query| {
                glob::matches(pattern, query)
                    || query
                        .split(['&', ';'])
                        .any(|parameter| glob::matches(pattern, parameter))
            }),
            Predicate::Extension(names) => extension(url.path_only()).is_some_and(|extension| {
                names
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(extension))
            }),
            Predicate::Regex(regex) => regex.is_match(url.as_str()),
            Predicate::Depth(comparison, limit) => comparison.holds(depth, *limit),
            Predicate::MediaType(patterns) => response.is_some_and(|response| {
                let fits = |pattern: &String| glob::matches(pattern, response.media_type);
                patterns.iter().any(fits)
            }),
            Predicate::Size(comparison, limit) => {
                response.is_some_and(|response| comparison.holds(response.size, *limit))
            }
            Predicate::Language(codes) => {
                response.is_some_and(|response| codes.iter().any(|code| code == response.language))
            }
            Predicate::Entry(list) => list.url(url).is_some(),
        }
    }
}

impl Comparison {
    fn holds<T: PartialOrd + Copy>(self, value: T, limit: T) -> bool {
        match self {
            Comparison::Less => value < limit,
            Comparison::LessOrEqual => value <= limit,
            Comparison::Equal => value == limit,
            Comparison::NotEqual => value != limit,
            Comparison::GreaterOrEqual => value >= limit,
            Comparison::Greater => value > limit,
        }
    }
}

/// Whether the text is written as an expression, not as a single entry of a black list.
pub(crate) fn is_expression(text: &str) -> bool {
    parse::is_expression(text)
}

/// Whether the host is this domain or a subdomain of it.
pub(crate) fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The extension of the file name in the path; `None` for names without a dot and for dot files.
fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then_some(extension)
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        Filter::parse(text)
    }
}

impl TryFrom<String> for Filter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Filter, FilterError> {
        Filter::parse(&text)
    }
}

impl From<Filter> for String {
    fn from(filter: Filter) -> String {
        filter.text
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Filter) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonicaliser::Canonicaliser;

    #[track_caller]
    fn check(filter: &str, url: &str, depth: u16, expected: bool) {
        let parsed = Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let url = Canonicaliser::default().canon(url).expect("valid");
        assert_eq!(parsed.matches(&url, depth), expected, "{filter} on {url}");
    }

    const PAGE: &str = "https://www.example.org/docs/a/Guide.PDF?id=5&lang=pt";

    #[test]
    fn every_predicate() {
        check("domain:example.org", PAGE, 0, true);
        check("domain:EXAMPLE.org", PAGE, 0, true);
        check("domain:org", PAGE, 0, true);
        check("domain:.org", PAGE, 0, true);
        check("domain:ample.org", PAGE, 0, false);
        check("domain:other.net,example.org", PAGE, 0, true);
        check(
            "domain:bücher.example",
            "http://a.xn--bcher-kva.example/",
            0,
            true,
        );
        check("host:www.example.org", PAGE, 0, true);
        check("host:example.org", PAGE, 0, true);
        check("host:*.example.org", PAGE, 0, true);
        check("host:docs.example.org", PAGE, 0, false);
        check("prefix:https://www.example.org/docs/", PAGE, 0, true);
        check("prefix:https://example.org/docs/", PAGE, 0, false);
        check("prefix:example.org/docs/", PAGE, 0, true);
        check("prefix:www.example.org/docs/", PAGE, 0, true);
        check("prefix:example.org", PAGE, 0, true);
        check("prefix:www.example.or", PAGE, 0, false);
        check("prefix:HTTPS://WWW.Example.org", PAGE, 0, true);
        check("scheme:https", PAGE, 0, true);
        check("scheme:http", PAGE, 0, false);
        check("scheme:http,https", PAGE, 0, true);
        check("path:/docs/*", PAGE, 0, true);
        check("path:/docs", PAGE, 0, false);
        check("path:*.PDF", PAGE, 0, true);
        check("query:id=*", PAGE, 0, true);
        check("query:lang=pt", PAGE, 0, true);
        check("query:id=5&lang=pt", PAGE, 0, true);
        check("query:x=*", PAGE, 0, false);
        check("query:*", "http://example.org/", 0, false);
        check("ext:pdf", PAGE, 0, true);
        check("ext:zip,.pdf", PAGE, 0, true);
        check("ext:org", "http://example.org/", 0, false);
        check("ext:htaccess", "http://example.org/.htaccess", 0, false);
        check("regex:/docs/[a-z]/", PAGE, 0, true);
        check("regex:(?i)guide\\.(pdf|html)", PAGE, 0, true);
        check(r#"regex:"^https://[^/]+/docs/""#, PAGE, 0, true);
        check("regex:^/docs", PAGE, 0, false);
    }

    #[test]
    fn entries_of_a_black_list() {
        check("example.org", PAGE, 0, true);
        check("*.example.org", PAGE, 0, false);
        check("shop.example.org or example.org", PAGE, 0, true);
        check("https://example.org/docs/*", PAGE, 0, true);
        check("not https://example.org/docs/*", PAGE, 0, false);
        check("(example.org and ext:pdf)", PAGE, 0, true);
        check("example.org:8080", PAGE, 0, false);
        check("localhost:8080", "http://localhost:8080/", 0, true);
        check("example.org:8080", "http://example.org:8080/", 0, true);
        check("192.0.2.0/24", "http://192.0.2.7/", 0, true);
        check("host.example.org", "http://host.example.org/", 0, true);
    }

    #[test]
    fn responses() {
        let url = Canonicaliser::default().canon(PAGE).expect("valid");
        let check = |filter: &str, media_type: &str, size: u64, expected: bool| {
            let filter = Filter::parse(filter).expect(filter);
            let response = Response {
                media_type,
                size,
                language: "pt",
            };
            let matches = filter.matches_response(&url, 1, response);
            assert_eq!(matches, expected, "{filter} {media_type} {size}");
            assert!(filter.response_test().is_some(), "{filter}");
        };
        check("type:application/pdf", "application/pdf", 5, true);
        check("type:Application/PDF", "application/pdf", 5, true);
        check("type:application/pdf", "text/html", 5, false);
        check("type:image/*,text/html", "image/png", 5, true);
        check("type:image/*", "", 5, false);
        check("size<1kB", "text/html", 999, true);
        check("size<1kB", "text/html", 1000, false);
        check("size >= 1MiB", "text/html", 1 << 20, true);
        check("ext:pdf and size>10", "text/html", 11, true);
        check("language:PT", "text/html", 11, true);
        check("language:gl,pt", "text/html", 11, true);
        check("language:gl", "text/html", 11, false);
        check("not language:pt", "text/html", 11, false);
        check("ext:zip and size>10", "text/html", 11, false);
        let filter = Filter::parse("type:text/html").expect("valid");
        assert!(!filter.matches(&url, 1), "the type is not known yet");
        assert_eq!(
            Filter::parse("ext:pdf").expect("valid").response_test(),
            None
        );
    }

    #[test]
    fn hints_for_words_that_are_not_tests() {
        for (word, hint) in [
            ("/docs/", "write path:/docs/*"),
            (
                "/docs",
                "write path:/docs, or path:/docs/* for all that is below",
            ),
            ("/docs/*.pdf", "write path:/docs/*.pdf"),
            ("*.zip", "write ext:zip for files, or domain:zip for hosts"),
            (".zip", "write ext:zip for files, or domain:zip for hosts"),
            ("pdf", "write ext:pdf"),
            (
                "index.html",
                "write path:*/index.html for a file, or domain:index.html for a host",
            ),
            ("?id", "write query:id=*"),
            ("?id=5", "write query:id=5"),
            ("example.org/docs", "write prefix:example.org/docs"),
            (
                "^/docs/.*",
                "write regex:^/docs/.* for a regular expression",
            ),
            (
                "*docs*",
                "write path:/*docs* for paths, or host:*docs* for hosts",
            ),
        ] {
            let error = Filter::parse(word).expect_err(word);
            assert_eq!(error.hint, hint, "{word}");
            assert_eq!(error.problem, format!("`{word}` is not a filter"));
        }
    }

    #[test]
    fn depth() {
        for (filter, holds) in [
            ("depth<5", [true, false, false]),
            ("depth <= 5", [true, true, false]),
            ("depth=5", [false, true, false]),
            ("depth:5", [false, true, false]),
            ("depth!=5", [true, false, true]),
            ("depth>=5", [false, true, true]),
            ("DEPTH > 5", [false, false, true]),
        ] {
            for (depth, expected) in [4, 5, 6].into_iter().zip(holds) {
                check(filter, PAGE, depth, expected);
            }
        }
    }

    #[test]
    fn logic() {
        let filter = "domain:example.org and not (path:/private/* or ext:zip) and depth<5";
        check(filter, PAGE, 0, true);
        check(filter, PAGE, 5, false);
        check(filter, "http://example.org/private/x", 0, false);
        check(filter, "http://example.org/x.zip", 0, false);
        check("ext:a or ext:pdf and scheme:http", PAGE, 0, false);
        check("(ext:pdf or ext:a) and scheme:https", PAGE, 0, true);
        check("ext:pdf or ext:a and scheme:http", PAGE, 0, true);
        check("not not ext:pdf", PAGE, 0, true);
        check("NOT ext:zip AND (ext:pdf)", PAGE, 0, true);
        check("(((ext:pdf)))", PAGE, 0, true);
        check(
            "path:/wiki/Mercury_(planet) and not ext:pdf",
            "http://example.org/wiki/Mercury_(planet)",
            0,
            true,
        );
        check(
            "(path:/wiki/Mercury_(planet))",
            "http://example.org/wiki/Mercury_(planet)",
            0,
            true,
        );
    }

    #[track_caller]
    fn check_error(filter: &str, column: usize, problem: &str) {
        let error = Filter::parse(filter).expect_err(filter);
        assert_eq!(
            (error.column, error.problem.as_str()),
            (column, problem),
            "{filter}"
        );
        assert!(!error.hint.is_empty(), "{filter}");
    }

    #[test]
    fn errors_point_at_the_fault() {
        check_error("", 1, "the filter is empty");
        check_error("domain:a.org and", 17, "a test is missing");
        check_error("domain:a.org ext:zip", 14, "`and` or `or` is missing");
        check_error("(ext:zip", 9, "`)` is missing");
        check_error("ext:zip)", 8, "this `)` closes nothing");
        check_error("domian:a.org", 1, "unknown field `domian`");
        check_error("é domain:a.org", 1, "`é` is not a filter");
        check_error("ext:", 5, "the value of `ext` is missing");
        check_error(
            "ext:zip and ext: or ext:x",
            17,
            "the value of `ext` is missing",
        );
        check_error("scheme:ftp", 8, "`ftp` is not a scheme that is crawled");
        check_error("depth<x", 7, "`x` is not a depth");
        check_error("size<x", 6, "`x` is not a size");
        check_error("type:pdf", 6, "`pdf` is not a media type");
        check_error(
            "ftp://a.org/",
            1,
            "`ftp://a.org/` is not a URL that can be blocked: the scheme is `ftp`, not http or https",
        );
        check_error("depth", 6, "the comparison is missing");
        check_error("path:private/*", 6, "a path begins with `/`");
        check_error(
            "regex:[a",
            7,
            "the regular expression does not parse: unclosed character class",
        );
        check_error("path:\"/a", 6, "the quotation mark is not closed");
        check_error("domain:a..b", 8, "`a..b` is not a domain name");
        check_error(&"(".repeat(200), 101, "parentheses are nested too deeply");
    }

    #[test]
    fn in_configuration() {
        #[derive(serde::Deserialize, Debug)]
        struct Config {
            filter: Filter,
        }
        let config: Config = toml::from_str("filter = 'ext:pdf'").expect("valid");
        assert_eq!(config.filter.to_string(), "ext:pdf");
        let error = toml::from_str::<Config>("filter = 'exd:pdf'")
            .expect_err("no such test")
            .to_string();
        assert!(
            error.contains("line 1") && error.contains("did you mean `ext`"),
            "{error}"
        );
    }
}
