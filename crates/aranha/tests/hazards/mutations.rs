//! Mutations. A mutation is a change of the code that disables a defence which no configuration disables. It names the
//! tests that must then fail.
//!
//! Each mutation is made alone, in a copy of the source tree (`copy.rs`). The text that an edit replaces occurs exactly
//! once in its file. If you change that code, change the edit too, and make the mutation again:
//! `ARANHA_HAZARD=interim ARANHA_MUTATE=1 cargo test -p aranha --test hazards -- --nocapture mutations`.
//!
//! This file is long because it is one table.

use std::fmt;

use aranha_lab::Hazard;

use Test::{Named, Row};

/// A change of the code that disables one defence.
pub(crate) struct Mutation {
    pub(crate) hazard: Hazard,
    /// Description of the mutation, in a phrase.
    pub(crate) what: &'static str,
    pub(crate) edits: Vec<Edit>,
    /// Tests that must fail.
    pub(crate) tests: Vec<Test>,
}

/// A file, a text in it, and the text that replaces it.
pub(crate) struct Edit(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

/// A test that must fail after a mutation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// The test of the hazard's row in `rows.rs`.
    Row,
    /// The test function with this name in this file.
    Named(&'static str, &'static str),
}

impl fmt::Display for Mutation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<_> = self
            .edits
            .iter()
            .map(|Edit(file, ..)| format!("`{file}`"))
            .collect();
        write!(formatter, "{} ({})", self.what, files.join(", "))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row => write!(formatter, "this row"),
            Named(file, name) => write!(formatter, "`{name}` in `{file}`"),
        }
    }
}

fn mutation(hazard: Hazard, what: &'static str, edits: Vec<Edit>, tests: Vec<Test>) -> Mutation {
    Mutation {
        hazard,
        what,
        edits,
        tests,
    }
}

/// All mutations, in the order of the rows.
pub(crate) fn mutations() -> Vec<Mutation> {
    let mut all = traps();
    all.extend(servers());
    all.extend(contents());
    all.extend(attacks());
    all.extend(names());
    all
}

fn traps() -> Vec<Mutation> {
    vec![
        mutation(
            Hazard::Wildcard,
            "trap detection of domains is off",
            vec![Edit(
                "crates/engine/src/traps/wildcard_domains.rs",
                "let trap = novelty.trap(limit, MIN_LINKED_PAGES_OF_HOSTS);",
                "let trap = novelty.trap(limit, MIN_LINKED_PAGES_OF_HOSTS).filter(|_| false);",
            )],
            vec![
                Row,
                Named(
                    "crates/engine/src/traps/wildcard_domains.rs",
                    "hosts_that_never_lead_back_are_a_trap",
                ),
            ],
        ),
        mutation(
            Hazard::Tenants,
            "no pause per address",
            vec![Edit(
                "crates/engine/src/courtesy/address_gate.rs",
                "        if self.pause.is_zero() {\n            return Ok(None);",
                "        if !self.pause.is_zero() {\n            return Ok(None);",
            )],
            vec![
                Row,
                Named(
                    "crates/engine/src/courtesy/address_gate.rs",
                    "permits_are_issued_in_order_of_arrival",
                ),
            ],
        ),
    ]
}

const REDIRECT_TESTS: &str = "crates/aranha/tests/site/redirects.rs";
const RETRY_TESTS: &str = "crates/aranha/tests/site/retries.rs";
const VERDICT: &str = "crates/engine/src/verdict/mod.rs";
const REQUEST: &str = "crates/engine/src/collect/request.rs";
const EXCHANGE: &str = "crates/fetch/src/http/exchange.rs";
const CHUNKS: &str = "crates/fetch/src/http/chunks.rs";
const RESPONSES: &str = "crates/fetch/tests/loopback/responses.rs";

