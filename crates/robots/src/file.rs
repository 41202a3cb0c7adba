//! Parser of robots.txt files (RFC 9309, 2.1 and 2.2).
//!
//! `User-agent` lines start a group, and the `Allow` and `Disallow` lines below belong to it. The first `User-agent`
//! line after a rule starts the next group. Blank lines, `Crawl-delay`, `Sitemap` and unknown records do not end a
//! group (2.2.4). Agents that are separated only by a `Crawl-delay` therefore share one group, and a remark reports
//! this. `Crawl-delay` is not part of the RFC. It applies to the agents directly above it, or to all agents if it
//! precedes every agent.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::line::{self, LineFault, RobotsLine};
use crate::pattern::Pattern;
use crate::product_token;
use crate::rules::{RobotsRules, Rule};

/// Maximum number of bytes of a file that are parsed (RFC 9309, 2.5). A longer file is cut at the end of a line.
const MAX_FILE_SIZE: usize = 500 * 1024;
/// Maximum number of remarks kept per file. An HTML page served as robots.txt would have thousands.
const MAX_REMARKS: usize = 100;
/// A longer Crawl-delay is shortened to one day, because robots.txt is fetched again after one day.
const MAX_DELAY: Duration = Duration::from_hours(24);

/// A parsed file; [`Robots::agent`] extracts the rules of one agent.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    groups: Vec<AgentGroup>,
    /// `Crawl-delay` above the first `User-agent` line. It applies to agents without a delay of their own.
    delay: Option<Duration>,
    sitemaps: Vec<String>,
    remarks: Vec<RobotsRemark>,
}

#[derive(Clone, Debug)]
struct AgentGroup {
    agents: Vec<Agent>,
    rules: Vec<Rule>,
    /// The longest delay of each part of the group. A part ends when an agent follows a `Crawl-delay`. Never empty.
    delays: Vec<Option<Duration>>,
    /// Whether the group has an `Allow` or `Disallow` line, even one without a value. If so, the next agent starts a
    /// new group.
    closed: bool,
}

#[derive(Clone, Debug)]
struct Agent {
    /// Product token in lower case, or `*`.
    name: String,
    /// Index into the group's delays.
    part: usize,
}

/// A tolerated error in the file, displayed as `line 3: …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RobotsRemark {
    /// Line number, counted from 1.
    pub line: u32,
    /// The error, and how the line was interpreted.
    pub text: Cow<'static, str>,
}

impl fmt::Display for RobotsRemark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.text)
    }
}

impl AgentGroup {
    fn new(name: String) -> AgentGroup {
        AgentGroup {
            agents: vec![Agent { name, part: 0 }],
            rules: Vec::new(),
            delays: vec![None],
            closed: false,
        }
    }

    /// Adds an agent. Returns true if the group has a `Crawl-delay` line before this agent.
    fn join(&mut self, name: String) -> bool {
        if self.delays.last().is_some_and(Option::is_some) {
            self.delays.push(None);
        }
        let part = self.delays.len() - 1;
        self.agents.push(Agent { name, part });
        part > 0
    }

    fn delays_of(&self, name: &str) -> impl Iterator<Item = Option<Duration>> {
        self.agents
            .iter()
            .filter(move |agent| agent.name == name)
            .map(|agent| self.delays[agent.part])
    }

    fn names(&self, name: &str) -> bool {
        self.agents.iter().any(|agent| agent.name == name)
    }
}

impl Robots {
    /// Parses any bytes; reads at most the first 500 KiB.
    pub fn parse(bytes: &[u8]) -> Robots {
        let bytes = decoded(bytes);
        let (bytes, cut) = within_limit(&bytes);
        let mut robots = Robots::default();
        let mut number = 0;
        for line in lines(bytes) {
            number += 1;
            robots.take(line, number);
        }
        if cut {
            robots.remark(
                number,
                "the file is longer than 500 KiB; the rest is ignored",
            );
        }
        robots
    }

    /// Returns rules that allow everything. They are used if robots.txt is unavailable (4xx).
    pub fn allow_all() -> Robots {
        Robots::default()
    }

