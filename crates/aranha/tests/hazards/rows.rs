//! The table: each hazard of the lab with what must happen, the defence, and the lines of configuration that take the
//! defence out. Where no line does, [`mutations`](super::mutations) has the changes of code that do.

use aranha_lab::Hazard;

use super::{Judged, MAX_BODY, MAX_DECODED, Seen, ensure};

const TRAP_PAGES: &str = "[thresholds]\ntrap_pages = \"none\"";
const PATHS: &str = "[thresholds]\ntrap_pages = \"none\"\n[url]\nmax_repeats = 0";
/// Where every wait for the hostile site is in vain: short, so that a run takes seconds.
pub(crate) const HURRIED: &str = "[fetch]\nconnect_timeout = \"1s\"\ntls_timeout = \"1s\"\nfirst_byte_timeout = \"1s\"\nidle_timeout = \"1s\"\ntotal_timeout = \"2s\"\ndns_timeout = \"2s\"";
const PATIENT: &str = "[fetch]\nfirst_byte_timeout = \"1h\"\nidle_timeout = \"1h\"\ntotal_timeout = \"1h\"\nmin_speed = 0";
const STRICT: &str = "[fetch]\nverify_tls = true";
/// In place of lines: the black list without what the lab can count, which is loopback all of it.
pub(crate) const OPEN: &str = "[crawl]\nblacklist = []";
const NO_CACHE: &str = "[fetch]\ndns_ttl_min = \"0s\"\ndns_ttl_max = \"0s\"\ndns_stale = \"0s\"";

/// One hazard.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) hazard: Hazard,
    pub(crate) must: &'static str,
    pub(crate) holds: fn(&Seen) -> Judged,
    pub(crate) defence: &'static str,
    pub(crate) file: &'static str,
    /// Configuration that both runs need.
    pub(crate) with: &'static str,
    /// What takes the defence out, if configuration can.
    pub(crate) switch: Option<Switch>,
}

/// Lines of configuration, and the flags that end the run.
#[derive(Clone, Copy)]
pub(crate) struct Switch {
    pub(crate) lines: &'static str,
    pub(crate) flags: &'static [&'static str],
}

