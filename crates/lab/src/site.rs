//! One honest site: everything that is decided once per site, from its number alone.
//!
//! Traits go round in turns of different length instead of by dice, so that even a web of a dozen sites has
//! each of them; the seed only turns the wheels. What a site serves under a path is in `resource`.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::chance::Chance;
use crate::language::{LANGUAGES, Language};
use crate::plan::Plan;

/// What the other name of a site does (`www.site001.lab` and `site001.lab`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    /// Serves the same.
    Same,
    /// Redirects every path to the preferred name, robots.txt too.
    Redirects,
    /// Has no address.
    Absent,
}

/// Which schemes a site answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Plain HTTP only.
    Plain,
    /// The same pages over both.
    Both,
    /// TLS; plain HTTP redirects every path to it, robots.txt too.
    Secure,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    Close,
}

/// What the site's robots.txt looks like; see `robots`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    None,
    Empty,
    Private,
    Groups,
    Pattern,
    Untidy,
    Closed,
}

/// The decided traits of a site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// The plan's.
    pub(crate) seed: u64,
    pub(crate) number: usize,
    /// Pages in the tree: home, sections, leaves. Extras (redirects, copies …) come on top.
    pub(crate) size: usize,
    pub(crate) language: &'static Language,
    /// The preferred name has `www.`.
    pub(crate) www: bool,
    pub(crate) twin: Twin,
    pub(crate) scheme: Scheme,
    pub(crate) address: Ipv4Addr,
    pub(crate) manners: Manners,
    pub(crate) gzip: bool,
    pub(crate) framing: Framing,
    pub(crate) cookies: bool,
    /// Pages are encoded in Latin-1 and say so in the header.
    pub(crate) latin: bool,
    /// Requests answered on one connection.
    pub(crate) patience: usize,
    pub(crate) latency: Duration,
}

impl Site {
    pub(crate) fn new(plan: &Plan, number: usize) -> Site {
        let mut chance = Chance::of(plan.seed, &[TURN]);
        let turn = number + chance.below(60);
        let (www, twin) = match turn % 6 {
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
            language: &LANGUAGES[turn / 2 % LANGUAGES.len()],
            www,
            twin,
            scheme: scheme(plan, number),
            address: address(place(plan, number)),
            manners: manners(turn),
            gzip: turn.is_multiple_of(3),
            framing: match turn % 5 {
                0 | 2 => Framing::Length,
                4 => Framing::Close,
                _ => Framing::Chunked,
            },
            cookies: turn % 4 == 1,
            latin: turn % 7 == 5,
            patience: if turn % 7 == 3 { 5 } else { 1000 },
            latency: latency(plan, number),
        }
    }

    /// Bare name, without `www.`.
    pub(crate) fn bare(&self) -> String {
        format!("site{:03}.lab", self.number)
    }

    /// Scheme and authority of the site's own absolute links: `http://www.site000.lab:PORT`.
    pub(crate) fn origin(&self, port: u16) -> String {
        let scheme = match self.scheme {
            Scheme::Plain => "http",
            Scheme::Both | Scheme::Secure => "https",
        };
        format!("{scheme}://{}:{port}", self.name())
    }

    /// The name under which the site serves its pages.
    pub(crate) fn name(&self) -> String {
        self.named(self.www)
    }

    pub(crate) fn named(&self, www: bool) -> String {
        let prefix = if www { "www." } else { "" };
        format!("{prefix}site{:03}.lab", self.number)
    }
}

/// The number of the site with this name, lower case, and whether the name has `www.`.
pub(crate) fn parse(host: &str) -> Option<(usize, bool)> {
    let bare = host.strip_prefix("www.");
    let digits = bare
        .unwrap_or(host)
        .strip_prefix("site")?
        .strip_suffix(".lab")?;
    let number: usize = digits.parse().ok()?;
    (format!("{number:03}") == digits).then_some((number, bare.is_some()))
}

/// The n-th address, spread over 127.0.0.0/8 by a multiplication that is one to one modulo 2^22; never
/// 127.0.0.1, which is the resolver's.
pub(crate) fn address(number: usize) -> Ipv4Addr {
    let spread = (number as u32).wrapping_mul(2_654_435) & 0x3F_FFFF;
    Ipv4Addr::new(
        127,
        16 + (spread >> 15) as u8,
        (spread >> 7) as u8,
        2 + (spread & 0x7F) as u8,
    )
}

const TURN: u64 = 1;
const PLACE: u64 = 2;
const RANK: u64 = 3;
const LATENCY: u64 = 4;
const SCHEME: u64 = 5;

/// Which address a site is at: the first sites have one each, the others join them.
fn place(plan: &Plan, number: usize) -> usize {
    if number < plan.addresses {
        number
    } else {
        Chance::of(plan.seed, &[PLACE, number as u64]).below(plan.addresses)
    }
}

/// Zipf by rank; ranks are the numbers multiplied by a number prime to their count: a permutation without a
/// table.
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

fn manners(turn: usize) -> Manners {
    if turn % 12 == 7 {
        return Manners::Closed;
    }
    match turn % 6 {
        0 => Manners::Private,
        1 => Manners::None,
        2 => Manners::Groups,
        3 => Manners::Empty,
        4 => Manners::Pattern,
        _ => Manners::Untidy,
    }
}

fn scheme(plan: &Plan, number: usize) -> Scheme {
    let mut chance = Chance::of(plan.seed, &[SCHEME, number as u64]);
    match number % 3 {
        _ if !chance.percent(plan.secure) => Scheme::Plain,
        0 => Scheme::Both,
        _ => Scheme::Secure,
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
    fn names_parse_back() {
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
    fn addresses_are_distinct_loopback() {
        let all: HashSet<_> = (0..100_000).map(address).collect();
        assert_eq!(all.len(), 100_000);
        assert!(all.iter().all(|a| a.is_loopback() && a.octets()[3] > 1));
    }

    #[test]
    fn the_total_does_not_depend_on_the_seed() {
        let total = |seed| {
            let plan = Plan::small(seed);
            (0..plan.sites)
                .map(|n| Site::new(&plan, n).size)
                .sum::<usize>()
        };
        assert_eq!(total(1), total(99));
    }

    #[test]
    fn a_dozen_sites_have_every_trait() {
        for seed in 0..20 {
            let plan = Plan::small(seed);
            let sites: Vec<_> = (0..12).map(|n| Site::new(&plan, n)).collect();
            let has = |test: fn(&Site) -> bool| assert!(sites.iter().any(test), "seed {seed}");
            has(|s| s.gzip && s.framing == Framing::Chunked);
            has(|s| s.gzip && s.framing == Framing::Length);
            has(|s| s.framing == Framing::Close);
            has(|s| s.www && s.twin == Twin::Redirects);
            has(|s| !s.www && s.twin == Twin::Redirects);
            has(|s| s.www && s.twin == Twin::Absent);
            has(|s| s.manners == Manners::Closed);
            has(|s| s.manners == Manners::Groups);
            has(|s| s.cookies);
            has(|s| s.latin);
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