    /// Returns rules that deny everything. They are used if robots.txt is unreachable.
    pub fn deny_all() -> Robots {
        let everything = Rule {
            allow: false,
            line: 0,
            text: "robots.txt could not be fetched; nothing else is fetched until it can be".into(),
            pattern: Pattern::new(b"/"),
        };
        let mut group = AgentGroup::new("*".to_owned());
        group.rules.push(everything);
        Robots {
            groups: vec![group],
            ..Robots::default()
        }
    }

    /// The rules for one product token, such as `aranha`, merged from all groups that name it. If no group names it,
    /// these are the rules of `*`. A complete User-Agent header is accepted too.
    pub fn agent(&self, product: &str) -> RobotsRules {
        let product = product_token(product).to_ascii_lowercase();
        if !product.is_empty() && self.groups.iter().any(|group| group.names(&product)) {
            self.named(&product)
        } else {
            self.named("*")
        }
    }

    fn named(&self, name: &str) -> RobotsRules {
        let groups = || self.groups.iter().filter(|group| group.names(name));
        let rules = groups()
            .flat_map(|group| group.rules.iter().cloned())
            .collect();
        let delay = groups()
            .flat_map(|group| group.delays_of(name))
            .max()
            .flatten();
        RobotsRules::new(rules, delay.or(self.delay))
    }

    /// Values of the `Sitemap` lines, as written. They apply to every agent.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// The first hundred tolerated errors.
    pub fn remarks(&self) -> &[RobotsRemark] {
        &self.remarks
    }

    fn remark(&mut self, line: u32, text: impl Into<Cow<'static, str>>) {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(RobotsRemark {
                line,
                text: text.into(),
            });
        }
    }

    fn take(&mut self, text: &[u8], number: u32) {
        let (line, slip) = line::read(text);
        match slip {
            Some(LineFault::NoColon) => {
                let text = "the colon is missing; the line is read as if it were there";
                self.remark(number, text);
            }
            Some(LineFault::Misspelt) => {
                let text = "the field name is misspelt; read as the field it resembles";
                self.remark(number, text);
            }
            None => {}
        }
        match line {
            RobotsLine::Blank | RobotsLine::Other => {}
            RobotsLine::Garbage => self.remark(number, "not a known record; ignored"),
            RobotsLine::Agent(name) => self.agent_line(name, number),
            RobotsLine::Allow(value) => self.rule_line(true, value, text, number),
            RobotsLine::Disallow(value) => self.rule_line(false, value, text, number),
            RobotsLine::Delay(value) => self.delay_line(value, number),
            RobotsLine::Sitemap([]) => {
                self.remark(number, "a Sitemap without a URL; ignored");
            }
            RobotsLine::Sitemap(value) => self
                .sitemaps
                .push(String::from_utf8_lossy(value).into_owned()),
        }
    }

    fn agent_line(&mut self, name: &[u8], number: u32) {
        let name = String::from_utf8_lossy(name);
        let everyone = name
            .strip_prefix('*')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        let agent = if everyone {
            "*".to_owned()
        } else {
            product_token(&name).to_ascii_lowercase()
        };
        if agent.is_empty() {
            self.remark(
                number,
                "no agent is named; the rules below apply only to the other agents of the group",
            );
        } else if agent.len() < name.len() {
            self.remark(
                number,
                format!("read as `{agent}`; a product token consists of letters, digits, - and _"),
            );
        }
        let shared = match self.groups.last_mut() {
            Some(group) if !group.closed => group.join(agent),
            _ => {
                self.groups.push(AgentGroup::new(agent));
                false
            }
        };
        if shared {
            self.remark(number, "there is no Allow or Disallow since the agents above; all of them share the rules below (RFC 9309, 2.2.1)");
        }
    }

    fn rule_line(&mut self, allow: bool, value: &[u8], text: &[u8], number: u32) {
        let Some(group) = self.groups.last_mut() else {
            self.remark(number, "a rule before any User-agent line; ignored");
            return;
        };
        group.closed = true;
        // An empty value matches nothing (RFC 9309, 2.2), so `Disallow:` allows everything.
        if value.is_empty() {
            return;
        }
        let (path, fault) = rooted(value);
        group.rules.push(Rule {
            allow,
            line: number,
            text: written(text).into(),
            pattern: Pattern::new(&path),
        });
        if let Some(fault) = fault {
            self.remark(number, fault);
        }
    }

    fn delay_line(&mut self, value: &[u8], number: u32) {
        let delay = delay(value);
        match (self.groups.last_mut(), delay) {
            (Some(group), Some(delay)) => {
                if let Some(longest) = group.delays.last_mut() {
                    *longest = (*longest).max(Some(delay));
                }
            }
            (None, Some(delay)) => {
                self.delay = self.delay.max(Some(delay));
                self.remark(
                    number,
                    "a Crawl-delay before any User-agent line; applied to all agents without one of their own",
                );
            }
            (_, None) => self.remark(
                number,
                "the Crawl-delay is not a number of seconds; ignored",
            ),
        }
    }
}

