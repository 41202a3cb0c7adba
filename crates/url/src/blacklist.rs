//! Black lists of URLs, domains and address ranges that are never fetched, regardless of the scope (U11; Viuva Negra
//! 5.4).
//!
//! One entry per line; `#` starts a comment:
//!
//! ```text
//! https://example.org/trap            # this page, under either twin
//! https://example.org/calendar/*      # all URLs with this prefix
//! example.net                         # the domain and its subdomains
//! *.example.com                       # its subdomains, but neither the domain itself nor its www twin
//! example.edu:8080                    # this port of the host, but not its other ports
//! 192.0.2.0/24                        # every host with an address in this range
//! 2001:db8::1
//! path:/calendar/* and query:*        # a filter expression: see `filter`
//! ```
//!
//! Each of these entries is also a valid test in a filter expression, so that a black list and `reject` share one
//! syntax. A filter in a black list cannot test depth, media type, size or language, because these are not known for
//! every URL.
//!
//! A list may contain many domains and address ranges. Checking a domain takes one or two hash look-ups per label.
//! Checking an address takes one look-up for each prefix length (such as `/24`) that occurs in the list.
//!
//! The file is long because the tests of every form of an entry are in it.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use crate::canonical::CanonUrl;
use crate::canonicaliser::Canonicaliser;
use crate::filter::{self, Filter};
use crate::key::{PageKey, SiteKey};
use crate::rules::UrlRules;
use crate::site;

/// A black list. The text of each entry is kept as the reason shown by `aranha why`.
#[derive(Clone, Debug, Default)]
pub struct Blacklist {
    pages: HashMap<PageKey, String>,
    /// Path prefixes and their entries, by site.
    prefixes: HashMap<SiteKey, Vec<(String, String)>>,
    domains: HashMap<String, String>,
    /// Domains whose subdomains are blocked, although the domain itself is not.
    below: HashMap<String, String>,
    /// Sites of entries with a port.
    sites: HashMap<SiteKey, String>,
    ranges: HashMap<Range, String>,
    /// Prefix lengths that occur in `ranges`, for IPv4 and IPv6.
    lengths: [BTreeSet<u8>; 2],
    filters: Vec<Filter>,
}

/// A network in CIDR form; the bits after the prefix are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Range {
    network: IpAddr,
    length: u8,
}

/// A line that is not a valid entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("black list, line {line}: `{entry}` is {problem}")]
pub struct BlacklistError {
    /// Line number, counted from 1.
    pub line: usize,
    /// The entry as written.
    pub entry: String,
    /// The error.
    pub problem: String,
}

impl Blacklist {
    /// Parses a list. The first invalid line is an error.
    pub fn parse_lines(text: &str) -> Result<Blacklist, BlacklistError> {
        let mut list = Blacklist::default();
        list.read(text)?;
        Ok(list)
    }

    /// Adds the entries of another list. If a line is invalid, no entry is added.
    pub fn extend_lines(&mut self, text: &str) -> Result<(), BlacklistError> {
        let mut more = Blacklist::parse_lines(text)?;
        self.pages.extend(more.pages);
        for (site, prefixes) in more.prefixes {
            let known = self.prefixes.entry(site).or_default();
            known.extend(
                prefixes
                    .into_iter()
                    .filter(|new| !known.contains(new))
                    .collect::<Vec<_>>(),
            );
        }
        self.domains.extend(more.domains);
        self.below.extend(more.below);
        self.sites.extend(more.sites);
        for filter in more.filters {
            if !self.filters.contains(&filter) {
                self.filters.push(filter);
            }
        }
        self.ranges.extend(more.ranges);
        for (own, new) in self.lengths.iter_mut().zip(&mut more.lengths) {
            own.append(new);
        }
        Ok(())
    }

    /// Parses an entry that is not a filter expression.
    pub(crate) fn of_entry(entry: &str) -> Result<Blacklist, String> {
        let mut list = Blacklist::default();
        list.add_entry(entry, &canonicaliser())?;
        Ok(list)
    }