fn row(
    hazard: Hazard,
    must: &'static str,
    holds: fn(&Seen) -> Judged,
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

    /// Taken out by lines of configuration; the run is long enough to show it.
    fn off(self, lines: &'static str) -> Row {
        self.switch(lines, &["--time", "7s"])
    }

    /// The same where a single exchange shows it.
    fn off_for(self, lines: &'static str) -> Row {
        self.switch(lines, &["--time", "5s"])
    }

    fn switch(self, lines: &'static str, flags: &'static [&'static str]) -> Row {
        let switch = Some(Switch { lines, flags });
        Row { switch, ..self }
    }
}
/// The table, in the order of the lab's.
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
            "at most 100 requests",
            |seen| seen.at_most(100),
            "pages with new links and nothing new to read",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
        row(
            Hazard::Growth,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "components in a row; pages that repeat",
            "crates/url/src/growth.rs",
        )
        .off(PATHS),
        row(
            Hazard::Symlink,
            "at most 20 requests",
            |seen| seen.at_most(20),
            "components in a row; pages that repeat",
            "crates/url/src/growth.rs",
        )
        .off(PATHS),
        row(
            Hazard::Session,
            "at most 90 requests",
            |seen| seen.at_most(90),
            "session identifiers are removed; pages that repeat",
            "crates/url/src/session.rs",
        )
        .off("[url]\ndrop_sessions = false\n[thresholds]\ntrap_pages = \"none\""),
        row(
            Hazard::Listing,
            "each listing once, at most 40 requests",
            |seen| seen.at_most(40),
            "links that sort a listing are trimmed",
            "crates/url/src/listing.rs",
        )
        .off("[url]\ntrim_listings = false"),
        row(
            Hazard::Wildcard,
            "at most 200 requests",
            |seen| seen.at_most(200),
            "hosts under one domain that never lead back",
            "crates/engine/src/traps/wildcard_domains.rs",
        ),
        row(
            Hazard::Tenants,
            "all 24 hosts, one at a time",
            |seen| {
                seen.polite()?;
                let homes = seen
                    .requests
                    .iter()
                    .filter(|r| r.path == "/" && r.status == 200);
                let found = homes.count();
                ensure(found == 25, || format!("{found} home pages"))
            },
            "the pause is kept by address, too",
            "crates/engine/src/courtesy/address_gate.rs",
        ),
        row(
            Hazard::Maze,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "links that never lead back",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
        row(
            Hazard::Tarpit,
            "each page ends in time, at most 30 requests",
            |seen| {
                seen.released()?;
                seen.at_most(30)
            },
            "a limit on the whole fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Counter,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "near duplicates with new links",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
        row(
            Hazard::Facets,
            "at most 130 requests",
            |seen| seen.at_most(130),
            "pages with new links and nothing new to read",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
    ]
}

fn server_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Silence,
            "a time-out, the connection let go",
            |seen| { seen.released()?; seen.pages(&["/"], "time-out") },
            "a limit on the first byte",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Drip,
            "what came is kept and marked",
            |seen| { seen.released()?; seen.cut(&["/"]) },
            "a limit on the whole fetch, a lowest speed",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Trickle,
            "stalled, the connection let go",
            |seen| { seen.released()?; seen.pages(&["/"], "stalled") },
            "a limit on the head",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Endless,
            "cut at the limit and marked",
            |seen| { seen.bytes_at_most(2 * MAX_BODY)?; seen.cut(&["/"]) },
            "a limit on the body",
            "crates/fetch/src/http/exchange.rs",
        )
        .off_for("[fetch]\nmax_body = \"1GiB\""),
        row(
            Hazard::Radio,
            "streams cut in time and marked",
            |seen| { seen.released()?; seen.cut(&["/listen.mp3", "/live.html", "/camera"]) },
            "a limit on the whole fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Preamble,
            "not HTTP, after 64 KiB",
            |seen| { seen.bytes_at_most(1 << 20)?; seen.pages(&["/lines", "/line", "/status"], "not HTTP") },
            "a limit on the head",
            "crates/fetch/src/http/head.rs",
        )
        .off_for("[fetch]\nmax_head = \"1GiB\""),
        row(
            Hazard::Interim,
            "not HTTP, after a few",
            |seen| { seen.bytes_at_most(1 << 20)?; seen.pages(&["/continue"], "not HTTP") },
            "a limit on interim answers",
            "crates/fetch/src/http/exchange.rs",
        ),
        row(
            Hazard::Length,
            "what came is kept; marked where less came than announced",
            |seen| { seen.cut(&["/more", "/huge"])?; seen.pages(&["/less", "/word", "/negative"], "200") },
            "a length is an upper bound, memory follows what comes",
            "crates/fetch/src/http/framing.rs",
        ),
        row(
            Hazard::Chunks,
            "what came before the fault is kept; trailers and sizes without end are left",
            |seen| { seen.bytes_at_most(8 << 20)?; seen.cut(&["/short", "/last"])?; seen.pages(&["/both", "/bare", "/empty"], "200") },
            "strict chunks, a limit on lines",
            "crates/fetch/src/http/chunks.rs",
        ),
        row(
            Hazard::Ancient,
            "no status line, no page; sloppy ones are read",
            |seen| { seen.pages(&["/bare", "/icy", "/status", "/zero", "/word"], "not HTTP")?; seen.pages(&["/two", "/newlines", "/lower", "/blank"], "200") },
            "a status line is wanted",
            "crates/fetch/src/http/head.rs",
        ),
        row(
            Hazard::Fields,
            "pages behind strange fields are kept",
            |seen| seen.pages(&["/none", "/same", "/list", "/folded", "/space", "/colon", "/nameless", "/control", "/quote"], "200"),
            "a reader of heads that forgives",
            "crates/fetch/src/http/head.rs",
        ),
        row(
            Hazard::Ranges,
            "asked again without the range, after the pause, and kept",
            Seen::ordinary,
            "416 is answered by a second request",
            "crates/engine/src/collect/mod.rs",
        )
        .with("[fetch]\nrange_requests = true"),
        row(
            Hazard::Aimless,
            "a redirect without target is told as that; at most 30 requests",
            |seen| { seen.at_most(30)?; seen.pages(&["/none", "/broken", "/port"], "redirect without target") },
            "targets are URLs or nothing; few hops to oneself",
            "crates/engine/src/verdict/mod.rs",
        ),
        row(
            Hazard::Circle,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "redirects behind redirects bring nothing new",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
        row(
            Hazard::Soft,
            "the site is asked once for a page that cannot exist",
            |seen| { let probes = seen.requests.iter().filter(|r| r.path.starts_with("/aranha-")).count(); ensure(probes == 1, || format!("{probes} probes")) },
            "what the site says of absent pages is learnt",
            "crates/engine/src/traps/soft_404.rs",
        )
        .off("[crawl]\nsoft_404 = false"),
        row(
            Hazard::Storm,
            "left alone after a few errors: at most 10 requests",
            |seen| seen.at_most(10),
            "retries wait; a site that fails is left",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nserver_error = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Busy,
            "left alone at the first 429: at most 4 requests",
            |seen| seen.at_most(4),
            "patience as asked for, and more",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"4s\"\n[retry]\nslow_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Reset,
            "left alone after a few resets: at most 10 requests",
            |seen| seen.at_most(10),
            "retries wait; a site that fails is left",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nreset = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Down,
            "tried once",
            |seen| seen.told("connection failed", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\nserver_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Void,
            "given up in time",
            |seen| seen.told("connection time-out", 1),
            "a limit on connecting",
            "crates/fetch/src/connection/connect.rs",
        )
        .with(HURRIED)
        .off_for("[fetch]\nconnect_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Expired,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::SelfSigned,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::OtherName,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/connection/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::PlainText,
            "tried once",
            |seen| seen.told("TLS failure", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ntls = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Handshake,
            "given up in time",
            |seen| { seen.released()?; seen.told("TLS failure", 1) },
            "a limit on the handshake",
            "crates/fetch/src/connection/tls.rs",
        )
        .with(HURRIED)
        .off_for("[fetch]\ntls_timeout = \"1h\"\ntotal_timeout = \"1h\""),
    ]
}

fn content_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Types,
            "the type is what the bytes are",
            |seen| {
                let kind = |path: &str| {
                    seen.pages
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
            "bytes are looked at",
            "crates/page/src/media_type/sniff.rs",
        ),
        row(
            Hazard::Nulls,
            "links before and after are found",
            |seen| {
                seen.at_most(10)?;
                seen.pages(&["/after.html", "/c%00d.html"], "200")
            },
            "nulls are characters like others",
            "crates/page/src/html_syntax/tokenizer.rs",
        ),
        row(
            Hazard::Lengthy,
            "no request is longer than the limit",
            |seen| {
                let longest = seen.requests.iter().map(|r| r.path.len()).max();
                ensure(longest <= Some(2000), || format!("{longest:?} bytes"))?;
                seen.pages(&["/after.html"], "200")
            },
            "a limit on URLs",
            "crates/url/src/canonicaliser.rs",
        ),
        row(
            Hazard::Unterminated,
            "links before and after each fault are found",
            |seen| {
                seen.pages(
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
            "the tokenizer of the standard",
            "crates/page/src/html_syntax/tokenizer.rs",
        ),
        row(
            Hazard::Nested,
            "the link at the bottom is found",
            |seen| seen.pages(&["/bottom.html"], "200"),
            "no tree is built",
            "crates/page/src/format/html/mod.rs",
        ),
        row(
            Hazard::Giant,
            "cut at the limit and marked",
            |seen| {
                seen.cut(&[
                    "/tag",
                    "/attributes",
                    "/name",
                    "/word",
                    "/comment",
                    "/script",
                    "/entity",
                ])
            },
            "a limit on the body",
            "crates/fetch/src/http/exchange.rs",
        )
        .off("[fetch]\nmax_body = \"64MiB\"\nmax_decoded = \"64MiB\""),
        row(
            Hazard::Charsets,
            "the text and the link are read in their true spelling",
            |seen| {
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
                    let text = &seen.text(path)?["text"];
                    let spelt = text
                        .as_str()
                        .is_some_and(|text| text.contains("São João, coração, ação"));
                    ensure(spelt, || format!("{path}: {text}"))?;
                }
                seen.pages(&["/cora%C3%A7%C3%A3o.html"], "200")
            },
            "mark, header, meta, guess",
            "crates/page/src/charset/mod.rs",
        ),
        row(
            Hazard::Dates,
            "every page is kept",
            |seen| {
                seen.pages(
                    &["/zero", "/beyond", "/impossible", "/words", "/seconds"],
                    "200",
                )
            },
            "dates are repaired or left",
            "crates/fetch/src/http/date.rs",
        ),
        row(
            Hazard::Browser,
            "remarked; at most 5 requests",
            |seen| {
                let remarks = &seen.text("/")?["remarks"];
                ensure(remarks.to_string().contains("browser"), || {
                    format!("remarked: {remarks}")
                })?;
                seen.at_most(5)
            },
            "walls are recognised",
            "crates/page/src/format/html/browser_notice.rs",
        ),
        row(
            Hazard::Crowd,
            "set aside at the limit of the user: 120 pages and a few",
            |seen| seen.at_most(130),
            "a limit on the pages of a site",
            "crates/engine/src/verdict/trap.rs",
        )
        .with("[thresholds]\nurls = 120")
        .off("[thresholds]\nurls = \"none\""),
    ]
}

fn attack_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Bomb,
            "unpacked up to the limit",
            |seen| {
                for (path, page) in &seen.pages {
                    let size = page["size"].as_u64().unwrap_or_default();
                    ensure(size <= MAX_DECODED, || format!("{path}: {size} bytes"))?;
                }
                seen.pages(&["/gzip", "/br", "/zstd", "/deflate", "/hundred"], "200")
            },
            "what comes out is counted",
            "crates/fetch/src/http/content_coding.rs",
        )
        .off("[fetch]\nmax_decoded = \"16MiB\""),
        row(
            Hazard::Inward,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard stands before every socket",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Metadata,
            "every redirect is recorded, none followed",
            |seen| {
                seen.no_trespass()?;
                seen.pages(&["/to/0", "/to/9", "/to/18"], "307")
            },
            "the guard stands before every socket",
            "crates/fetch/src/connection/address_guard.rs",
        ),
        row(
            Hazard::Schemes,
            "told as redirects without target",
            |seen| {
                seen.no_trespass()?;
                seen.pages(
                    &["/to/0", "/to/3", "/to/4", "/to/10", "/to/13"],
                    "redirect without target",
                )
            },
            "http and https, nothing else",
            "crates/url/src/canonicaliser.rs",
        ),
        row(
            Hazard::Insider,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard judges answers",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Rebind,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard judges each answer",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .with(NO_CACHE)
        .off(OPEN),
        row(
            Hazard::Mixed,
            "only the good address is connected to",
            |seen| {
                seen.no_trespass()?;
                seen.ordinary()
            },
            "the guard judges each address",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Tunnel,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard reads version six",
            "crates/fetch/src/connection/address_guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Cookies,
            "at most 50 cookies; none to an honest site; at most 100 requests",
            |seen| {
                seen.at_most(100)?;
                let most = seen
                    .requests
                    .iter()
                    .map(|r| r.cookie.split(';').count())
                    .max();
                ensure(most <= Some(50), || format!("{most:?} cookies"))?;
                let strangers = seen
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("super") || r.cookie.contains("flood"));
                ensure(strangers.is_none(), || format!("{strangers:?}"))
            },
            "a small jar, public suffixes",
            "crates/fetch/src/cookies/jar.rs",
        ),
        row(
            Hazard::Credentials,
            "no credential is sent, no cookie leaves the site",
            |seen| {
                let mut all = seen.requests.iter().chain(&seen.honest);
                let sent = all.find(|r| !r.authorization.is_empty());
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                let leak = seen
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("credentials"));
                ensure(leak.is_none(), || format!("{leak:?}"))?;
                seen.pages(&["/private"], "401")
            },
            "user information is dropped; cookies stay at home",
            "crates/fetch/src/cookies/jar.rs",
        ),
        row(
            Hazard::Flood,
            "at most 8 MiB are sent, the site is crawled",
            |seen| {
                seen.bytes_at_most(8 << 20)?;
                seen.ordinary()
            },
            "a limit on robots.txt",
            "crates/engine/src/collect/request.rs",
        ),
        row(
            Hazard::Ribbon,
            "at most 8 MiB are sent, the site is crawled",
            |seen| {
                seen.bytes_at_most(8 << 20)?;
                seen.ordinary()
            },
            "a limit on robots.txt",
            "crates/engine/src/collect/request.rs",
        ),
        row(
            Hazard::Patterns,
            "every page, in time",
            |seen| {
                seen.at_most(8)?;
                ensure(seen.pages.len() == 5, || {
                    format!("{} pages", seen.pages.len())
                })
            },
            "patterns are matched without going back",
            "crates/robots/src/pattern.rs",
        ),
        row(
            Hazard::Gate,
            "asked once for robots.txt, nothing fetched",
            |seen| seen.at_most(1),
            "nothing is asked while robots.txt cannot be read",
            "crates/engine/src/robots_txt.rs",
        ),
        row(
            Hazard::Doorman,
            "let go in time",
            |seen| {
                seen.released()?;
                seen.at_most(4)
            },
            "a limit on the whole fetch",
            "crates/fetch/src/limits/timeouts.rs",
        )
        .with(HURRIED)
        .off_for(PATIENT),
        row(
            Hazard::Carousel,
            "five redirects are followed, then there is no robots.txt",
            |seen| {
                seen.ordinary()?;
                let asked = seen
                    .requests
                    .iter()
                    .filter(|r| r.path.ends_with("robots.txt"))
                    .count();
                ensure(asked == 6, || format!("{asked} requests for robots.txt"))
            },
            "a limit on redirects",
            "crates/engine/src/robots_txt.rs",
        ),
        row(
            Hazard::Escape,
            "no control byte is shown, logged or sent",
            |seen| {
                let sent = seen.requests.iter().find(|r| {
                    r.path.bytes().any(|byte| byte < b' ') || r.cookie.contains("injected")
                });
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                seen.clean()?;
                seen.pages(&["/redirect"], "302")
            },
            "control characters are escaped in output",
            "crates/aranha/src/terminal_escape.rs",
        ),
        row(
            Hazard::Sitemaps,
            "at most 100 requests, the site is crawled",
            |seen| {
                seen.at_most(100)?;
                seen.ordinary()
            },
            "lists of links that bring nothing to read",
            "crates/engine/src/traps/novelty.rs",
        )
        .off(TRAP_PAGES),
    ]
}

