//! The plan of a lab web: a few numbers from which everything else follows.
//!
//! First file to read after the crate's own page. A [`Plan`] is all that is kept of a web: sites, pages,
//! links and answers are computed from it when they are asked for, so that a hundred thousand sites cost no
//! more memory than ten. The same plan on the same port gives the same bytes, on every run.

use std::time::Duration;

use crate::hazard::Hazard;

/// How large sites are: Zipf's law by rank. The site of rank r (from 1) has `largest / r` pages and never
/// fewer than `smallest`, so that the total is the same whatever the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Pages of the smallest sites.
    pub smallest: usize,
    /// Pages of the largest site.
    pub largest: usize,
}

/// How long sites think before they answer: each site has one latency of its own between the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Latency of the fastest site.
    pub least: Duration,
    /// Latency of the slowest site.
    pub most: Duration,
}

/// A deterministic web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where all chance comes from.
    pub seed: u64,
    /// Honest sites: `site000.lab` and on; hostile ones come on top.
    pub sites: usize,
    /// How many pages they have.
    pub pages: Sizes,
    /// Addresses that the sites share: more sites than addresses make virtual hosts.
    pub addresses: usize,
    /// How many of the first sites are given as seeds; the others are found by links.
    pub seeds: usize,
    /// Time between the request and the first byte of the answer.
    pub latency: Latency,
    /// Port of all HTTP servers; 0 takes a free one. Absolute links contain the port: fix it where two runs
    /// must give the same bytes.
    pub port: u16,
    /// Port of the DNS server; 0 takes a free one. Programs that ask the system's resolver need 53.
    pub dns_port: u16,
    /// Time to live of DNS answers.
    pub ttl: Duration,
    /// How many honest sites in a hundred speak TLS: of three, one serves the same over plain HTTP, two redirect
    /// from there. On the same port, which must be neither 80 nor 443: a server knows by the first byte, and the
    /// two schemes of a host are one site.
    pub secure: usize,
    /// Hostile sites to serve, one site each: `calendar.lab`, `drip.lab` and so on; the second of a kind is
    /// `calendar2.lab`. They change nothing about the honest sites but for links to them from the seeds' home
    /// pages.
    pub hazards: Vec<Hazard>,
    /// Keep every request for [`crate::Lab::log`]; without it requests are only counted.
    pub keep_log: bool,
}

impl Plan {
    /// For tests: 12 sites on 6 addresses, about 150 pages.
    pub fn small(seed: u64) -> Plan {
        Plan {
            seed,
            sites: 12,
            pages: Sizes {
                smallest: 4,
                largest: 36,
            },
            addresses: 6,
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

    /// For `aranha demo`: 24 sites on 12 addresses, about 600 pages, with latencies as on a good day.
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

    /// As bad as the web: [`Plan::large`] with so many hostile sites of every kind in turn, requests kept.
    ///
    /// Some of them point to private networks outside this machine: crawl it with [`crate::BLACK_LIST`].
    pub fn zoo(honest_sites: usize, hostile_sites: usize) -> Plan {
        let kinds = Hazard::ALL.iter().cycle();
        Plan {
            hazards: kinds.take(hostile_sites).copied().collect(),
            keep_log: true,
            ..Plan::large(honest_sites)
        }
    }

    /// For measurements: as many sites as asked for, one address for every four, requests counted only.
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