/// Returns the path of a rule, and a remark if the value is not a path. A URL is reduced to its path, and a missing `/`
/// at the start is added.
fn rooted(value: &[u8]) -> (Cow<'_, [u8]>, Option<&'static str>) {
    if matches!(value.first(), Some(b'/' | b'*')) {
        return (Cow::Borrowed(value), None);
    }
    let lower: Vec<u8> = value.iter().take(8).map(u8::to_ascii_lowercase).collect();
    let authority = [b"http://".as_slice(), b"https://"]
        .into_iter()
        .find(|scheme| lower.starts_with(scheme));
    if let Some(scheme) = authority {
        let after = &value[scheme.len()..];
        let path = memchr::memchr(b'/', after).map_or(b"/".as_slice(), |slash| &after[slash..]);
        return (
            Cow::Borrowed(path),
            Some("a URL instead of a path; only its path is used"),
        );
    }
    let path = [b"/", value].concat();
    (
        Cow::Owned(path),
        Some("the path does not start with `/`; read as if it did"),
    )
}

/// Reads a number of seconds. The decimal separator may be a point or a comma.
fn delay(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?;
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !matches!(
        unit.trim().to_ascii_lowercase().as_str(),
        "" | "s" | "sec" | "secs" | "seconds"
    ) {
        return None;
    }
    let seconds: f64 = number.replace(',', ".").parse().ok()?;
    Some(
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(MAX_DELAY)
            .min(MAX_DELAY),
    )
}

/// The line as written, without its comment and surrounding white space.
fn written(line: &[u8]) -> String {
    let line = memchr::memchr(b'#', line).map_or(line, |mark| &line[..mark]);
    String::from_utf8_lossy(line::trimmed(line)).into_owned()
}

/// Removes the byte order mark, even a truncated one (as Google does). Decodes UTF-16 if the mark indicates it.
fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units = bytes[2..]
            .chunks_exact(2)
            .take(MAX_FILE_SIZE)
            .map(|pair| read([pair[0], pair[1]]));
        let text: String = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        Cow::Owned(text.into_bytes())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] | [0xef, 0xbb, rest @ ..] | [0xef, rest @ ..] => {
            Cow::Borrowed(rest)
        }
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// Returns the first 500 KiB without the line that crosses the limit, because a truncated path would disallow too much.
/// The second value is true if the file was cut.
fn within_limit(bytes: &[u8]) -> (&[u8], bool) {
    if bytes.len() <= MAX_FILE_SIZE {
        return (bytes, false);
    }
    let whole_line = matches!(bytes[MAX_FILE_SIZE], b'\n' | b'\r');
    let head = &bytes[..MAX_FILE_SIZE];
    let end = if whole_line {
        MAX_FILE_SIZE
    } else {
        memchr::memrchr2(b'\n', b'\r', head).unwrap_or(0)
    };
    (&head[..end], true)
}