fn name_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Absent,
            "told once",
            |seen| seen.told("name not found", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::ServFail,
            "told once",
            |seen| seen.told("DNS failure", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Mute,
            "told in time",
            |seen| seen.told("DNS failure", 1),
            "a limit on look-ups",
            "crates/fetch/src/dns/name_servers.rs",
        )
        .with(HURRIED)
        .off_for("[fetch]\ndns_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Garbled,
            "told once, nothing is believed",
            |seen| { seen.at_most(0)?; seen.told("DNS failure", 1) },
            "packets are checked; retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Crooked,
            "told once; the address before the fault is not taken, which is a known limit",
            |seen| seen.told("DNS failure", 1),
            "packets are checked; retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nidle_wait = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Shifting,
            "crawled, the pause kept by address",
            Seen::ordinary,
            "courtesy goes by the address connected to",
            "crates/engine/src/courtesy/address_gate.rs",
        )
        .with(NO_CACHE),
        row(
            Hazard::Alias,
            "crawled",
            Seen::ordinary,
            "aliases are followed",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Ring,
            "given up after at most 60 questions",
            |seen| { seen.at_most(0)?; seen.questions_at_most(60) },
            "a limit on aliases",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Descent,
            "given up after at most 60 questions",
            |seen| { seen.at_most(0)?; seen.questions_at_most(60) },
            "a limit on aliases",
            "crates/fetch/src/dns/aliases.rs",
        ),
        row(
            Hazard::Fleeting,
            "asked for once",
            |seen| { seen.ordinary()?; seen.questions_at_most(2) },
            "a shortest life of answers",
            "crates/fetch/src/dns/cache.rs",
        )
        .off(NO_CACHE),
        row(
            Hazard::Truncated,
            "crawled, asked again by TCP",
            Seen::ordinary,
            "UDP, then TCP",
            "crates/fetch/src/dns/name_servers.rs",
        ),
    ]
}
