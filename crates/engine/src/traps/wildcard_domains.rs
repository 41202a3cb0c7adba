//! Wildcard domains: domains in which every host name has an address (D6; Viuva Negra 4.1, 5.4).
//!
//! When [`HOSTS_BEFORE_TEST`] hosts of a domain have been visited, an invented name below the domain is resolved. If
//! that name has an address, the domain is a wildcard. A wildcard is not yet a trap, because many publishers give each
//! author a host. From then on, the hosts of the domain are checked together, like the pages of one site
//! ([`novelty`](super::novelty)): do they bring new text, and do their links lead to known hosts? If they are a trap,
//! the domain is blocked. The pages that were already fetched are kept.
//!
//! Domains are determined with the Public Suffix List, including its private part. The private part makes each host
//! directly below `blogspot.com` a domain of its own.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aranha_frontier::Seen;
use aranha_url::{SiteKey, registrable};

use crate::traps::novelty::{MIN_LINKED_PAGES_OF_HOSTS, Novelty, Reading, Trap};

/// When this number of hosts of a domain were visited, an invented name is resolved.
const HOSTS_BEFORE_TEST: usize = 4;
/// Maximum number of domains in memory. When it is reached, only wildcards and blocked domains are kept. If these are
/// still too many, all domains are dropped.
const MAX_DOMAINS: usize = 64 << 10;
/// Maximum number of hosts in memory for one wildcard domain.
const MAX_HOSTS: usize = 64 << 10;

/// The domains of the hosts that were visited.
#[derive(Debug, Default)]
pub(crate) struct WildcardDomains(Mutex<HashMap<String, Domain>>);

#[derive(Debug, Default)]
struct Domain {
    /// Before the wildcard test, the visited hosts of the domain. After the test, if the domain is a wildcard, the
    /// hosts to which its pages link.
    hosts: Seen,
    state: WildcardState,
    novelty: Novelty,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WildcardState {
    #[default]
    Untested,
    /// The test is running, or has shown that the domain is not a wildcard.
    Tested,
    Wildcard,
    /// Blocked as a trap.
    Blocked,
}

/// The registrable domain above `host`. `None` if `host` is this domain itself, its `www` twin or an IP address.
pub(crate) fn parent_domain(host: &str) -> Option<&str> {
    let domain = registrable(host)?;
    let below = host.strip_suffix(domain)?;
    (!below.is_empty() && below != "www.").then_some(domain)
}

impl WildcardDomains {
    /// Counts a visited host. When the domain has [`HOSTS_BEFORE_TEST`] visited hosts, returns the invented name to
    /// resolve. A name is returned only once for each domain.
    pub(crate) fn add_host(&self, host: &str, site: SiteKey) -> Option<String> {
        let domain = parent_domain(host)?;
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if domains.len() >= MAX_DOMAINS && !domains.contains_key(domain) {
            // A domain that is dropped may be tested again.
            domains.retain(|_, domain| {
                matches!(
                    domain.state,
                    WildcardState::Wildcard | WildcardState::Blocked
                )
            });
            if domains.len() >= MAX_DOMAINS {
                domains.clear();
            }
        }
        let entry = domains.entry(domain.to_owned()).or_default();
        if entry.state != WildcardState::Untested {
            return None;
        }
        entry.hosts.insert(site.0);
        if entry.hosts.len() < HOSTS_BEFORE_TEST {
            return None;
        }
        entry.state = WildcardState::Tested;
        entry.hosts = Seen::default();
        let (_, parent) = host.split_once('.')?;
        let number = SiteKey::of(domain).0;
        Some(format!("aranha-{number:016x}.{parent}"))
    }

    /// Marks the domain of `host` as a wildcard. The caller has found that a random name in this domain has an address.
    pub(crate) fn set_wildcard(&self, host: &str) {
        let Some(domain) = parent_domain(host) else {
            return;
        };
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = domains.get_mut(domain) {
            entry.state = WildcardState::Wildcard;
        }
    }

