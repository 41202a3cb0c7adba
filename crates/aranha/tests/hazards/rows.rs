//! The table of hazards: what must happen, the defence, and the configuration that disables the defence. A defence that
//! no configuration disables is disabled by a change of the code in [`mutations`](super::mutations).
//!
//! This file is long because it is one table, in the order of docs/hazards.md, which is generated from it.

use aranha_lab::Hazard;

use super::crawl_result::{Check, CrawlResult, MAX_BODY, MAX_DECODED, ensure};

const NO_TRAP_PAGES: &str = "[thresholds]\ntrap_pages = \"none\"";
const NO_PATH_LIMITS: &str = "[thresholds]\ntrap_pages = \"none\"\n[url]\nmax_repeats = 0";
const NO_PATH_LIMITS_FOLLOW_COPIES: &str = "[thresholds]\ntrap_pages = \"none\"\n[url]\nmax_repeats = 0\n[crawl]\nduplicate_links = \"follow\"";
/// Short time-outs for hostile sites that never answer, so that a crawl takes seconds.
pub(crate) const SHORT_TIMEOUTS: &str = "[fetch]\nconnect_timeout = \"1s\"\ntls_timeout = \"1s\"\nfirst_byte_timeout = \"1s\"\nidle_timeout = \"1s\"\ntotal_timeout = \"2s\"\ndns_timeout = \"2s\"";
const NO_TIMEOUTS: &str = "[fetch]\nfirst_byte_timeout = \"1h\"\nidle_timeout = \"1h\"\ntotal_timeout = \"1h\"\nmin_speed = 0";
const VERIFY_TLS: &str = "[fetch]\nverify_tls = true";
/// Removes the black list, so that the crawl connects to the loopback addresses on it; the lab counts these
/// connections. The table in docs/hazards.md shows this text. In the crawl, the black list of the lab without its
/// loopback addresses is used instead, so that private networks outside this machine stay blocked.
pub(crate) const ALLOW_LOOPBACK: &str = "[crawl]\nblacklist = []";
const NO_DNS_CACHE: &str =
    "[fetch]\ndns_ttl_min = \"0s\"\ndns_ttl_max = \"0s\"\ndns_stale = \"0s\"";

/// One hazard with its defence.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) hazard: Hazard,
    /// The behaviour that a crawl of this hazard must show.
    pub(crate) must: &'static str,
    /// Checks that what `must` describes has happened.
    pub(crate) holds: fn(&CrawlResult) -> Check,
    pub(crate) defence: &'static str,
    /// The source file of the defence.
    pub(crate) file: &'static str,
    /// Additional configuration of both crawls, the one with the defence and the one without it.
    pub(crate) with: &'static str,
    /// Configuration that disables the defence, if there is any.
    pub(crate) switch: Option<Switch>,
}

/// Configuration that disables a defence, and flags that limit the crawl in which the defence is disabled.
#[derive(Clone, Copy)]
pub(crate) struct Switch {
    pub(crate) lines: &'static str,
    pub(crate) flags: &'static [&'static str],
}

fn row(
    hazard: Hazard,
    must: &'static str,
    holds: fn(&CrawlResult) -> Check,
    defence: &'static str,
    file: &'static str,
) -> Row {
    Row {
        hazard,
        must,
        holds,
        defence,
        file,
        with: "",
        switch: None,
    }
}

impl Row {
    fn with(self, with: &'static str) -> Row {
        Row { with, ..self }
    }

    /// Sets the configuration lines that disable the defence. The crawl without the defence is stopped after 7 seconds.
    fn off(self, lines: &'static str) -> Row {
        self.switch(lines, &["--time", "7s"])
    }

    /// Like [`Row::off`], for defences that already act on the first exchange. The crawl is stopped after 5 seconds.
    fn off_for(self, lines: &'static str) -> Row {
        self.switch(lines, &["--time", "5s"])
    }

