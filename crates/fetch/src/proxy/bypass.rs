//! Hosts that are reached without the proxy: the option `no_proxy`, with the syntax of the environment variable that
//! curl reads.

use std::net::IpAddr;

use crate::dns::ip_literal;

/// The entries of `no_proxy`.
///
/// - `example.org`, `.example.org` and `*.example.org` stand for the host and its subdomains. (curl ignores the last
///   form.)
/// - `192.0.2.1`, `[2001:db8::1]` and `10.0.0.0/8` stand for URLs with such an address. Names are not looked up.
/// - `*` stands for all hosts.
///
/// The comparison of names ignores case and a trailing dot.
#[derive(Debug, Default)]
pub(crate) struct Bypass {
    all: bool,
    /// Names in lower case.
    domains: Vec<String>,
    networks: Vec<Network>,
}

#[derive(Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Bypass {
    /// Invalid entries match no host.
    pub(crate) fn new(entries: &[String]) -> Bypass {
        let mut bypass = Bypass::default();
        for entry in entries {
            match Entry::parse(entry) {
                Some(Entry::All) => bypass.all = true,
                Some(Entry::Domain(name)) => bypass.domains.push(name),
                Some(Entry::Network(network)) => bypass.networks.push(network),
                None => {}
            }
        }
        bypass
    }

    /// Whether a host is reached without the proxy.
    pub(crate) fn contains(&self, host: &str) -> bool {
        if self.all {
            return true;
        }
        if let Some(address) = ip_literal(host) {
            return self
                .networks
                .iter()
                .any(|network| network.contains(address));
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.domains.iter().any(|domain| {
            host.strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
}

/// Whether a text is an entry of `no_proxy`.
pub fn is_bypass_entry(text: &str) -> bool {
    Entry::parse(text).is_some()
}

enum Entry {
    All,
    Domain(String),
    Network(Network),
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        let text = text.trim();
        if text == "*" {
            return Some(Entry::All);
        }
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
            None => (text, None),
        };
        if let Some(address) = ip_literal(address) {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let prefix = prefix.unwrap_or(bits);
            return (prefix <= bits).then_some(Entry::Network(Network { address, prefix }));
        }
        let name = text.strip_prefix('*').unwrap_or(text);
        let name = name.trim_start_matches('.').trim_end_matches('.');
        let is_name = !name.is_empty()
            && !name.contains(|c: char| c.is_whitespace() || "/:*@?#[],".contains(c));
        is_name.then(|| Entry::Domain(name.to_ascii_lowercase()))
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        let (difference, bits) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits() ^ other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits(), 128),
            _ => return false,
        };
        difference.checked_shr(bits - self.prefix).unwrap_or(0) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entries: &str, host: &str, expected: bool) {
        let entries: Vec<_> = entries.split(',').map(str::to_owned).collect();
        assert_eq!(
            Bypass::new(&entries).contains(host),
            expected,
            "{entries:?}: {host}"
        );
    }

    /// Most cases are from the documentation and the tests of curl. The others are forms that people write.
    #[test]
    fn hosts_match_as_in_curl() {
        for entry in [
            "example.org",
            ".example.org",
            "Example.ORG.",
            "*.example.org",
        ] {
            check(entry, "example.org", true);
            check(entry, "www.example.org", true);
            check(entry, "a.b.Example.org.", true);
            check(entry, "notexample.org", false);
            check(entry, "example.org.evil.test", false);
            check(entry, "org", false);
        }
        check("localhost, 127.0.0.0/8 ,::1", "localhost", true);
        check("localhost, 127.0.0.0/8 ,::1", "127.3.2.1", true);
        check("localhost, 127.0.0.0/8 ,::1", "[::1]", true);
        check("localhost, 127.0.0.0/8 ,::1", "128.0.0.1", false);
        check("192.0.2.1", "192.0.2.1", true);
        check("192.0.2.1", "192.0.2.10", false);
        check("192.0.2.0/31", "192.0.2.1", true);
        check("192.0.2.0/31", "192.0.2.2", false);
        check("192.0.2.1/0", "8.8.8.8", true);
        check("192.0.2.1/0", "[2001:db8::1]", false);
        check("[2001:db8::1]", "[2001:db8::1]", true);
        check("2001:db8::/32", "[2001:db8:1::2]", true);
        check("2001:db8::/32", "[2001:db9::2]", false);
        check("::/0", "[2001:db9::2]", true);
        check("*", "example.org", true);
        check("*", "192.0.2.1", true);
        check("", "example.org", false);
        // An address in the list is not compared with the names of hosts.
        check("192.0.2.1", "192.0.2.1.example.org", false);
    }

    #[test]
    fn invalid_entries_match_nothing() {
        for entry in [
            "192.0.2.0/33",
            "::/129",
            "10.0.0.0/x",
            "example.org:80",
            "http://example.org",
            ".",
            "",
        ] {
            assert!(!is_bypass_entry(entry), "{entry}");
            check(entry, "example.org", false);
            check(entry, "192.0.2.1", false);
        }
    }
}