    fn read(&mut self, text: &str) -> Result<(), BlacklistError> {
        let canonicaliser = canonicaliser();
        for (index, line) in text.lines().enumerate() {
            let entry = entry_of(line);
            if !entry.is_empty() {
                self.add(entry, &canonicaliser)
                    .map_err(|problem| BlacklistError {
                        line: index + 1,
                        entry: entry.to_owned(),
                        problem,
                    })?;
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: &str, canonicaliser: &Canonicaliser) -> Result<(), String> {
        if filter::is_expression(entry) {
            self.filters.push(filter(entry)?);
            return Ok(());
        }
        self.add_entry(entry, canonicaliser)
    }

    fn add_entry(&mut self, entry: &str, canonicaliser: &Canonicaliser) -> Result<(), String> {
        if entry.contains("://") {
            return self.add_url(entry, canonicaliser);
        }
        if let Some(url) = with_port(entry) {
            let url = canonicaliser.canon(&url).map_err(|rejected| {
                format!("not a host and port that can be blocked: {rejected}")
            })?;
            self.sites.insert(url.site_key(), entry.to_owned());
            return Ok(());
        }
        if let Some(range) = Range::parse(entry)? {
            self.lengths[range.family()].insert(range.length);
            self.ranges.insert(range, entry.to_owned());
            return Ok(());
        }
        let domain = domain_name(entry)
            .ok_or("not a URL, domain, host and port, address, address range or filter")?;
        let list = if entry.starts_with("*.") {
            &mut self.below
        } else {
            &mut self.domains
        };
        list.insert(domain, entry.to_owned());
        Ok(())
    }

    fn add_url(&mut self, entry: &str, canonicaliser: &Canonicaliser) -> Result<(), String> {
        let (text, open) = entry
            .strip_suffix('*')
            .map_or((entry, false), |text| (text, true));
        let url = canonicaliser
            .canon(text)
            .map_err(|rejected| format!("not a URL that can be blocked: {rejected}"))?;
        if open {
            let prefix = (url.path().to_owned(), entry.to_owned());
            self.prefixes
                .entry(url.site_key())
                .or_default()
                .push(prefix);
        } else {
            self.pages.insert(url.key(), entry.to_owned());
        }
        Ok(())
    }

    /// The entry that matches this URL, its domain, or the IP address that is its host.
    pub fn url(&self, url: &CanonUrl) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        self.page(url).or_else(|| self.site(url)).or_else(|| {
            let filter = self.filters.iter().find(|filter| filter.matches(url, 0));
            filter.map(Filter::as_str)
        })
    }

    /// The entry that blocks the whole host of this URL.
    pub fn site(&self, url: &CanonUrl) -> Option<&str> {
        self.domain(url.host())
            .or_else(|| self.written_address(url.host()))
            .or_else(|| self.port(url))
            .or_else(|| {
                let by_host = self.filters.iter().filter(|filter| filter.is_by_host());
                let mut matching = by_host.filter(|filter| filter.matches(url, 0));
                matching.next().map(Filter::as_str)
            })
    }

    /// The entry for the host and port of this URL.
    fn port(&self, url: &CanonUrl) -> Option<&str> {
        if self.sites.is_empty() {
            return None;
        }
        self.sites.get(&url.site_key()).map(String::as_str)
    }

    fn page(&self, url: &CanonUrl) -> Option<&str> {
        if self.pages.is_empty() && self.prefixes.is_empty() {
            return None;
        }
        let key = url.key();
        let page = self.pages.get(&key);
        let prefix = || {
            let prefixes = self.prefixes.get(&key.site)?;
            prefixes
                .iter()
                .find(|(prefix, _)| url.path().starts_with(prefix))
                .map(|(_, entry)| entry)
        };
        page.or_else(prefix).map(String::as_str)
    }

    fn domain(&self, host: &str) -> Option<&str> {
        if self.domains.is_empty() && self.below.is_empty() || site::is_address(host) {
            return None;
        }
        let above = std::iter::successors(Some(host), |name| {
            name.split_once('.').map(|(_, rest)| rest)
        });
        let below = |name: &str| {
            let twin = host.strip_prefix("www.") == Some(name);
            self.below.get(name).filter(|_| name != host && !twin)
        };
        above
            .into_iter()
            .find_map(|name| self.domains.get(name).or_else(|| below(name)))
            .map(String::as_str)
    }

    fn written_address(&self, host: &str) -> Option<&str> {
        if self.ranges.is_empty() || !site::is_address(host) {
            return None;
        }
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .ok()?;
        self.address(address)
    }

    /// The entry whose range contains this address. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn address(&self, address: IpAddr) -> Option<&str> {
        let address = address.to_canonical();
        let lengths = &self.lengths[usize::from(address.is_ipv6())];
        lengths
            .iter()
            .rev()
            .find_map(|length| self.ranges.get(&Range::of(address, *length)))
            .map(String::as_str)
    }