    fn switch(self, lines: &'static str, flags: &'static [&'static str]) -> Row {
        let switch = Some(Switch { lines, flags });
        Row { switch, ..self }
    }
}

/// The table, in the order of [`Hazard::ALL`].
pub(crate) fn rows() -> Vec<Row> {
    [
        trap_rows(),
        server_rows(),
        content_rows(),
        attack_rows(),
        name_rows(),
    ]
    .concat()
}

fn trap_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Calendar,
            "at most 50 requests",
            |result| result.at_most(50),
            "trap detection: pages with new links but no new text",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Growth,
            "at most 30 requests",
            |result| result.at_most(30),
            "limit on repeated path components; near-duplicate detection",
            "crates/url/src/growth.rs",
        )
        .off(NO_PATH_LIMITS),
        row(
            Hazard::Symlink,
            "at most 20 requests",
            |result| result.at_most(20),
            "limit on repeated path components; near-duplicate detection; links of copies are not followed",
            "crates/url/src/growth.rs",
        )
        .off(NO_PATH_LIMITS_FOLLOW_COPIES),
        row(
            Hazard::Session,
            "at most 50 requests",
            |result| result.at_most(50),
            "session identifiers are removed; near-duplicate detection",
            "crates/url/src/parameters.rs",
        )
        .off("[url]\ndrop_sessions = false\n[thresholds]\ntrap_pages = \"none\""),
        row(
            Hazard::Listing,
            "each listing once, at most 40 requests",
            |result| result.at_most(40),
            "sort links of listings are removed",
            "crates/url/src/listing.rs",
        )
        .off("[url]\ntrim_listings = false"),
        row(
            Hazard::Wildcard,
            "at most 200 requests",
            |result| result.at_most(200),
            "trap detection: hosts of one domain without links back",
            "crates/engine/src/traps/wildcard_domains.rs",
        ),
        row(
            Hazard::Tenants,
            "all 24 hosts are fetched, one at a time",
            |result| {
                result.polite()?;
                let homes = result
                    .requests
                    .iter()
                    .filter(|r| r.path == "/" && r.status == 200);
                let found = homes.count();
                ensure(found == 25, || format!("{found} home pages"))
            },
            "the courtesy pause also applies per address",
            "crates/engine/src/courtesy/address_gate.rs",
        ),
        row(
            Hazard::Maze,
            "at most 40 requests",
            |result| result.at_most(40),
            "trap detection: links that never lead back to known pages",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Tarpit,
            "every fetch ends within the time limit, at most 30 requests",
            |result| {
                result.ended_in_time()?;
                result.at_most(30)
            },
            "time limit of a fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Counter,
            "at most 30 requests",
            |result| result.at_most(30),
            "trap detection: near duplicates with new links",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Facets,
            "at most 30 requests",
            |result| result.at_most(30),
            "trap detection: pages with new links but no new text",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Hollow,
            "at most 30 requests",
            |result| result.at_most(30),
            "a site that has not earned its requests is postponed: nearly empty pages",
            "crates/engine/src/traps/allowance.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Babble,
            "at most 30 requests",
            |result| result.at_most(30),
            "a word counts only if a second page has it; a site that has not earned its requests is postponed",
            "crates/engine/src/traps/vocabulary.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Sorry,
            "at most 30 requests",
            |result| result.at_most(30),
            "a word counts only if a second page has it; a site that has not earned its requests is postponed",
            "crates/engine/src/traps/vocabulary.rs",
        )
        .off(NO_TRAP_PAGES),
    ]
}