fn servers() -> Vec<Mutation> {
    vec![
        mutation(
            Hazard::Interim,
            "`MAX_INTERIM` without bound",
            vec![Edit(
                EXCHANGE,
                "const MAX_INTERIM: usize = 8;",
                "const MAX_INTERIM: usize = usize::MAX;",
            )],
            vec![Named(
                "crates/fetch/src/http/exchange/tests.rs",
                "endless_bytes_before_the_response_are_a_protocol_failure",
            )],
        ),
        mutation(
            Hazard::Length,
            "a body shorter than Content-Length is not marked truncated",
            vec![Edit(
                EXCHANGE,
                "ResponseFraming::Chunked(_) | ResponseFraming::Length(_) => Some(Truncated::Disconnect),",
                "ResponseFraming::Chunked(_) | ResponseFraming::Length(_) => None,",
            )],
            vec![Named(RESPONSES, "content_lengths")],
        ),
        mutation(
            Hazard::Length,
            "memory for the whole Content-Length is allocated",
            vec![Edit(
                EXCHANGE,
                "const MAX_GROWTH: usize = 512 << 10;",
                "const MAX_GROWTH: usize = usize::MAX;",
            )],
            vec![Named(
                "crates/fetch/src/http/exchange/tests.rs",
                "no_memory_is_allocated_for_a_huge_announced_length",
            )],
        ),
        mutation(
            Hazard::Chunks,
            "the end of a chunk is not checked",
            vec![Edit(
                CHUNKS,
                "_ => return ChunkStep::Broken,\n                },\n                ChunkState::Size",
                "_ => self.skip(0, ChunkState::Size),\n                },\n                ChunkState::Size",
            )],
            vec![Named(CHUNKS, "data_before_broken_framing_are_kept")],
        ),
        mutation(
            Hazard::Chunks,
            "`MAX_LINE` without bound",
            vec![Edit(
                CHUNKS,
                "const MAX_LINE: usize = 8 << 10;",
                "const MAX_LINE: usize = usize::MAX;",
            )],
            vec![Named(CHUNKS, "an_endless_line_is_broken_framing")],
        ),
        mutation(
            Hazard::Ancient,
            "any first bytes are accepted as a status line",
            vec![Edit(
                "crates/fetch/src/http/head.rs",
                "if bytes[..length].eq_ignore_ascii_case(&START[..length]) {",
                "if !bytes[..length].is_empty() || length == 0 {",
            )],
            vec![Named(
                RESPONSES,
                "non_http_and_incomplete_responses_are_failures",
            )],
        ),
        mutation(
            Hazard::Fields,
            "a space before the colon of a header is rejected",
            vec![Edit(
                "crates/fetch/src/http/head.rs",
                "headers.push(line[..colon].trim_ascii(),",
                "headers.push(&line[..colon],",
            )],
            vec![Named(RESPONSES, "irregular_heads")],
        ),
        mutation(
            Hazard::Fields,
            "folded header lines are not joined",
            vec![Edit(
                "crates/fetch/src/http/head.rs",
                "lines.next_if(|next| next.starts_with(b\" \") || next.starts_with(b\"\\t\"))",
                "lines.next_if(|_| false)",
            )],
            vec![Named(
                "crates/fetch/src/http/head.rs",
                "valid_heads_are_parsed",
            )],
        ),
        mutation(
            Hazard::Ranges,
            "no second request after a 416 response",
            vec![Edit(
                "crates/engine/src/collect/mod.rs",
                "response.status == 416)",
                "response.status == 999)",
            )],
            vec![Row],
        ),
        mutation(
            Hazard::Ranges,
            "no pause before the second request",
            vec![
                Edit(
                    "crates/engine/src/collect/mod.rs",
                    "        tokio::time::sleep(pause).await;",
                    "        let _ = pause;",
                ),
                Edit(
                    "crates/engine/src/courtesy/address_gate.rs",
                    "        if self.pause.is_zero() {\n            return Ok(None);",
                    "        if !self.pause.is_zero() {\n            return Ok(None);",
                ),
            ],
            vec![Row],
        ),
        mutation(
            Hazard::Aimless,
            "`MAX_SELF_REDIRECTS` of 200",
            vec![Edit(
                VERDICT,
                "const MAX_SELF_REDIRECTS: u8 = 3;",
                "const MAX_SELF_REDIRECTS: u8 = 200;",
            )],
            vec![Named(
                REDIRECT_TESTS,
                "endless_redirects_to_itself_are_given_up",
            )],
        ),
        mutation(
            Hazard::Aimless,
            "an invalid redirect target is not reported",
            vec![Edit(
                "crates/engine/src/collect/read.rs",
                "page.response.outcome = Outcome::NoTarget;",
                "",
            )],
            vec![Row],
        ),
        mutation(
            Hazard::Busy,
            "Retry-After of robots.txt is ignored",
            vec![Edit(
                "crates/engine/src/visit/robots.rs",
                "BackOff::requested(outcome, retry_after, context.now())",
                "BackOff::requested(outcome, retry_after.filter(|_| false), context.now())",
            )],
            vec![Named(RETRY_TESTS, "retry_after_of_robots_txt_is_obeyed")],
        ),
        mutation(
            Hazard::Busy,
            "Retry-After of the soft-404 probe is ignored",
            vec![Edit(
                "crates/engine/src/visit/probe.rs",
                "BackOff::requested(response.outcome, response.retry_after, now)",
                "BackOff::requested(response.outcome, None, now)",
            )],
            vec![Named(
                RETRY_TESTS,
                "retry_after_of_the_soft_404_probe_is_obeyed",
            )],
        ),
        mutation(
            Hazard::Busy,
            "Retry-After of the last try is ignored",
            vec![Edit(
                VERDICT,
                "verdict.back_off = BackOff::requested(cause, retry_after, now);",
                "",
            )],
            vec![
                Named(RETRY_TESTS, "retry_after_of_the_last_try_is_obeyed"),
                Named(
                    "crates/engine/src/verdict/tests.rs",
                    "rule_3_the_server_is_left_alone",
                ),
            ],
        ),
    ]
}