/// Splits at CR, LF or CR LF.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) else {
            rest = None;
            return Some(bytes);
        };
        let both = bytes[end..].starts_with(b"\r\n");
        rest = Some(&bytes[end + 1 + usize::from(both)..]);
        Some(&bytes[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &[u8], path: &str, rule: Option<&str>) {
        let rules = Robots::parse(file).agent("aranha");
        let decision = rules.judge(path);
        assert_eq!(
            decision.rule.map(|rule| rule.to_string()).as_deref(),
            rule,
            "{path}"
        );
    }

    #[test]
    fn line_ends_and_byte_order_marks() {
        let rule = Some("line 2: Disallow: /x");
        check(b"User-agent: *\nDisallow: /x\n", "/x", rule);
        check(b"User-agent: *\r\nDisallow: /x", "/x", rule);
        check(b"User-agent: *\rDisallow: /x\r", "/x", rule);
        check(b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", "/x", rule);
        check(
            b"User-agent: *\n\n\r\nDisallow: /x",
            "/x",
            Some("line 4: Disallow: /x"),
        );
        let wide: Vec<u8> = "\u{feff}User-agent: *\nDisallow: /x"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        check(&wide, "/x", rule);
        check(
            b"User-agent: *\nDisallow: /\xff\xfe",
            "/%FF%FE",
            Some("line 2: Disallow: /\u{fffd}\u{fffd}"),
        );
        check(b"", "/x", None);
        check(b"\xff\xfe", "/x", None);
    }

    #[test]
    fn a_long_file_is_cut_at_a_line() {
        let mut file = b"User-agent: *\nDisallow: /a\n".to_vec();
        file.resize(MAX_FILE_SIZE - 12, b'\n');
        file.extend(b"Disallow: /long/path\nDisallow: /b\n");
        let robots = Robots::parse(&file);
        assert!(
            robots.agent("x").judge("/lo").allowed,
            "a truncated line is not a rule"
        );
        assert!(!robots.agent("x").judge("/a").allowed);
        assert!(robots.agent("x").judge("/b").allowed);
        assert_eq!(robots.remarks().len(), 1);

        let mut file = b"User-agent: *\n".to_vec();
        file.resize(MAX_FILE_SIZE - 12, b'\n');
        file.extend(b"Disallow: /b\nDisallow: /c");
        let robots = Robots::parse(&file);
        assert!(
            !robots.agent("x").judge("/b").allowed,
            "a line that ends at the limit is read"
        );
        assert!(robots.agent("x").judge("/c").allowed);
    }

    #[test]
    fn missing_files_and_html_pages() {
        let denied = Robots::deny_all().agent("aranha");
        assert!(!denied.judge("/").allowed && !denied.judge("/x?y").allowed);
        assert!(denied.judge("/robots.txt").allowed);
        let reason = denied.judge("/").rule.map(|rule| rule.to_string());
        assert_eq!(
            reason.as_deref(),
            Some("robots.txt could not be fetched; nothing else is fetched until it can be")
        );
        assert!(Robots::allow_all().agent("aranha").judge("/").allowed);
        let page = "<!DOCTYPE html>\n<p>Not found\n".repeat(1000);
        let robots = Robots::parse(page.as_bytes());
        assert!(robots.agent("aranha").judge("/").allowed);
        assert_eq!(robots.remarks().len(), MAX_REMARKS);
    }

    #[test]
    fn delays() {
        for (value, expected) in [
            ("10", Some(10_000)),
            ("0.5", Some(500)),
            ("1,5", Some(1500)),
            ("5 s", Some(5000)),
            ("0", Some(0)),
            ("99999999", Some(86_400_000)),
            ("1e400", None),
            ("-1", None),
            ("inf", None),
            ("NaN", None),
            ("soon", None),
            ("5 minutes", None),
            ("", None),
            (".", None),
            ("1.2.3", None),
        ] {
            assert_eq!(
                delay(value.as_bytes()),
                expected.map(Duration::from_millis),
                "{value}"
            );
        }
    }

    #[test]
    fn remarks_have_line_numbers() {
        let robots = Robots::parse(b"Disallow: /a\nUseragent: *\nDisallow b\nCrawl-delay: soon\nfoo\nAllow: https://example.org/c\n");
        let remarks: Vec<String> = robots.remarks().iter().map(ToString::to_string).collect();
        assert_eq!(
            remarks,
            [
                "line 1: a rule before any User-agent line; ignored",
                "line 2: the field name is misspelt; read as the field it resembles",
                "line 3: the colon is missing; the line is read as if it were there",
                "line 3: the path does not start with `/`; read as if it did",
                "line 4: the Crawl-delay is not a number of seconds; ignored",
                "line 5: not a known record; ignored",
                "line 6: a URL instead of a path; only its path is used",
            ]
        );
        assert!(!robots.agent("x").judge("/b").allowed);
    }
}
