//! One honest site, with all properties that follow from the plan and the number of the site.
//!
//! Most properties are not random. They depend on the site's number modulo a small number, so that every value of these
//! properties occurs in a web of twelve sites. The plan's seed adds an offset to the numbers of all sites. `resource`
//! determines what a site serves under a path.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::chance::Chance;
use crate::language::{LANGUAGES, Language};
use crate::plan::Plan;

/// How the twin of a site's preferred name behaves (`www.site001.lab` and `site001.lab` are twins).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    /// Serves the same pages.
    Same,
    /// Redirects every path, including robots.txt, to the preferred name.
    Redirects,
    /// Does not resolve.
    Absent,
}

/// The schemes that a site supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemeSupport {
    /// Plain HTTP only.
    Plain,
    /// The same pages over HTTP and HTTPS.
    Both,
    /// HTTPS. Plain HTTP redirects every path, including robots.txt, to HTTPS.
    Secure,
}

/// How a site marks the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteFraming {
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The end of the connection.
    Close,
}

/// The kind of robots.txt file of a site; `robots.rs` has the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RobotsVariant {
    None,
    Empty,
    /// Disallows `/private/`.
    PrivateDirectory,
    /// Several groups of user agents.
    Groups,
    /// Rules with `*` and `$`.
    Pattern,
    /// Disallows `/private/`, with faults that parsers tolerate.
    Malformed,
    DisallowAll,
}

/// The properties of a site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// The seed of the plan.
    pub(crate) seed: u64,
    pub(crate) number: usize,
    /// Number of pages in the tree: home page, sections and leaves. Redirects, copies and other resources are not
    /// counted.
    pub(crate) size: usize,
    pub(crate) language: &'static Language,
    /// Whether the preferred name begins with `www.`.
    pub(crate) www: bool,
    pub(crate) twin: Twin,
    pub(crate) scheme: SchemeSupport,
    pub(crate) address: Ipv4Addr,
    pub(crate) robots: RobotsVariant,
    pub(crate) gzip: bool,
    pub(crate) framing: SiteFraming,
    pub(crate) cookies: bool,
    /// Whether pages are encoded in Latin-1 instead of UTF-8. The Content-Type header declares the character set.
    pub(crate) latin_1: bool,
    /// Maximum number of requests per connection.
    pub(crate) max_requests: usize,
    pub(crate) latency: Duration,
}

impl Site {
    pub(crate) fn new(plan: &Plan, number: usize) -> Site {
        let mut chance = Chance::of(plan.seed, &[SHIFT]);
        let shifted = number + chance.below(60);
        let (www, twin) = match shifted % 6 {
            0 => (true, Twin::Redirects),
            1 => (false, Twin::Same),
            2 => (true, Twin::Same),
            3 => (false, Twin::Redirects),
            4 => (false, Twin::Absent),
            _ => (true, Twin::Absent),
        };
        Site {
            seed: plan.seed,
            number,
            size: size(plan, number),
            language: &LANGUAGES[shifted / 2 % LANGUAGES.len()],
            www,
            twin,
            scheme: scheme(plan, number),
            address: address(address_index(plan, number)),
            robots: robots_file(shifted),
            gzip: shifted.is_multiple_of(3),
            framing: match shifted % 5 {
                0 | 2 => SiteFraming::Length,
                4 => SiteFraming::Close,
                _ => SiteFraming::Chunked,
            },
            cookies: shifted % 4 == 1,
            latin_1: shifted % 7 == 5,
            max_requests: if shifted % 7 == 3 { 5 } else { 1000 },
            latency: latency(plan, number),
        }
    }

    /// The name without `www.`.
    pub(crate) fn bare(&self) -> String {
        format!("site{:03}.lab", self.number)
    }

    /// Scheme, host and port that the site uses in absolute links to itself, such as `http://www.site000.lab:PORT`.
    pub(crate) fn origin(&self, port: u16) -> String {
        let scheme = match self.scheme {
            SchemeSupport::Plain => "http",
            SchemeSupport::Both | SchemeSupport::Secure => "https",
        };
        format!("{scheme}://{}:{port}", self.name())
    }

    /// The preferred name of the site.
    pub(crate) fn name(&self) -> String {
        self.named(self.www)
    }

    /// The name of the site, with `www.` if `www` is true.
    pub(crate) fn named(&self, www: bool) -> String {
        let prefix = if www { "www." } else { "" };
        format!("{prefix}site{:03}.lab", self.number)
    }
}

/// The number of the site with this lower-case name, and whether the name begins with `www.`.
pub(crate) fn parse(host: &str) -> Option<(usize, bool)> {
    let bare = host.strip_prefix("www.");
    let digits = bare
        .unwrap_or(host)
        .strip_prefix("site")?
        .strip_suffix(".lab")?;
    let number: usize = digits.parse().ok()?;
    (format!("{number:03}") == digits).then_some((number, bare.is_some()))
}

