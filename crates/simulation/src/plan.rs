//! What the simulated web is like: a seed and a few shares. Everything else follows from it.

/// A web to be made up. Shares are in percent of the sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many sites there are.
    pub sites: u32,
    /// Pages of the largest sites. One site in k has k pages or more, up to this (Zipf's law).
    pub largest: u32,
    /// Sites that share their address with about `neighbours` others.
    pub shared: u32,
    /// Sites at a shared address.
    pub neighbours: u32,
    /// Sites whose robots.txt asks for a Crawl-delay.
    pub delaying: u32,
    /// The longest of these delays, in seconds.
    pub delay: u32,
    /// Sites that are down for some days.
    pub failing: u32,
    /// Sites that, now and then, ask for patience with Retry-After.
    pub impatient: u32,
    /// Names that do not exist.
    pub missing: u32,
    /// When the web begins, unix milliseconds.
    pub begins: i64,
}

impl Plan {
    /// A web of so many sites, with the faults of a real one.
    pub fn new(seed: u64, sites: u32) -> Plan {
        Plan {
            seed,
            sites,
            largest: 200,
            shared: 30,
            neighbours: 20,
            delaying: 10,
            delay: 45,
            failing: 5,
            impatient: 5,
            missing: 1,
            begins: 1_767_225_600_000, // 2026-01-01
        }
    }
}