    /// Whether the domain of a host is a wildcard, so that its hosts are checked together.
    pub(crate) fn is_below_wildcard(&self, host: &str) -> bool {
        let Some(domain) = parent_domain(host) else {
            return false;
        };
        let domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = domains.get(domain);
        entry.is_some_and(|entry| entry.state == WildcardState::Wildcard)
    }

    /// Adds a page from a host of a wildcard domain. `links`: the hosts of the same domain to which the page links. If
    /// the domain is now a trap, marks it as blocked and returns the kind of trap.
    pub(crate) fn add_page(
        &self,
        host: &str,
        reading: &Reading,
        links: &[SiteKey],
        limit: u32,
    ) -> Option<Trap> {
        let domain = parent_domain(host)?;
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Domain {
            hosts,
            novelty,
            state,
        } = domains.get_mut(domain)?;
        if *state != WildcardState::Wildcard {
            return None;
        }
        if hosts.len() + links.len() > MAX_HOSTS {
            hosts.clear();
        }
        let new = links.iter().filter(|site| hosts.insert(site.0)).count();
        let is_repeated = novelty.is_repeated(reading.text);
        novelty.add_page(reading, is_repeated, links.len() as u32, new as u32);
        let trap = novelty.trap(limit, MIN_LINKED_PAGES_OF_HOSTS);
        if trap.is_some() {
            (*state, *hosts, *novelty) =
                (WildcardState::Blocked, Seen::default(), Novelty::default());
        }
        trap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, expected: Option<&str>) {
        assert_eq!(parent_domain(host), expected, "{host}");
    }

    #[test]
    fn domains_of_hosts() {
        check("shop.example.org", Some("example.org"));
        check("a.b.example.co.uk", Some("example.co.uk"));
        check("www.example.org", None);
        check("example.org", None);
        check("192.0.2.1", None);
        check("localhost", None);
        // blogspot.com is in the private part of the Public Suffix List.
        check("somebody.blogspot.com", None);
    }

    #[test]
    fn memory_is_bounded() {
        for state in [
            WildcardState::Tested,
            WildcardState::Wildcard,
            WildcardState::Blocked,
        ] {
            let domains = WildcardDomains::default();
            let all = (0..MAX_DOMAINS).map(|number| {
                let domain = Domain {
                    state,
                    ..Domain::default()
                };
                (format!("d{number}.org"), domain)
            });
            domains.0.lock().unwrap().extend(all);
            domains.add_host("www2.new.org", SiteKey::of("www2.new.org"));
            assert_eq!(domains.0.lock().unwrap().len(), 1, "{state:?}");
        }
    }

    #[test]
    fn a_domain_is_tested_once_after_several_hosts() {
        let domains = WildcardDomains::default();
        let add_host = |number: usize| {
            let host = format!("shop{number}.example.org");
            domains.add_host(&host, SiteKey::of(&host))
        };
        let names: Vec<_> = (0..20).filter_map(add_host).collect();
        assert_eq!(names.len(), 1);
        assert!(names[0].ends_with(".example.org"), "{names:?}");
        assert!(!domains.is_below_wildcard("shop1.example.org"));
        domains.set_wildcard("shop1.example.org");
        assert!(domains.is_below_wildcard("shop2.example.org"));
        assert!(!domains.is_below_wildcard("shop2.example.net"));
    }

    #[test]
    fn hosts_that_never_lead_back_are_a_trap() {
        let domains = WildcardDomains::default();
        let host = |number: u64| format!("shop{number}.example.org");
        for number in 0..8 {
            domains.add_host(&host(number), SiteKey(number));
        }
        domains.set_wildcard(&host(0));
        let page = |number: u64, links: &[SiteKey]| {
            let text = format!("offers {number}");
            domains.add_page(&host(number), &Reading::of(&text, number + 1, 0), links, 50)
        };
        let pages = (1..100).position(|number| {
            let links: Vec<_> = (0..5).map(|n| SiteKey(number * 1000 + n)).collect();
            page(number, &links).is_some()
        });
        assert_eq!(pages, Some(23));
    }
}
