//! The plan of a lab web: a few numbers that determine everything else. Read this file after `lib.rs`.
//!
//! Sites, pages, links and responses are computed from the [`Plan`] when they are requested, so 100,000 sites take no
//! more memory than ten. The same plan on the same port always gives the same bytes.

use std::time::Duration;

use crate::hazard::Hazard;

/// Sizes of the sites, by Zipf's law. The site with rank r (from 1) has `largest / r` pages, but at least `smallest`.
/// The total number of pages does not depend on the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of pages of the smallest sites.
    pub smallest: usize,
    /// Number of pages of the largest site.
    pub largest: usize,
}

/// Latency of the sites. Each site has a fixed latency between the two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Latency of the fastest site.
    pub least: Duration,
    /// Latency of the slowest site.
    pub most: Duration,
}

/// The parameters of a web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of honest sites: `site000.lab`, `site001.lab` and so on. Hostile sites are additional.
    pub sites: usize,
    /// Numbers of pages of the honest sites.
    pub pages: Sizes,
    /// Number of IP addresses. If there are more sites than addresses, sites share an address as virtual hosts.
    pub addresses: usize,
    /// Percentage of honest sites that are all at the first address.
    pub crowded: usize,
    /// Number of sites whose home pages are seeds, counted from the first site. The others are found by links.
    pub seeds: usize,
    /// Time between the request and the first byte of the response.
    pub latency: Latency,
    /// Port of all HTTP servers (0 = a free port). Absolute links contain the port, so set it if two labs must serve
    /// the same bytes.
    pub port: u16,
    /// Port of the DNS server (0 = a free port). Programs that look up names through the operating system need port 53.
    pub dns_port: u16,
    /// Time to live of DNS records.
    pub ttl: Duration,
    /// Percentage of honest sites with HTTPS. One in three of these serves the same pages over HTTP. The others
    /// redirect from HTTP to HTTPS. Both schemes use the same port, which must be neither 80 nor 443. The server
    /// recognises TLS by the first byte of a connection. The two schemes of a host are one site.
    pub secure: usize,
    /// Hostile sites, one for each element: `calendar.lab`, `drip.lab` and so on. If an element occurs twice, the
    /// second site is `calendar2.lab`. Hostile sites do not change the honest sites, except that the home pages of the
    /// seeds link to hostile sites.
    pub hazards: Vec<Hazard>,
    /// Whether requests are stored for [`crate::Lab::log`]. If false, requests are only counted.
    pub keep_log: bool,
}

impl Plan {
    /// A plan for tests: 12 sites on 6 addresses, with about 150 pages in total.
    pub fn small(seed: u64) -> Plan {
        Plan {
            seed,
            sites: 12,
            pages: Sizes {
                smallest: 4,
                largest: 36,
            },
            addresses: 6,
            crowded: 0,
            seeds: 3,
            latency: Latency::default(),
            port: 0,
            dns_port: 0,
            ttl: Duration::from_mins(5),
            secure: 0,
            hazards: Vec::new(),
            keep_log: true,
        }
    }

    /// The plan of `aranha demo`: 24 sites on 12 addresses, with about 600 pages in total and latencies of 5 to 60 ms.
    pub fn demo() -> Plan {
        Plan {
            sites: 24,
            pages: Sizes {
                smallest: 6,
                largest: 148,
            },
            addresses: 12,
            seeds: 4,
            latency: Latency {
                least: Duration::from_millis(5),
                most: Duration::from_millis(60),
            },
            ..Plan::small(2006)
        }
    }

    /// [`Plan::large`] with hostile sites. Their kinds are taken from [`Hazard::ALL`] in its order, from the beginning
    /// again if there are more sites than kinds. Requests are stored.
    ///
    /// Some hostile sites link to private networks outside this machine, so crawlers of this web must use
    /// [`crate::BLACK_LIST`].
    pub fn zoo(honest_sites: usize, hostile_sites: usize) -> Plan {
        let kinds = Hazard::ALL.iter().cycle();
        Plan {
            hazards: kinds.take(hostile_sites).copied().collect(),
            keep_log: true,
            ..Plan::large(honest_sites)
        }
    }

    /// A plan for measurements. There is one address for every four sites. Requests are counted but not stored.
    pub fn large(sites: usize) -> Plan {
        Plan {
            sites,
            pages: Sizes {
                smallest: 8,
                largest: (sites / 4).clamp(40, 5000),
            },
            addresses: (sites / 4).max(1),
            seeds: sites.div_ceil(100).max(1),
            keep_log: false,
            ..Plan::small(1)
        }
    }
}