fn server_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Silence,
            "time-out, and the connection is closed",
            |result| { result.ended_in_time()?; result.pages(&["/"], "time-out") },
            "time limit for the first byte",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Drip,
            "the bytes received are kept and marked truncated",
            |result| { result.ended_in_time()?; result.truncated(&["/"]) },
            "time limit of a fetch, minimum speed",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Trickle,
            "stalled, and the connection is closed",
            |result| { result.ended_in_time()?; result.pages(&["/"], "stalled") },
            "limit on the response head",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Endless,
            "truncated at the limit and marked",
            |result| { result.bytes_at_most(2 * MAX_BODY)?; result.truncated(&["/"]) },
            "size limit of the body",
            "crates/fetch/src/http/exchange.rs",
        )
        .off_for("[fetch]\nmax_body = \"1GiB\""),
        row(
            Hazard::Radio,
            "streams are truncated at the time limit and marked",
            |result| { result.ended_in_time()?; result.truncated(&["/listen.mp3", "/live.html", "/camera"]) },
            "time limit of a fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Preamble,
            "not HTTP, after 64 KiB",
            |result| { result.bytes_at_most(1 << 20)?; result.pages(&["/lines", "/line", "/status"], "not HTTP") },
            "limit on the response head",
            "crates/fetch/src/http/head.rs",
        )
        .off_for("[fetch]\nmax_head = \"1GiB\""),
        row(
            Hazard::Interim,
            "not HTTP, after a few interim responses",
            |result| { result.bytes_at_most(1 << 20)?; result.pages(&["/continue"], "not HTTP") },
            "limit on interim responses",
            "crates/fetch/src/http/exchange.rs",
        ),
        row(
            Hazard::Length,
            "the bytes received are kept, and marked truncated if there are fewer than announced",
            |result| { result.truncated(&["/more", "/huge"])?; result.pages(&["/less", "/word", "/negative"], "200") },
            "Content-Length is an upper bound; memory grows with the bytes received",
            "crates/fetch/src/http/framing.rs",
        ),
        row(
            Hazard::Chunks,
            "the bytes before the error are kept; endless trailers and chunk sizes are given up",
            |result| { result.bytes_at_most(8 << 20)?; result.truncated(&["/short", "/last"])?; result.pages(&["/both", "/bare", "/empty"], "200") },
            "strict chunk parser, limit on line length",
            "crates/fetch/src/http/chunks.rs",
        ),
        row(
            Hazard::Ancient,
            "responses without a status line are not HTTP; irregular status lines are accepted",
            |result| { result.pages(&["/bare", "/icy", "/status", "/zero", "/word"], "not HTTP")?; result.pages(&["/two", "/newlines", "/lower", "/blank"], "200") },
            "a status line is required",
            "crates/fetch/src/http/head.rs",
        ),
        row(
            Hazard::Fields,
            "pages with irregular header fields are kept",
            |result| result.pages(&["/none", "/same", "/list", "/folded", "/space", "/colon", "/nameless", "/control", "/quote"], "200"),
            "tolerant header parser",
            "crates/fetch/src/http/head.rs",
        ),
        row(
            Hazard::Ranges,
            "requested again without Range after the pause, and kept",
            CrawlResult::ordinary,
            "a 416 response causes a second request without Range",
            "crates/engine/src/collect/mod.rs",
        )
        .with("[fetch]\nrange_requests = true"),
        row(
            Hazard::Aimless,
            "outcome `redirect without target`; at most 30 requests",
            |result| { result.at_most(30)?; result.pages(&["/none", "/broken", "/port"], "redirect without target") },
            "invalid targets are rejected; few redirects of a page to itself",
            "crates/engine/src/verdict/mod.rs",
        ),
        row(
            Hazard::Circle,
            "at most 50 requests",
            |result| result.at_most(50),
            "trap detection: chains of redirects without new text",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Soft,
            "one request for a page that cannot exist",
            |result| { let probes = result.requests.iter().filter(|r| r.path.starts_with("/aranha-")).count(); ensure(probes == 1, || format!("{probes} probes")) },
            "the soft-404 probe",
            "crates/engine/src/traps/soft_404.rs",
        )
        .off("[crawl]\nsoft_404 = false"),
        row(
            Hazard::Storm,
            "the site rests after a few errors: at most 10 requests",
            |result| result.at_most(10),
            "delayed retries; a failing site rests",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nserver_error = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Busy,
            "the site rests after the first 429: at most 4 requests",
            |result| result.at_most(4),
            "Retry-After is obeyed; repeated refusals wait longer",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"4s\"\n[retry]\nslow_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Reset,
            "the site rests after a few resets: at most 10 requests",
            |result| result.at_most(10),
            "delayed retries; a failing site rests",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nreset = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Down,
            "tried once",
            |result| result.logged("connection failed", 1),
            "delayed retries",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nserver_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Void,
            "given up within the time limit",
            |result| result.logged("connection time-out", 1),
            "time limit for connecting",
            "crates/fetch/src/connection/connect.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for("[fetch]\nconnect_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Expired,
            "fetched; the certificate error is recorded",
            CrawlResult::ordinary,
            "invalid certificates are recorded, not rejected",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(VERIFY_TLS),
        row(
            Hazard::SelfSigned,
            "fetched; the certificate error is recorded",
            CrawlResult::ordinary,
            "invalid certificates are recorded, not rejected",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(VERIFY_TLS),
        row(
            Hazard::OtherName,
            "fetched; the certificate error is recorded",
            CrawlResult::ordinary,
            "invalid certificates are recorded, not rejected",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(VERIFY_TLS),
        row(
            Hazard::PlainText,
            "tried once",
            |result| result.logged("TLS failure", 1),
            "delayed retries",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ntls = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Handshake,
            "given up within the time limit",
            |result| { result.ended_in_time()?; result.logged("TLS failure", 1) },
            "time limit of the TLS handshake",
            "crates/fetch/src/connection/tls.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for("[fetch]\ntls_timeout = \"1h\"\ntotal_timeout = \"1h\""),
    ]
}

fn content_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Types,
            "the media type is detected from the bytes",
            |result| {
                let kind = |path: &str| {
                    result
                        .pages
                        .get(path)
                        .map_or("", |page| page["type"].as_str().unwrap_or_default())
                };
                for (path, wanted) in [
                    ("/archive.html", "application/zip"),
                    ("/picture.html", "image/png"),
                    ("/document.pdf", "application/pdf"),
                    ("/page.bin", "text/html"),
                    ("/missing", "text/html"),
                ] {
                    ensure(kind(path) == wanted, || format!("{path}: {}", kind(path)))?;
                }
                Ok(())
            },
            "media type sniffing",
            "crates/page/src/media_type/sniff.rs",
        ),
        row(
            Hazard::Nulls,
            "links before and after the null bytes are found",
            |result| {
                result.at_most(10)?;
                result.pages(&["/after.html", "/c%00d.html"], "200")
            },
            "the tokenizer accepts null characters",
            "crates/page/src/html_syntax/tokenizer.rs",
        ),
        row(
            Hazard::Lengthy,
            "no requested URL is longer than the limit",
            |result| {
                let longest = result.requests.iter().map(|r| r.path.len()).max();
                ensure(longest <= Some(2000), || format!("{longest:?} bytes"))?;
                result.pages(&["/after.html"], "200")
            },
            "length limit of URLs",
            "crates/url/src/canonicaliser.rs",
        ),
        row(
            Hazard::Unterminated,
            "links before and after each syntax error are found",
            |result| {
                result.pages(
                    &[
                        "/before.html",
                        "/after.html",
                        "/attribute",
                        "/comment",
                        "/script",
                    ],
                    "200",
                )
            },
            "the tokenizer follows the HTML standard",
            "crates/page/src/html_syntax/tokenizer.rs",
        ),
        row(
            Hazard::Nested,
            "the link at the deepest level is found",
            |result| result.pages(&["/bottom.html"], "200"),
            "no document tree is built",
            "crates/page/src/format/html/mod.rs",
        ),
        row(
            Hazard::Giant,
            "truncated at the limit and marked",
            |result| {
                result.truncated(&[
                    "/tag",
                    "/attributes",
                    "/name",
                    "/word",
                    "/comment",
                    "/script",
                    "/entity",
                ])
            },
            "size limit of the body",
            "crates/fetch/src/http/exchange.rs",
        )
        .off("[fetch]\nmax_body = \"64MiB\"\nmax_decoded = \"64MiB\""),
        row(
            Hazard::Charsets,
            "text and links are decoded correctly",
            |result| {
                for path in [
                    "/declared",
                    "/declared-pragma",
                    "/declared-xml",
                    "/latin-as-utf",
                    "/mark-against-header",
                    "/meta-against-header",
                    "/none",
                    "/two-metas",
                    "/unknown",
                    "/wide",
                ] {
                    let text = &result.text(path)?["text"];
                    let correct = text
                        .as_str()
                        .is_some_and(|text| text.contains("São João, coração, ação"));
                    ensure(correct, || format!("{path}: {text}"))?;
                }
                result.pages(&["/cora%C3%A7%C3%A3o.html"], "200")
            },
            "charset from byte order mark, header, meta element, or detection",
            "crates/page/src/charset/mod.rs",
        ),
        row(
            Hazard::Dates,
            "every page is kept",
            |result| {
                result.pages(
                    &["/zero", "/beyond", "/impossible", "/words", "/seconds"],
                    "200",
                )
            },
            "invalid dates are corrected or ignored",
            "crates/fetch/src/http/date.rs",
        ),
        row(
            Hazard::Browser,
            "the page is marked as needing a browser; at most 5 requests",
            |result| {
                let remarks = &result.text("/")?["remarks"];
                ensure(remarks.to_string().contains("browser"), || {
                    format!("remarks: {remarks}")
                })?;
                result.at_most(5)
            },
            "notices that a browser is required are recognised",
            "crates/page/src/format/html/browser_notice.rs",
        ),
        row(
            Hazard::Crowd,
            "at most 30 requests",
            |result| result.at_most(30),
            "a site that has not earned its requests is postponed: nearly empty pages",
            "crates/engine/src/traps/allowance.rs",
        )
        .off(NO_TRAP_PAGES),
    ]
}