const TOKENIZER: &str = "crates/page/src/html_syntax/tokenizer.rs";
const CANONICALISER: &str = "crates/url/src/canonicaliser.rs";
const CANONICALISER_TESTS: &str = "crates/url/src/canonicaliser/tests.rs";

fn contents() -> Vec<Mutation> {
    vec![
        mutation(
            Hazard::Types,
            "no media type sniffing",
            vec![Edit(
                "crates/page/src/media_type/sniff.rs",
                "let head = &body[..body.len().min(HEADER_BYTES)];\n    if let Some(found)",
                "let head = &body[..0];\n    if let Some(found)",
            )],
            vec![Named("crates/page/src/media_type/mod.rs", "wrong_declarations_are_corrected")],
        ),
        mutation(
            Hazard::Nulls,
            "a null byte ends the page",
            vec![Edit(
                TOKENIZER,
                "pub(crate) fn run<'a>(document: &'a [u8], sink: &mut impl TokenSink<'a>) -> bool {",
                "pub(crate) fn run<'a>(document: &'a [u8], sink: &mut impl TokenSink<'a>) -> bool {
    let document = document.split(|byte| *byte == 0).next().unwrap_or_default();",
            )],
            vec![Named("crates/page/tests/hostile.rs", "nulls_in_a_url")],
        ),
        mutation(
            Hazard::Lengthy,
            "no length limit of URLs",
            vec![Edit(
                CANONICALISER,
                "if limit > 0 && length > limit {",
                "if limit > 0 && length == usize::MAX {",
            )],
            vec![Row, Named(CANONICALISER_TESTS, "reasons")],
        ),
        mutation(
            Hazard::Unterminated,
            "an attribute value ends only at white space",
            vec![Edit(
                TOKENIZER,
                "if let [quote @ (b'\"' | b'\\''), quoted @ ..] = rest {",
                "if let [quote @ b'\\0', quoted @ ..] = rest {",
            )],
            vec![Named("crates/page/tests/corpus.rs", "corpus_pages_are_read_as_expected")],
        ),
        mutation(
            Hazard::Unterminated,
            "a comment ends only at `-->`",
            vec![Edit(TOKENIZER, "[] | [b'-'] => Some(&[][..]),", "[0xff] => Some(&[][..]),")],
            vec![Named("crates/page/src/html_syntax/conformance.rs", "html5lib_suite")],
        ),
        mutation(
            Hazard::Nested,
            "one recursive call per tag",
            vec![Edit(
                TOKENIZER,
                "if self.tag(true, sink).is_none() {\n                        return true;\n                    }",
                "if self.tag(true, sink).is_none() {\n                        return true;\n                    }
                    return self.data(sink);",
            )],
            vec![Named("crates/page/tests/hostile.rs", "deep_nesting_and_huge_tags")],
        ),
        mutation(
            Hazard::Charsets,
            "the byte order mark is ignored",
            vec![Edit(
                "crates/page/src/charset/mod.rs",
                "Encoding::for_bom(body)",
                "Encoding::for_bom(&body[..0])",
            )],
            vec![
                Row,
                Named(
                    "crates/page/src/charset/mod.rs",
                    "precedence_is_byte_order_mark_header_meta_detection",
                ),
            ],
        ),
        mutation(
            Hazard::Charsets,
            "the charset declaration in the page is ignored",
            vec![Edit(
                "crates/page/src/charset/mod.rs",
                "prescan::label(body, !xml)",
                "prescan::label(&body[..0], !xml)",
            )],
            vec![
                Row,
                Named(
                    "crates/page/src/charset/mod.rs",
                    "declarations_in_the_page_are_read",
                ),
            ],
        ),
        mutation(
            Hazard::Dates,
            "no earliest plausible date",
            vec![Edit(
                "crates/fetch/src/http/date.rs",
                "let plausible = at >= EARLIEST_MS && ",
                "let plausible = ",
            )],
            vec![Named("crates/fetch/src/http/date.rs", "implausible_modification_dates_are_corrected_or_rejected")],
        ),
        mutation(
            Hazard::Browser,
            "no notice that a browser is required is recognised",
            vec![Edit(
                "crates/page/src/format/html/browser_notice.rs",
                "if words == 0 || words > MAX_WORDS ",
                "if words < u32::MAX ",
            )],
            vec![
                Row,
                Named("crates/page/src/format/html/browser_notice.rs", "notices_are_recognised"),
            ],
        ),
    ]
}

