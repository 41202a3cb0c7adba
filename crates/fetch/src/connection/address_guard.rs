//! The address guard (invariant 3): decides to which addresses a connection may be opened.
//!
//! A name on the web can resolve to any address, including the crawler's own machine, its local network, or a cloud
//! metadata service. The guard checks the *address* of every connection. The check is inside `connect.rs`, so a name, a
//! redirect or a changed DNS answer cannot bypass it. If an IPv6 address embeds an IPv4 address, the guard checks the
//! IPv4 address.
//!
//! The refused ranges are those of the IANA special-purpose registries (RFC 6890 and its updates), multicast (RFC 5771,
//! RFC 4291), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056) and Teredo (RFC 4380). The option `allow_private` allows most
//! of them. Even with this option, the unspecified address, multicast, broadcast and the addresses on the black list
//! are refused.
//!
//! If a proxy resolves a name, aranha may not know the address of the server. The guard then checks the name itself. It
//! refuses a name that no public server can have: a name without a dot, or below one of the [`PRIVATE_DOMAINS`]. The
//! guard cannot refuse a public name that the proxy resolves to a private address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{PoisonError, RwLock};

use aranha_url::{Blacklist, BlacklistError};

use crate::{Failure, dns::ip_literal};

/// Whether `allow_private` allows a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RefusedRange {
    /// The range is refused unless `allow_private` is set.
    Special,
    /// The range is always refused, because no web server can have such an address.
    Always,
}

use RefusedRange::{Always, Special};

/// The refused IPv4 ranges. Each has an address, a prefix length, whether `allow_private` allows the range, and a
/// description for the user. The first range that contains an address applies.
const RANGES_V4: &[([u8; 4], u32, RefusedRange, &str)] = &[
    ([0, 0, 0, 0], 32, Always, "unspecified address"),
    ([255, 255, 255, 255], 32, Always, "broadcast address"),
    ([224, 0, 0, 0], 4, Always, "multicast, 224.0.0.0/4"),
    ([0, 0, 0, 0], 8, Special, "this network, 0.0.0.0/8"),
    ([10, 0, 0, 0], 8, Special, "private, 10.0.0.0/8"),
    (
        [100, 64, 0, 0],
        10,
        Special,
        "carrier-grade NAT, 100.64.0.0/10",
    ),
    ([127, 0, 0, 0], 8, Special, "loopback, 127.0.0.0/8"),
    ([169, 254, 0, 0], 16, Special, "link-local, 169.254.0.0/16"),
    ([172, 16, 0, 0], 12, Special, "private, 172.16.0.0/12"),
    (
        [192, 0, 0, 0],
        24,
        Special,
        "protocol assignments, 192.0.0.0/24",
    ),
    ([192, 0, 2, 0], 24, Special, "documentation, 192.0.2.0/24"),
    ([192, 88, 99, 0], 24, Special, "6to4 relays, 192.88.99.0/24"),
    ([192, 168, 0, 0], 16, Special, "private, 192.168.0.0/16"),
    ([198, 18, 0, 0], 15, Special, "benchmarking, 198.18.0.0/15"),
    (
        [198, 51, 100, 0],
        24,
        Special,
        "documentation, 198.51.100.0/24",
    ),
    (
        [203, 0, 113, 0],
        24,
        Special,
        "documentation, 203.0.113.0/24",
    ),
    ([240, 0, 0, 0], 4, Special, "reserved, 240.0.0.0/4"),
];

/// The refused IPv6 ranges, in the same form as [`RANGES_V4`]. An embedded IPv4 address is checked before this table.
const RANGES_V6: &[(u128, u32, RefusedRange, &str)] = &[
    (0, 128, Always, "unspecified address"),
    (0xff << 120, 8, Always, "multicast, ff00::/8"),
    (1, 128, Special, "loopback, ::1"),
    (
        0x0064_ff9b_0001 << 80,
        48,
        Special,
        "local NAT64, 64:ff9b:1::/48",
    ),
    (0x0100 << 112, 64, Special, "discard-only, 100::/64"),
    (0xfc << 120, 7, Special, "unique local, fc00::/7"),
    (0xfe80 << 112, 10, Special, "link-local, fe80::/10"),
    (0xfec0 << 112, 10, Special, "site-local, fec0::/10"),
    (0x2001_0002 << 96, 48, Special, "benchmarking, 2001:2::/48"),
    (0x2001_0010 << 96, 28, Special, "ORCHID, 2001:10::/28"),
    (0x2001_0020 << 96, 28, Special, "ORCHIDv2, 2001:20::/28"),
    (
        0x2001_0db8 << 96,
        32,
        Special,
        "documentation, 2001:db8::/32",
    ),
    (0x3fff << 112, 20, Special, "documentation, 3fff::/20"),
];