fn attack_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Bomb,
            "decompressed up to the limit",
            |result| {
                for (path, page) in &result.pages {
                    let size = page["size"].as_u64().unwrap_or_default();
                    ensure(size <= MAX_DECODED, || format!("{path}: {size} bytes"))?;
                }
                result.pages(&["/gzip", "/br", "/zstd", "/deflate", "/hundred"], "200")
            },
            "decompressed bytes are counted",
            "crates/fetch/src/http/content_coding.rs",
        )
        .off("[fetch]\nmax_decoded = \"16MiB\""),
        row(
            Hazard::Layers,
            "decompressed up to the limit",
            |result| {
                for (path, page) in &result.pages {
                    let size = page["size"].as_u64().unwrap_or_default();
                    ensure(size <= MAX_DECODED, || format!("{path}: {size} bytes"))?;
                }
                result.at_most(12)?;
                result.pages(
                    &[
                        "/br-gzip",
                        "/gzip-deflate",
                        "/chunked",
                        "/page",
                        "/thin",
                        "/small",
                    ],
                    "200",
                )
            },
            "decompressed bytes are counted in every layer",
            "crates/fetch/src/http/content_coding.rs",
        )
        .off("[fetch]\nmax_decoded = \"16MiB\""),
        row(
            Hazard::Inward,
            "no connection to a refused address",
            CrawlResult::no_trespass,
            "the address guard checks every connection",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(ALLOW_LOOPBACK),
        row(
            Hazard::Metadata,
            "every redirect is recorded, none is followed",
            |result| {
                result.no_trespass()?;
                result.pages(&["/to/0", "/to/9", "/to/18"], "307")
            },
            "the address guard checks every connection",
            "crates/fetch/src/connection/address_guard.rs",
        ),
        row(
            Hazard::Schemes,
            "outcome `redirect without target`",
            |result| {
                result.no_trespass()?;
                result.pages(
                    &["/to/0", "/to/3", "/to/4", "/to/10", "/to/13"],
                    "redirect without target",
                )
            },
            "only http and https are accepted",
            "crates/url/src/canonicaliser.rs",
        ),
        row(
            Hazard::Insider,
            "no connection to a refused address",
            CrawlResult::no_trespass,
            "the address guard checks DNS answers",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(ALLOW_LOOPBACK),
        row(
            Hazard::Rebind,
            "no connection to a refused address",
            CrawlResult::no_trespass,
            "the address guard checks every DNS answer",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .with(NO_DNS_CACHE)
        .off(ALLOW_LOOPBACK),
        row(
            Hazard::Mixed,
            "only the public address is contacted",
            |result| {
                result.no_trespass()?;
                result.ordinary()
            },
            "the address guard checks each address",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(ALLOW_LOOPBACK),
        row(
            Hazard::Tunnel,
            "no connection to a refused address",
            CrawlResult::no_trespass,
            "the address guard recognises IPv4 addresses inside IPv6",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(ALLOW_LOOPBACK),
        row(
            Hazard::Cookies,
            "at most 50 cookies; none is sent to another site; at most 100 requests",
            |result| {
                result.at_most(100)?;
                let most = result
                    .requests
                    .iter()
                    .map(|r| r.cookie.split(';').count())
                    .max();
                ensure(most <= Some(50), || format!("{most:?} cookies"))?;
                let foreign = result
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("super") || r.cookie.contains("flood"));
                ensure(foreign.is_none(), || format!("{foreign:?}"))
            },
            "limited cookie jar; public suffix list",
            "crates/fetch/src/cookies/jar.rs",
        ),
        row(
            Hazard::Credentials,
            "no credentials are sent; no cookie is sent to another site",
            |result| {
                let mut all = result.requests.iter().chain(&result.honest);
                let sent = all.find(|r| !r.authorization.is_empty());
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                let leak = result
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("credentials"));
                ensure(leak.is_none(), || format!("{leak:?}"))?;
                result.pages(&["/private"], "401")
            },
            "user information is removed from URLs; cookies are sent to their own site only",
            "crates/fetch/src/cookies/jar.rs",
        ),
        row(
            Hazard::Flood,
            "at most 8 MiB are received; the site is crawled",
            |result| {
                result.bytes_at_most(8 << 20)?;
                result.ordinary()
            },
            "size limit of robots.txt",
            "crates/engine/src/collect/request.rs",
        ),
        row(
            Hazard::Ribbon,
            "at most 8 MiB are received; the site is crawled",
            |result| {
                result.bytes_at_most(8 << 20)?;
                result.ordinary()
            },
            "size limit of robots.txt",
            "crates/engine/src/collect/request.rs",
        ),
        row(
            Hazard::Patterns,
            "every page is fetched",
            |result| {
                result.at_most(8)?;
                ensure(result.pages.len() == 5, || {
                    format!("{} pages", result.pages.len())
                })
            },
            "patterns are matched in linear time",
            "crates/robots/src/pattern.rs",
        ),
        row(
            Hazard::Gate,
            "one request for robots.txt, no page is fetched",
            |result| result.at_most(1),
            "no page is fetched while robots.txt is unreachable",
            "crates/engine/src/robots_txt.rs",
        ),
        row(
            Hazard::Doorman,
            "given up within the time limit",
            |result| {
                result.ended_in_time()?;
                result.at_most(4)
            },
            "time limit of a fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for(NO_TIMEOUTS),
        row(
            Hazard::Carousel,
            "five redirects are followed, then the site is treated as having no robots.txt",
            |result| {
                result.ordinary()?;
                let requests = result
                    .requests
                    .iter()
                    .filter(|r| r.path.ends_with("robots.txt"))
                    .count();
                ensure(requests == 6, || {
                    format!("{requests} requests for robots.txt")
                })
            },
            "limit on redirects of robots.txt",
            "crates/engine/src/robots_txt.rs",
        ),
        row(
            Hazard::Escape,
            "no control byte is printed, logged or sent",
            |result| {
                let sent = result.requests.iter().find(|r| {
                    r.path.bytes().any(|byte| byte < b' ') || r.cookie.contains("injected")
                });
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                result.has_no_control_characters()?;
                result.pages(&["/redirect"], "302")
            },
            "control characters are escaped in output",
            "crates/aranha/src/terminal_escape.rs",
        ),
        row(
            Hazard::Sitemaps,
            "at most 100 requests; the site is crawled",
            |result| {
                result.at_most(100)?;
                result.ordinary()
            },
            "trap detection: lists of links without new text",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(NO_TRAP_PAGES),
        row(
            Hazard::Foreign,
            "the site is crawled in at most 10 requests; no name that only a sitemap lists is looked up",
            |result| {
                result.at_most(10)?;
                result.queries_at_most(10)?;
                result.ordinary()
            },
            "a sitemap may list another site only if the robots.txt of that site names the sitemap",
            "crates/engine/src/links/extract.rs",
        ),
    ]
}

fn name_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Absent,
            "recorded once",
            |result| result.logged("name not found", 1),
            "delayed retries",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::ServFail,
            "recorded once",
            |result| result.logged("DNS failure", 1),
            "delayed retries",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Mute,
            "recorded within the time limit",
            |result| result.logged("DNS failure", 1),
            "time limit of DNS lookups",
            "crates/fetch/src/dns/name_servers.rs",
        )
        .with(SHORT_TIMEOUTS)
        .off_for("[fetch]\ndns_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Garbled,
            "recorded once; no address is used",
            |result| { result.at_most(0)?; result.logged("DNS failure", 1) },
            "DNS responses are checked; delayed retries",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Crooked,
            "crawled; the address before the malformed record is used",
            CrawlResult::ordinary,
            "malformed records are cut off DNS answers",
            "crates/fetch/src/dns/lenient_udp.rs",
        ),
        row(
            Hazard::Shifting,
            "crawled; the pause is kept per address",
            CrawlResult::ordinary,
            "the pause applies to the address that was contacted",
            "crates/engine/src/courtesy/address_gate.rs",
        )
        .with(NO_DNS_CACHE),
        row(
            Hazard::Alias,
            "crawled",
            CrawlResult::ordinary,
            "CNAME records are followed",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Ring,
            "given up after at most 60 DNS queries",
            |result| { result.at_most(0)?; result.queries_at_most(60) },
            "limit on CNAME chains",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Descent,
            "given up after at most 60 DNS queries",
            |result| { result.at_most(0)?; result.queries_at_most(60) },
            "limit on CNAME chains",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Fleeting,
            "resolved once",
            |result| { result.ordinary()?; result.queries_at_most(2) },
            "minimum time to live of cached answers",
            "crates/fetch/src/dns/cache.rs",
        )
        .off(NO_DNS_CACHE),
        row(
            Hazard::Truncated,
            "crawled after a second query over TCP",
            CrawlResult::ordinary,
            "truncated UDP responses are repeated over TCP",
            "crates/fetch/src/dns/name_servers.rs",
        ),
    ]
}