    /// Whether the list has no entries.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
            && self.prefixes.is_empty()
            && self.domains.is_empty()
            && self.below.is_empty()
            && self.sites.is_empty()
            && self.ranges.is_empty()
            && self.filters.is_empty()
    }

    /// Whether every entry blocks whole hosts.
    pub(crate) fn blocks_hosts_only(&self) -> bool {
        self.pages.is_empty()
            && self.prefixes.is_empty()
            && self.filters.iter().all(Filter::is_by_host)
    }

    /// Whether the text is an IP address or a range of addresses.
    pub fn is_address_entry(entry: &str) -> bool {
        matches!(Range::parse(entry.trim()), Ok(Some(_)))
    }
}

impl Range {
    /// The network of an address with this prefix length, which must not exceed the length of the address.
    fn of(address: IpAddr, length: u8) -> Range {
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                IpAddr::from((u32::from(address) & mask).to_be_bytes())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                IpAddr::from((u128::from(address) & mask).to_be_bytes())
            }
        };
        Range { network, length }
    }

    /// Parses an address or a range; `None` if the text is neither.
    fn parse(text: &str) -> Result<Option<Range>, String> {
        let (address, length) = text
            .split_once('/')
            .map_or((text, None), |(address, length)| (address, Some(length)));
        let Ok(address) = address.trim_matches(['[', ']']).parse::<IpAddr>() else {
            return Ok(None);
        };
        let mapped = address.is_ipv6() && address.to_canonical().is_ipv4();
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => longest,
            Some(length) => match length.parse::<u8>() {
                Ok(length) if length <= longest => length,
                _ => {
                    return Err(format!(
                        "a range whose length is not between 0 and {longest}"
                    ));
                }
            },
        };
        if mapped && length >= 96 {
            return Ok(Some(Range::of(address.to_canonical(), length - 96)));
        }
        Ok(Some(Range::of(address, length)))
    }

    fn family(&self) -> usize {
        usize::from(self.network.is_ipv6())
    }
}

/// The canonicaliser for the URLs in entries.
fn canonicaliser() -> Canonicaliser {
    Canonicaliser::new(UrlRules {
        max_length: 0,
        max_repeats: 0,
        max_slashes: 0,
        ..UrlRules::default()
    })
}

/// Parses an entry that is a filter expression.
fn filter(entry: &str) -> Result<Filter, String> {
    let filter = Filter::parse(entry).map_err(|error| {
        let (column, problem) = (error.column, error.problem);
        format!(
            "not a valid filter: column {column}: {problem} ({})",
            error.hint
        )
    })?;
    let depth = filter.tests_depth().then_some("depth");
    match filter.response_test().or(depth) {
        None => Ok(filter),
        Some(test) => Err(format!(
            "a filter with the test `{test}`, which a black list does not have"
        )),
    }
}

/// The URL of the home page of an entry `HOST:PORT`.
fn with_port(entry: &str) -> Option<String> {
    let (host, port) = entry.rsplit_once(':')?;
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_port
        || host.is_empty()
        || host.contains(['/', '*'])
        || (host.contains(':') && !is_bracketed)
    {
        return None;
    }
    let scheme = if port == "443" { "https" } else { "http" };
    Some(format!("{scheme}://{entry}/"))
}

