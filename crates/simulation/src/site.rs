//! One site of the simulated web: host, address, size and faults, computed from the plan and the number of the site.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use aranha_lab::Chance;

use crate::WebPlan;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// First address of the sites that do not share their address.
const OWN: u32 = u32::from_be_bytes([20, 0, 0, 0]);
/// First of the shared addresses.
const SHARED: u32 = u32::from_be_bytes([40, 0, 0, 0]);

/// How a site fails during an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageKind {
    ConnectionRefused,
    ConnectTimeout,
    /// Status 500 for every request.
    ServerError,
    /// The server closes the connection without sending a byte.
    EmptyResponse,
}

/// A site of the simulated web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedSite {
    /// From 0 to the plan's number of sites, exclusive.
    pub number: u32,
    /// Number of pages, including the home page.
    pub pages: u32,
    /// The Crawl-delay of its robots.txt.
    pub crawl_delay: Option<Duration>,
    /// IP address of its server.
    pub address: IpAddr,
    pub(crate) latency_ms: u32,
    pub(crate) keeps_alive: bool,
    pub(crate) has_robots_txt: bool,
    pub(crate) exists: bool,
    pub(crate) sends_retry_after: bool,
    /// Kind, start and end of its outage.
    outage: Option<(OutageKind, i64, i64)>,
}

impl SimulatedSite {
    /// The site with this number.
    pub fn of(plan: &WebPlan, number: u32) -> SimulatedSite {
        let mut chance = Chance::of(plan.seed, &[1, u64::from(number)]);
        let max_pages = plan.max_pages.max(1);
        let pages = max_pages / (1 + chance.below(max_pages as usize) as u32);
        let shares = chance.percent(plan.shared_address_percent as usize);
        let group = chance.below(shared_addresses(plan) as usize) as u32;
        let delays = chance.percent(plan.crawl_delay_percent as usize);
        let delay =
            Duration::from_secs(1 + chance.below(plan.max_crawl_delay_secs as usize) as u64);
        let latency_ms = 20 + chance.below(300) as u32;
        let slow = chance.percent(3);
        let outage = chance
            .percent(plan.outage_percent as usize)
            .then(|| random_outage(plan, &mut chance));
        SimulatedSite {
            number,
            pages,
            crawl_delay: delays.then_some(delay),
            address: address(if shares { SHARED + group } else { OWN + number }),
            latency_ms: latency_ms * if slow { 20 } else { 1 },
            keeps_alive: chance.percent(70),
            has_robots_txt: delays || chance.percent(30),
            // The first sites can be seeds, so they always exist.
            exists: number < 8 || !chance.percent(plan.missing_percent as usize),
            sends_retry_after: chance.percent(plan.retry_after_percent as usize),
            outage,
        }
    }

    /// The kind of outage, if the site has one at this time.
    pub(crate) fn outage(&self, now: i64) -> Option<OutageKind> {
        let (kind, from, to) = self.outage?;
        (from..to).contains(&now).then_some(kind)
    }

    /// The site at an address that is not shared.
    pub(crate) fn only_site_at(plan: &WebPlan, address: IpAddr) -> Option<SimulatedSite> {
        let IpAddr::V4(address) = address else {
            return None;
        };
        let number = address.to_bits().checked_sub(OWN)?;
        (number < plan.sites).then(|| SimulatedSite::of(plan, number))
    }

    /// Index of an address in a table of all addresses. The table has one entry for each site, followed by the shared
    /// addresses.
    pub(crate) fn address_index(plan: &WebPlan, address: IpAddr) -> usize {
        let IpAddr::V4(address) = address else {
            return 0;
        };
        let bits = address.to_bits();
        let index = if bits >= SHARED {
            bits - SHARED + plan.sites
        } else {
            bits.saturating_sub(OWN)
        };
        index as usize
    }

    /// Length of a table of all addresses.
    pub(crate) fn address_count(plan: &WebPlan) -> usize {
        (plan.sites + shared_addresses(plan)) as usize
    }

    /// Host name of the site with this number.
    pub fn host(number: u32) -> String {
        format!("site{number}.example")
    }

    /// The number of the site with this host name.
    pub(crate) fn number(plan: &WebPlan, host: &str) -> Option<u32> {
        let number = host.strip_prefix("site")?.strip_suffix(".example")?;
        number.parse().ok().filter(|number| *number < plan.sites)
    }
}

/// Number of shared addresses.
fn shared_addresses(plan: &WebPlan) -> u32 {
    let sharing = u64::from(plan.sites) * u64::from(plan.shared_address_percent) / 100;
    ((sharing / u64::from(plan.sites_per_shared_address.max(1))) as u32).max(1)
}

/// An outage of one to five days that starts within the first 25 days.
fn random_outage(plan: &WebPlan, chance: &mut Chance) -> (OutageKind, i64, i64) {
    let kinds = [
        OutageKind::ConnectionRefused,
        OutageKind::ConnectTimeout,
        OutageKind::ServerError,
        OutageKind::EmptyResponse,
    ];
    let kind = kinds[chance.below(kinds.len())];
    let from = plan.start + chance.below(25 * 24) as i64 * HOUR;
    let length = DAY + chance.below(4 * 24) as i64 * HOUR;
    (kind, from, from + length)
}

fn address(bits: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_zipfs_law_and_addresses_are_shared() {
        let plan = WebPlan::new(3, 10_000);
        let sites: Vec<SimulatedSite> = (0..plan.sites)
            .map(|number| SimulatedSite::of(&plan, number))
            .collect();
        let at_least = |pages: u32| sites.iter().filter(|site| site.pages >= pages).count();
        assert_eq!(at_least(1), 10_000);
        assert!((4500..5500).contains(&at_least(2)), "{}", at_least(2));
        assert!((900..1100).contains(&at_least(10)), "{}", at_least(10));
        assert!(sites.iter().all(|site| site.pages <= plan.max_pages));
        let mut addresses: Vec<IpAddr> = sites.iter().map(|site| site.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert!(
            (6900..7400).contains(&addresses.len()),
            "{}",
            addresses.len()
        );
        let down = |now| {
            sites
                .iter()
                .filter(|site| site.outage(now).is_some())
                .count()
        };
        assert!(down(plan.start + 10 * DAY) > 20);
        assert_eq!(down(plan.start - DAY), 0);
        assert_eq!(SimulatedSite::of(&plan, 17), sites[17]);
        assert_eq!(
            SimulatedSite::number(&plan, &SimulatedSite::host(17)),
            Some(17)
        );
        assert_eq!(SimulatedSite::number(&plan, "site10000.example"), None);
    }
}