const COOKIES: &str = "crates/fetch/src/cookies/jar.rs";

fn attacks() -> Vec<Mutation> {
    let no_limit_of_rules = || {
        vec![Edit(
            "crates/robots/src/file.rs",
            "const MAX_FILE_SIZE: usize = 500 * 1024;",
            "const MAX_FILE_SIZE: usize = 1 << 30;",
        )]
    };
    let no_limit_of_robots = || {
        vec![Edit(
            REQUEST,
            "const MAX_ROBOTS_SIZE: usize = 500 << 10;",
            "const MAX_ROBOTS_SIZE: usize = 1 << 30;",
        )]
    };
    let beyond = Named("crates/robots/tests/hostile.rs", "beyond_the_limit");
    vec![
        mutation(
            Hazard::Metadata,
            "the address guard allows every address",
            vec![Edit(
                "crates/fetch/src/connection/address_guard.rs",
                "match self.refusal(address) {",
                "match self.refusal(address).filter(|_| false) {",
            )],
            vec![Named(
                "crates/fetch/tests/loopback/connections.rs",
                "the_address_guard_checks_every_connection",
            )],
        ),
        mutation(
            Hazard::Schemes,
            "every scheme is treated as http",
            vec![
                Edit(
                    CANONICALISER,
                    "if let Some(scheme) = foreign_scheme(text) {",
                    "if let Some(scheme) = foreign_scheme(text).filter(|_| false) {",
                ),
                Edit(
                    "crates/url/src/origin.rs",
                    "\"https\" => Some(Scheme::Https),\n        _ => None,",
                    "\"https\" => Some(Scheme::Https),\n        _ => Some(Scheme::Http),",
                ),
            ],
            vec![Row, Named(CANONICALISER_TESTS, "reasons")],
        ),
        mutation(
            Hazard::Cookies,
            "`MAX_COOKIES` without bound",
            vec![Edit(
                COOKIES,
                "const MAX_COOKIES: usize = 50;",
                "const MAX_COOKIES: usize = usize::MAX;",
            )],
            vec![Row, Named(COOKIES, "the_jar_is_bounded")],
        ),
        mutation(
            Hazard::Cookies,
            "cookies for public suffixes are accepted",
            vec![Edit(
                COOKIES,
                "if is_public_suffix(&domain) {",
                "if is_public_suffix(&domain) && domain.is_empty() {",
            )],
            vec![Named(COOKIES, "domains")],
        ),
        mutation(
            Hazard::Credentials,
            "cookies for any domain are accepted",
            vec![Edit(
                COOKIES,
                "if !domain_matches(host, &domain) {",
                "if domain.is_empty() {",
            )],
            vec![Named(COOKIES, "cookies_for_foreign_domains_are_rejected")],
        ),
        mutation(
            Hazard::Credentials,
            "cookies are sent to any domain",
            vec![Edit(
                COOKIES,
                "domain_matches(url.host(), &self.domain)\n        };",
                "!self.domain.is_empty()\n        };",
            )],
            vec![Named(COOKIES, "cookies_for_foreign_domains_are_rejected")],
        ),
        mutation(
            Hazard::Credentials,
            "user information stays in URLs",
            vec![Edit(
                "crates/url/src/origin.rs",
                "text.push_str(\"://\");\n    let start = text.len() as u32;",
                "text.push_str(\"://\");\n    text.push_str(url.username());\n    let start = text.len() as u32;",
            )],
            vec![Named(CANONICALISER_TESTS, "one_spelling")],
        ),
        mutation(
            Hazard::Flood,
            "`MAX_ROBOTS_SIZE` of 1 GiB",
            no_limit_of_robots(),
            vec![Row],
        ),
        mutation(
            Hazard::Flood,
            "`MAX_FILE_SIZE` of 1 GiB",
            no_limit_of_rules(),
            vec![beyond],
        ),
        mutation(
            Hazard::Ribbon,
            "`MAX_ROBOTS_SIZE` of 1 GiB",
            no_limit_of_robots(),
            vec![Row],
        ),
        mutation(
            Hazard::Ribbon,
            "`MAX_FILE_SIZE` of 1 GiB",
            no_limit_of_rules(),
            vec![beyond],
        ),
        mutation(
            Hazard::Patterns,
            "patterns are matched with backtracking",
            vec![Edit(
                "crates/robots/src/pattern.rs",
                "        for piece in pieces.into_iter().flatten() {
            match memchr::memmem::find(path, piece) {
                Some(at) => path = &path[at + piece.len()..],
                None => return false,
            }
        }
",
                "        fn places(path: &[u8], pieces: &[&[u8]], end: &dyn Fn(&[u8]) -> bool) -> bool {
            let Some((piece, rest)) = pieces.split_first() else {
                return end(path);
            };
            (0..=path.len()).any(|at| {
                let after = path[at..].strip_prefix(*piece);
                after.is_some_and(|after| places(after, rest, end))
            })
        }
        let pieces: Vec<&[u8]> = pieces.into_iter().flatten().collect();
        if !pieces.is_empty() {
            return places(path, &pieces, &|path| match self.anchored {
                true => path.ends_with(last),
                false => memchr::memmem::find(path, last).is_some(),
            });
        }
        path = path.trim_ascii_end();
",
            )],
            vec![Named("crates/robots/src/pattern.rs", "no_pattern_takes_exponential_time")],
        ),
        mutation(
            Hazard::Gate,
            "an unreachable robots.txt allows everything",
            vec![Edit(
                "crates/engine/src/robots_txt.rs",
                "Access::DenyAll => None,",
                "Access::DenyAll => Some(Robots::allow_all().agent(product)),",
            )],
            vec![
                Row,
                Named(
                    "crates/aranha/tests/site/robots_txt.rs",
                    "no_page_is_fetched_while_robots_txt_is_unreachable",
                ),
            ],
        ),
        mutation(
            Hazard::Carousel,
            "`MAX_REDIRECTS` of 50",
            vec![Edit(
                "crates/engine/src/robots_txt.rs",
                "const MAX_REDIRECTS: usize = 5;",
                "const MAX_REDIRECTS: usize = 50;",
            )],
            vec![Row],
        ),
        mutation(
            Hazard::Escape,
            "no character is escaped",
            vec![Edit(
                "crates/aranha/src/terminal_escape.rs",
                "            if needs_escape(c) {",
                "            if needs_escape(c) && c == 'a' {",
            )],
            vec![
                Row,
                Named("crates/aranha/src/terminal_escape.rs", "control_characters_are_escaped"),
            ],
        ),
        mutation(
            Hazard::Foreign,
            "a sitemap may list every site",
            vec![Edit(
                "crates/engine/src/links/extract.rs",
                ".is_none_or(|sitemap| sitemap.may_list(key.site))",
                ".is_none_or(|sitemap| sitemap.may_list(key.site) || true)",
            )],
            vec![Row],
        ),
    ]
}