/// Domains below which no public host exists: RFC 6761, RFC 6762 with its appendix G, RFC 8375, and names that ICANN
/// does not delegate.
const PRIVATE_DOMAINS: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
];

/// The address guard. All fetches of a [`Fetcher`](crate::Fetcher) share it.
#[derive(Debug)]
pub(crate) struct AddressGuard {
    allow_private: bool,
    /// Lines may be added during the crawl.
    blacklist: RwLock<Blacklist>,
}

impl AddressGuard {
    pub(crate) fn new(allow_private: bool, blacklist: Blacklist) -> AddressGuard {
        AddressGuard {
            allow_private,
            blacklist: RwLock::new(blacklist),
        }
    }

    /// Adds lines to the black list. Their addresses are refused from now on.
    pub(crate) fn extend_blacklist(&self, lines: &str) -> Result<(), BlacklistError> {
        let blacklist = self.blacklist.write();
        let mut blacklist = blacklist.unwrap_or_else(PoisonError::into_inner);
        blacklist.extend_lines(lines)
    }

    /// Returns an error if the address is refused.
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), Failure> {
        match self.refusal(address) {
            None => Ok(()),
            Some(rule) => Err(Failure::AddressRefused { address, rule }),
        }
    }

    /// Returns an error if the name of a host is refused. Called if aranha does not know the address of the host. An IP
    /// literal is checked as an address.
    pub(crate) fn check_name(&self, host: &str) -> Result<(), Failure> {
        if let Some(address) = ip_literal(host) {
            return self.check(address);
        }
        if self.allow_private || !is_private_name(host) {
            return Ok(());
        }
        let rule = format!("`{host}` is not the name of a public host");
        Err(Failure::NameRefused {
            rule: with_remedy(Special, &rule),
        })
    }

    /// Whether the address is allowed without `allow_private`.
    pub(crate) fn is_public(address: IpAddr) -> bool {
        AddressGuard::new(false, Blacklist::default())
            .check(address)
            .is_ok()
    }

    fn refusal(&self, address: IpAddr) -> Option<String> {
        let blacklist = self.blacklist.read();
        let blacklist = blacklist.unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = blacklist.address(address) {
            return Some(format!("black-list entry {entry}"));
        }
        drop(blacklist);
        match address {
            IpAddr::V4(address) => self.refusal_v4(address),
            IpAddr::V6(address) => self.refusal_v6(address),
        }
    }

    fn refusal_v4(&self, address: Ipv4Addr) -> Option<String> {
        let bits = address.to_bits();
        RANGES_V4
            .iter()
            .find(|(base, length, ..)| (bits ^ u32::from_be_bytes(*base)) >> (32 - length) == 0)
            .filter(|(_, _, range, _)| self.refuses(*range))
            .map(|(_, _, range, rule)| with_remedy(*range, rule))
    }

    fn refusal_v6(&self, address: Ipv6Addr) -> Option<String> {
        for (form, embedded) in embedded_v4(address) {
            if let Some(rule) = self.refusal(IpAddr::V4(embedded)) {
                return Some(format!("{form} of {embedded}: {rule}"));
            }
        }
        let bits = address.to_bits();
        let range = RANGES_V6
            .iter()
            .find(|(base, length, ..)| (bits ^ base) >> (128 - length) == 0);
        if let Some((_, _, range, rule)) = range {
            return self.refuses(*range).then(|| with_remedy(*range, rule));
        }
        let global_unicast = bits >> 125 == 1;
        let is_reserved =
            !global_unicast && embedded_v4(address).next().is_none() && !self.allow_private;
        is_reserved.then(|| with_remedy(Special, "reserved, outside 2000::/3"))
    }

    fn refuses(&self, range: RefusedRange) -> bool {
        range == Always || !self.allow_private
    }
}