/// The entry in a line of a black list, without the comment. Empty if the line has no entry.
pub fn entry_of(line: &str) -> &str {
    without_comment(line.trim_start_matches('\u{feff}')).trim()
}

/// Removes the comment of a line. At the start of the line or after a space, a `#` starts a comment. Inside a URL, it
/// starts the fragment.
fn without_comment(line: &str) -> &str {
    let comment = line.match_indices('#').find(|(at, _)| {
        line[..*at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    });
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Removes a leading `*.` or `.` and returns the canonical domain name; `None` if the text is not a domain name.
pub(crate) fn domain_name(text: &str) -> Option<String> {
    let text = text
        .strip_prefix("*.")
        .or_else(|| text.strip_prefix('.'))
        .unwrap_or(text);
    let text = text.strip_suffix('.').unwrap_or(text);
    let url::Host::Domain(name) = url::Host::parse(text).ok()? else {
        return None;
    };
    let valid = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.split('.').all(valid).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\u{feff}# a comment\n\
        https://www.example.org/trap#part   # the fragment is not a comment\n\
        http://example.org/calendar/*\r\n\
        \n\
        example.net\n\
        *.Bücher.example\n\
        10.0.0.0/8\n\
        192.0.2.77\n\
        2001:db8::/32\n\
        ::ffff:198.51.100.0/120\n";

    #[track_caller]
    fn check_url(url: &str, expected: Option<&str>) {
        let list = Blacklist::parse_lines(LIST).expect("valid");
        let url = Canonicaliser::default().canon(url).expect("valid");
        assert_eq!(list.url(&url), expected, "{url}");
    }

    #[test]
    fn an_invalid_list_adds_no_entry() {
        let mut list = Blacklist::parse_lines(LIST).expect("valid");
        let url = |text| Canonicaliser::default().canon(text).expect("valid");
        let (one, other) = (url("https://one.example/"), url("https://example.org/trap"));
        let error = list
            .extend_lines("one.example\n203.0.113.0/24\n/no/entry\n")
            .expect_err("no entry");
        assert_eq!(error.line, 3);
        assert_eq!(list.url(&one), None);
        assert_eq!(list.address([203, 0, 113, 5].into()), None);
        let lines = "one.example\n203.0.113.0/24\nexample.org\n";
        list.extend_lines(lines).expect("valid");
        list.extend_lines(lines).expect("once more");
        assert_eq!(list.url(&one), Some("one.example"));
        let range = Some("203.0.113.0/24");
        assert_eq!(list.address([203, 0, 113, 5].into()), range);
        assert!(list.url(&other).is_some_and(|entry| entry.contains("trap")));
        assert_eq!(
            list.site(&other),
            Some("example.org"),
            "the entry for the whole site is found too"
        );
    }

    #[track_caller]
    fn check_address(address: &str, expected: Option<&str>) {
        let list = Blacklist::parse_lines(LIST).expect("valid");
        assert_eq!(
            list.address(address.parse().expect("address")),
            expected,
            "{address}"
        );
    }

    #[test]
    fn urls() {
        check_url(
            "http://example.org/trap",
            Some("https://www.example.org/trap#part"),
        );
        check_url("http://example.org/trap/x", None);
        check_url(
            "https://example.org/calendar/2024/",
            Some("http://example.org/calendar/*"),
        );
        check_url("https://example.org/calendar", None);
        check_url("http://example.net/", Some("example.net"));
        check_url("http://a.b.example.net:8080/x", Some("example.net"));
        check_url("http://anexample.net/", None);
        check_url("http://fair.bücher.example/", Some("*.Bücher.example"));
        check_url("http://www.bücher.example/", None);
        check_url("http://bücher.example/", None);
        check_url("http://www.fair.bücher.example/", Some("*.Bücher.example"));
        check_url("http://10.1.2.3/", Some("10.0.0.0/8"));
        check_url("http://[2001:db8::5]/", Some("2001:db8::/32"));
        check_url("http://11.1.2.3/", None);
    }

    #[test]
    fn addresses() {
        check_address("10.255.0.1", Some("10.0.0.0/8"));
        check_address("::ffff:10.255.0.1", Some("10.0.0.0/8"));
        check_address("192.0.2.77", Some("192.0.2.77"));
        check_address("192.0.2.78", None);
        check_address("2001:db8:1::9", Some("2001:db8::/32"));
        check_address("2001:db9::9", None);
        check_address("198.51.100.200", Some("::ffff:198.51.100.0/120"));
        check_address("198.51.101.1", None);
    }

    #[test]
    fn whole_families() {
        let list = Blacklist::parse_lines("0.0.0.0/0\n::/0").expect("valid");
        assert_eq!(
            list.address("203.0.113.9".parse().expect("address")),
            Some("0.0.0.0/0")
        );
        assert_eq!(
            list.address("2001:db8::1".parse().expect("address")),
            Some("::/0")
        );
    }

    #[track_caller]
    fn check_error(text: &str, sentence: &str) {
        assert_eq!(
            Blacklist::parse_lines(text).expect_err(text).to_string(),
            sentence
        );
    }

    #[test]
    fn an_entry_with_a_port_blocks_only_that_port() {
        let text = "example.org:8080\nexample.net:443\n127.0.0.1:81\n[::1]:81\n";
        let list = Blacklist::parse_lines(text).expect("valid");
        let check = |url: &str, expected: Option<&str>| {
            let url = Canonicaliser::default().canon(url).expect("valid");
            assert_eq!(list.url(&url), expected, "{url}");
            assert_eq!(list.site(&url), expected, "{url}");
        };
        check("http://example.org:8080/a", Some("example.org:8080"));
        check("http://www.example.org:8080/", Some("example.org:8080"));
        check("http://example.org/", None);
        check("http://example.org:8081/", None);
        check("http://a.example.org:8080/", None);
        check("https://example.net/", Some("example.net:443"));
        check("http://127.0.0.1:81/", Some("127.0.0.1:81"));
        check("http://127.0.0.1/", None);
        check("http://[::1]:81/", Some("[::1]:81"));
        assert_eq!(list.address([127, 0, 0, 1].into()), None);
    }

    #[test]
    fn filters_are_entries() {
        let text = "path:/calendar/* and query:*  # endless\nhost:*.spam.example\n";
        let list = Blacklist::parse_lines(text).expect("valid");
        let check = |url: &str, entry: Option<&str>, whole_site: bool| {
            let url = Canonicaliser::default().canon(url).expect("valid");
            assert_eq!(list.url(&url), entry, "{url}");
            assert_eq!(list.site(&url).is_some(), whole_site, "{url}");
        };
        let calendar = Some("path:/calendar/* and query:*");
        check("http://example.org/calendar/?m=1", calendar, false);
        check("http://example.org/calendar/", None, false);
        let spam = Some("host:*.spam.example");
        check("http://a.spam.example/x", spam, true);
        check_error(
            "depth<3",
            "black list, line 1: `depth<3` is a filter with the test `depth`, which a black list does not have",
        );
        check_error(
            "type:text/html and path:/a/*",
            "black list, line 1: `type:text/html and path:/a/*` is a filter with the test `type`, which a black list does not have",
        );
        check_error(
            "path:a",
            "black list, line 1: `path:a` is not a valid filter: column 6: a path begins with `/` (write path:/… or path:*…)",
        );
    }

    #[test]
    fn errors() {
        check_error(
            "a.org\nnot a domain",
            "black list, line 2: `not a domain` is not a URL, domain, host and port, address, address range or filter",
        );
        check_error(
            "10.0.0.0/33",
            "black list, line 1: `10.0.0.0/33` is a range whose length is not between 0 and 32",
        );
        check_error(
            "ftp://example.org/",
            "black list, line 1: `ftp://example.org/` is not a URL that can be blocked: the scheme is `ftp`, not http or https",
        );
        assert!(
            Blacklist::parse_lines("# nothing\n\n")
                .expect("valid")
                .is_empty()
        );
    }
}