/// The loopback address with this index. A multiplication modulo 2^22 spreads consecutive indexes over the range from
/// 127.16.0.0 to 127.143.255.255. The factor is odd, so different indexes have different addresses.
pub(crate) fn address(number: usize) -> Ipv4Addr {
    let spread = (number as u32).wrapping_mul(2_654_435) & 0x3F_FFFF;
    Ipv4Addr::new(
        127,
        16 + (spread >> 15) as u8,
        (spread >> 7) as u8,
        2 + (spread & 0x7F) as u8,
    )
}

// Keys of the random streams, one for each property that is chosen at random.
const SHIFT: u64 = 1;
const ADDRESS: u64 = 2;
const RANK: u64 = 3;
const LATENCY: u64 = 4;
const SCHEME: u64 = 5;
const CROWD: u64 = 6;

/// The index of the address of a site. The first sites have different addresses, and each later site shares one of
/// these addresses. The sites that [`Plan::crowded`] selects are at the first address.
fn address_index(plan: &Plan, number: usize) -> usize {
    if Chance::of(plan.seed, &[CROWD, number as u64]).below(100) < plan.crowded {
        0
    } else if number < plan.addresses {
        number
    } else {
        Chance::of(plan.seed, &[ADDRESS, number as u64]).below(plan.addresses)
    }
}

/// The number of pages by Zipf's law. The rank of a site is its number, multiplied by a factor that is coprime to the
/// number of sites. So every rank occurs once, and no table is needed.
fn size(plan: &Plan, number: usize) -> usize {
    let sites = plan.sites.max(1);
    let mut chance = Chance::of(plan.seed, &[RANK]);
    let mut factor = chance.below(sites) + 1;
    while gcd(factor, sites) != 1 {
        factor += 1;
    }
    let rank = (number * factor + chance.below(sites)) % sites;
    (plan.pages.largest / (rank + 1)).max(plan.pages.smallest.max(1))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn robots_file(shifted: usize) -> RobotsVariant {
    if shifted % 12 == 7 {
        return RobotsVariant::DisallowAll;
    }
    match shifted % 6 {
        0 => RobotsVariant::PrivateDirectory,
        1 => RobotsVariant::None,
        2 => RobotsVariant::Groups,
        3 => RobotsVariant::Empty,
        4 => RobotsVariant::Pattern,
        _ => RobotsVariant::Malformed,
    }
}

fn scheme(plan: &Plan, number: usize) -> SchemeSupport {
    let mut chance = Chance::of(plan.seed, &[SCHEME, number as u64]);
    match number % 3 {
        _ if !chance.percent(plan.secure) => SchemeSupport::Plain,
        0 => SchemeSupport::Both,
        _ => SchemeSupport::Secure,
    }
}

fn latency(plan: &Plan, number: usize) -> Duration {
    let spread = plan.latency.most.saturating_sub(plan.latency.least);
    let mut chance = Chance::of(plan.seed, &[LATENCY, number as u64]);
    plan.latency.least + spread * chance.below(1000) as u32 / 1000
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn host_names_are_parsed() {
        let check = |host, expected| assert_eq!(parse(host), expected, "{host}");
        check("site000.lab", Some((0, false)));
        check("www.site042.lab", Some((42, true)));
        check("site12345.lab", Some((12345, false)));
        check("site42.lab", None);
        check("site0042.lab", None);
        check("www.www.site042.lab", None);
        check("site.lab", None);
        check("site001.example", None);
    }

    #[test]
    fn addresses_are_distinct_and_loopback() {
        let all: HashSet<_> = (0..100_000).map(address).collect();
        assert_eq!(all.len(), 100_000);
        assert!(all.iter().all(|a| a.is_loopback() && a.octets()[3] > 1));
    }

    #[test]
    fn total_pages_do_not_depend_on_the_seed() {
        let total = |seed| {
            let plan = Plan::small(seed);
            (0..plan.sites)
                .map(|n| Site::new(&plan, n).size)
                .sum::<usize>()
        };
        assert_eq!(total(1), total(99));
    }

    #[test]
    fn twelve_sites_have_every_property() {
        for seed in 0..20 {
            let plan = Plan::small(seed);
            let sites: Vec<_> = (0..12).map(|n| Site::new(&plan, n)).collect();
            let has = |test: fn(&Site) -> bool| assert!(sites.iter().any(test), "seed {seed}");
            has(|s| s.gzip && s.framing == SiteFraming::Chunked);
            has(|s| s.gzip && s.framing == SiteFraming::Length);
            has(|s| s.framing == SiteFraming::Close);
            has(|s| s.www && s.twin == Twin::Redirects);
            has(|s| !s.www && s.twin == Twin::Redirects);
            has(|s| s.www && s.twin == Twin::Absent);
            has(|s| s.robots == RobotsVariant::DisallowAll);
            has(|s| s.robots == RobotsVariant::Groups);
            has(|s| s.cookies);
            has(|s| s.latin_1);
            assert!(
                sites
                    .iter()
                    .map(|s| s.address)
                    .collect::<HashSet<_>>()
                    .len()
                    == 6
            );
            assert!(
                sites
                    .iter()
                    .map(|s| s.language.code)
                    .collect::<HashSet<_>>()
                    .len()
                    == 4
            );
        }
    }
}
