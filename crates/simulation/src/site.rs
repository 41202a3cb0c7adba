//! One site of the simulated web: its name, its address, its size, its moods. A pure function of the plan and its number.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use aranha_lab::Chance;

use crate::Plan;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Addresses of sites that have their own, and of those that share one.
const OWN: u32 = u32::from_be_bytes([20, 0, 0, 0]);
const SHARED: u32 = u32::from_be_bytes([40, 0, 0, 0]);

/// What can be wrong with a site that is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody listens.
    Refused,
    /// No answer to a connection.
    Silent,
    /// The server says 500 to everything.
    Broken,
    /// The server closes the connection without a word.
    Mute,
}

/// A site as its servers know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its number, below the plan's count.
    pub number: u32,
    /// How many pages it has, the home page included.
    pub pages: u32,
    /// What its robots.txt asks for.
    pub crawl_delay: Option<Duration>,
    /// Where it is served.
    pub address: IpAddr,
    pub(crate) latency_ms: u32,
    pub(crate) keeps_alive: bool,
    pub(crate) has_robots: bool,
    pub(crate) exists: bool,
    pub(crate) is_impatient: bool,
    outage: Option<(Fault, i64, i64)>,
}

impl Site {
    /// The site with this number.
    pub fn of(plan: &Plan, number: u32) -> Site {
        let mut chance = Chance::of(plan.seed, &[1, u64::from(number)]);
        let largest = plan.largest.max(1);
        let pages = largest / (1 + chance.below(largest as usize) as u32);
        let shares = chance.percent(plan.shared as usize);
        let group = chance.below(groups(plan) as usize) as u32;
        let delays = chance.percent(plan.delaying as usize);
        let delay = Duration::from_secs(1 + chance.below(plan.delay as usize) as u64);
        let latency_ms = 20 + chance.below(300) as u32;
        let slow = chance.percent(3);
        let outage = chance
            .percent(plan.failing as usize)
            .then(|| outage(plan, &mut chance));
        Site {
            number,
            pages,
            crawl_delay: delays.then_some(delay),
            address: address(if shares { SHARED + group } else { OWN + number }),
            latency_ms: latency_ms * if slow { 20 } else { 1 },
            keeps_alive: chance.percent(70),
            has_robots: delays || chance.percent(30),
            // What seeds may lie at is there.
            exists: number < 8 || !chance.percent(plan.missing as usize),
            is_impatient: chance.percent(plan.impatient as usize),
            outage,
        }
    }

    /// What is wrong with it at this time.
    pub(crate) fn fault(&self, now: i64) -> Option<Fault> {
        let (fault, from, to) = self.outage?;
        (from..to).contains(&now).then_some(fault)
    }

    /// The site that has this address to itself.
    pub(crate) fn alone_at(plan: &Plan, address: IpAddr) -> Option<Site> {
        let IpAddr::V4(address) = address else {
            return None;
        };
        let number = address.to_bits().checked_sub(OWN)?;
        (number < plan.sites).then(|| Site::of(plan, number))
    }

    /// A number for each address: below the count of sites, or behind it by the number of the group.
    pub(crate) fn place(plan: &Plan, address: IpAddr) -> usize {
        let IpAddr::V4(address) = address else {
            return 0;
        };
        let bits = address.to_bits();
        let place = if bits >= SHARED {
            bits - SHARED + plan.sites
        } else {
            bits.saturating_sub(OWN)
        };
        place as usize
    }

    /// How many of these numbers there are.
    pub(crate) fn places(plan: &Plan) -> usize {
        (plan.sites + groups(plan)) as usize
    }

    /// Its name.
    pub fn host(number: u32) -> String {
        format!("site{number}.example")
    }

    /// The number of a host that is one of ours.
    pub(crate) fn number(plan: &Plan, host: &str) -> Option<u32> {
        let number = host.strip_prefix("site")?.strip_suffix(".example")?;
        number.parse().ok().filter(|number| *number < plan.sites)
    }
}

/// Addresses that are shared. Only so many of the sites share one.
fn groups(plan: &Plan) -> u32 {
    let sharing = u64::from(plan.sites) * u64::from(plan.shared) / 100;
    ((sharing / u64::from(plan.neighbours.max(1))) as u32).max(1)
}

/// One to five days, beginning within the first month.
fn outage(plan: &Plan, chance: &mut Chance) -> (Fault, i64, i64) {
    let faults = [Fault::Refused, Fault::Silent, Fault::Broken, Fault::Mute];
    let fault = faults[chance.below(faults.len())];
    let from = plan.begins + chance.below(25 * 24) as i64 * HOUR;
    let length = DAY + chance.below(4 * 24) as i64 * HOUR;
    (fault, from, from + length)
}

fn address(bits: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_law_and_addresses_are_shared() {
        let plan = Plan::new(3, 10_000);
        let sites: Vec<Site> = (0..plan.sites)
            .map(|number| Site::of(&plan, number))
            .collect();
        let at_least = |pages: u32| sites.iter().filter(|site| site.pages >= pages).count();
        assert_eq!(at_least(1), 10_000);
        assert!((4500..5500).contains(&at_least(2)), "{}", at_least(2));
        assert!((900..1100).contains(&at_least(10)), "{}", at_least(10));
        assert!(sites.iter().all(|site| site.pages <= plan.largest));
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
                .filter(|site| site.fault(now).is_some())
                .count()
        };
        assert!(down(plan.begins + 10 * DAY) > 20);
        assert_eq!(down(plan.begins - DAY), 0);
        assert_eq!(Site::of(&plan, 17), sites[17]);
        assert_eq!(Site::number(&plan, &Site::host(17)), Some(17));
        assert_eq!(Site::number(&plan, "site10000.example"), None);
    }
}