/// Whether a name has no dot, or is below one of the [`PRIVATE_DOMAINS`].
fn is_private_name(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_below = |domain: &&str| {
        let rest = name.strip_suffix(*domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.contains('.') || PRIVATE_DOMAINS.iter().any(is_below)
}

/// The description of a range, with the flag that allows it.
fn with_remedy(range: RefusedRange, rule: &str) -> String {
    match range {
        Special => format!("{rule} (--allow-private allows it)"),
        Always => rule.to_owned(),
    }
}

/// The IPv4 addresses that an IPv6 address embeds, each with the name of the embedding (such as 6to4).
fn embedded_v4(address: Ipv6Addr) -> impl Iterator<Item = (&'static str, Ipv4Addr)> {
    let bits = address.to_bits();
    let last = Ipv4Addr::from_bits(bits as u32);
    let forms: [Option<(&'static str, Ipv4Addr)>; 2] = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] => [Some(("IPv4-mapped form", last)), None],
        [0, 0, 0, 0, 0xffff, 0, ..] => [Some(("IPv4-translated form", last)), None],
        [0, 0, 0, 0, 0, 0, ..] if bits > 1 => [Some(("IPv4-compatible form", last)), None],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [Some(("NAT64 form", last)), None],
        [0x64, 0xff9b, 1, ..] => [Some(("local NAT64 form", last)), None],
        [0x2002, ..] => [
            Some(("6to4 form", Ipv4Addr::from_bits((bits >> 80) as u32))),
            None,
        ],
        [0x2001, 0, ..] => [
            Some(("Teredo form", Ipv4Addr::from_bits(!(bits as u32)))),
            Some(("Teredo server", Ipv4Addr::from_bits((bits >> 64) as u32))),
        ],
        _ => [None, None],
    };
    forms.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `by_default` says whether the address is refused without `allow_private`, and `always` whether it is refused
    /// with `allow_private`.
    fn check(address: &str, by_default: bool, always: bool) {
        let address: IpAddr = address.parse().expect("the address is valid");
        let strict = AddressGuard::new(false, Blacklist::default());
        let permissive = AddressGuard::new(true, Blacklist::default());
        assert_eq!(
            strict.check(address).is_err(),
            by_default,
            "{address} by default"
        );
        assert_eq!(
            permissive.check(address).is_err(),
            always,
            "{address} under allow_private"
        );
    }

    #[test]
    fn public_addresses_are_allowed() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1",
            "2a00::1",
            "3ffe::1",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:0101:0101::1",
            "::1.1.1.1",
            "2001:0:0101:0101::fefe:fefe",
        ] {
            check(address, false, false);
        }
    }

    #[test]
    fn special_ranges_need_allow_private() {
        for address in [
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "240.0.0.1",
            "255.255.255.254",
            "::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "fc00::1",
            "fdff::1",
            "fd00:ec2::254",
            "2001:db8::1",
            "3fff::1",
            "3fff:0fff::1",
            "100::1",
            "2001:2::1",
            "2001:1f::1",
            "2001:20::1",
            "4000::1",
            "5f00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::0.0.0.2",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1.1.1.1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:a9fe:a9fe::1",
            "::ffff:0:127.0.0.1",
            "2001:0:0101:0101::80ff:fffe",
            "2001:0:7f00:1::fefe:fefe",
        ] {
            check(address, true, false);
        }
    }

    #[test]
    fn addresses_that_no_host_can_have_are_always_refused() {
        for address in [
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "::",
            "ff02::1",
            "ff0e::1",
            "::ffff:0.0.0.0",
            "::ffff:224.0.0.1",
            "::ffff:255.255.255.255",
            "64:ff9b::e000:1",
            "64:ff9b::",
            "2002:e000:1::",
            "2002::1",
            "64:ff9b:1::e000:1",
        ] {
            check(address, true, true);
        }
    }

    #[test]
    fn names_that_no_public_host_has_are_refused() {
        let strict = AddressGuard::new(false, Blacklist::default());
        let permissive = AddressGuard::new(true, Blacklist::default());
        for name in [
            "localhost",
            "intranet",
            "a.localhost.",
            "printer.local",
            "metadata.google.internal",
            "Nas.LAN",
            "router.home.arpa",
            "127.0.0.1",
            "[::1]",
            "10.1.2.3",
        ] {
            strict.check_name(name).expect_err(name);
            permissive.check_name(name).expect(name);
        }
        for name in [
            "example.org",
            "local.example",
            "notlocal.net",
            "home.example.org.",
            "1.1.1.1",
        ] {
            strict.check_name(name).expect(name);
        }
        permissive
            .check_name("0.0.0.0")
            .expect_err("always refused");
    }

    #[test]
    fn a_refusal_names_its_rule() {
        let guard = AddressGuard::new(false, Blacklist::default());
        let failure = guard.check(
            "::ffff:169.254.169.254"
                .parse()
                .expect("the address is valid"),
        );
        assert_eq!(
            failure.expect_err("refused").to_string(),
            "the address ::ffff:169.254.169.254 is refused: \
             IPv4-mapped form of 169.254.169.254: link-local, 169.254.0.0/16 (--allow-private allows it)"
        );
    }
}