const ALIASES: &str = "crates/fetch/src/dns/aliases.rs";

fn names() -> Vec<Mutation> {
    let without_end = |hazard| {
        let edit = Edit(
            ALIASES,
            "const MAX_ALIASES: usize = 11;",
            "const MAX_ALIASES: usize = usize::MAX;",
        );
        let ring = Named(
            "crates/fetch/tests/loopback/dns.rs",
            "a_circular_alias_chain_is_abandoned",
        );
        mutation(
            hazard,
            "`MAX_ALIASES` without bound",
            vec![edit],
            vec![Row, ring],
        )
    };
    vec![
        mutation(
            Hazard::Shifting,
            "the pause applies per host name only",
            vec![Edit(
                REQUEST,
                "Some(address) => match network.gates.enter(address, self.activity.node()).await {",
                "Some(_) => match network
                    .gates
                    .enter([0, 0, 0, self.url.host().len() as u8].into(), self.activity.node())
                    .await
                {",
            )],
            vec![Row],
        ),
        mutation(
            Hazard::Alias,
            "CNAME records are not followed",
            vec![Edit(
                ALIASES,
                "RData::CNAME(alias) if record.name == self.name =>",
                "RData::CNAME(alias) if record.name == self.name && alias.is_root() =>",
            )],
            vec![Row, Named(ALIASES, "aliases_are_followed_to_addresses")],
        ),
        without_end(Hazard::Ring),
        without_end(Hazard::Descent),
        mutation(
            Hazard::Crooked,
            "malformed records stay in DNS answers",
            vec![Edit(
                "crates/fetch/src/dns/lenient_udp.rs",
                "let length = cut_malformed(read.filled_mut());",
                "let length = read.filled().len();",
            )],
            vec![
                Row,
                Named(
                    "crates/fetch/tests/loopback/dns.rs",
                    "addresses_before_a_malformed_record_are_used",
                ),
            ],
        ),
        mutation(
            Hazard::Truncated,
            "truncated UDP responses are not repeated over TCP",
            vec![Edit(
                "crates/fetch/src/dns/name_servers.rs",
                "NameServerConfig::udp_and_tcp(address.ip())",
                "NameServerConfig::udp(address.ip())",
            )],
            vec![Row],
        ),
    ]
}
