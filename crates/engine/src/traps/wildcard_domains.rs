//! Domains with hosts without end (D6; V 4.1, 5.4): DNS wildcards, found by asking for an absurd name.
//!
//! A wildcard alone is no crime: many publishers give each author a host. So, once a domain has shown several hosts and
//! answers for a name that nobody can have chosen, its hosts are judged together, as the pages of one site are: by
//! whether they bring anything new, and whether their links lead back (`novelty`). The domain of a trap is shut out; what
//! was fetched is kept.
//!
//! Public suffixes are those of the list, with its private part: hosts below `blogspot.com` are domains of their own.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aranha_frontier::Seen;
use aranha_url::{SiteKey, registrable};

use crate::traps::novelty::{Novelty, ONWARD_HOSTS, Reading, Trap};

/// Hosts of a domain visited before its names are put to the test.
const SEVERAL: usize = 8;
/// Domains remembered; those with few hosts are forgotten first.
const MOST: usize = 64 << 10;
/// Hosts of a wildcard remembered.
const HOSTS: usize = 64 << 10;

/// The domains in which hosts below were visited.
#[derive(Debug, Default)]
pub(crate) struct WildcardDomains(Mutex<HashMap<String, Domain>>);

#[derive(Debug, Default)]
struct Domain {
    /// Hosts visited, and for a wildcard those that links led to.
    hosts: Seen,
    names: Names,
    novelty: Novelty,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Names {
    #[default]
    Unknown,
    /// Somebody is asking, or it is settled that names must exist to have an address.
    Settled,
    Wildcard,
    /// A trap: blocked.
    Blocked,
}

/// The domain that a host lies below: none for a domain itself, its www twin, and addresses.
pub(crate) fn above(host: &str) -> Option<&str> {
    let domain = registrable(host)?;
    let below = host.strip_suffix(domain)?;
    (!below.is_empty() && below != "www.").then_some(domain)
}

impl WildcardDomains {
    /// A visit to a host begins. Answers with a name to ask for when it is time to try the domain: no one has chosen it.
    pub(crate) fn enter(&self, host: &str, site: SiteKey) -> Option<String> {
        let domain = above(host)?;
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if domains.len() >= MOST && !domains.contains_key(domain) {
            // A domain that was found to be honest may be tried again; of traps alone there are not as many.
            domains.retain(|_, domain| matches!(domain.names, Names::Wildcard | Names::Blocked));
            if domains.len() >= MOST {
                domains.clear();
            }
        }
        let entry = domains.entry(domain.to_owned()).or_default();
        if entry.names != Names::Unknown {
            return None;
        }
        entry.hosts.insert(site.0);
        if entry.hosts.len() < SEVERAL {
            return None;
        }
        entry.names = Names::Settled;
        entry.hosts = Seen::default();
        let (_, parent) = host.split_once('.')?;
        let number = SiteKey::of(domain).0;
        Some(format!("aranha-{number:016x}.{parent}"))
    }

    /// The absurd name has an address.
    pub(crate) fn is_wildcard(&self, host: &str) {
        let Some(domain) = above(host) else { return };
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = domains.get_mut(domain) {
            entry.names = Names::Wildcard;
        }
    }

    /// Whether the hosts of this one's domain are judged together.
    pub(crate) fn judges(&self, host: &str) -> bool {
        let Some(domain) = above(host) else {
            return false;
        };
        let domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = domains.get(domain);
        entry.is_some_and(|entry| entry.names == Names::Wildcard)
    }

    /// Takes in a page of a wildcard's host, with the hosts of the domain that it links to.
    pub(crate) fn note(
        &self,
        host: &str,
        reading: &Reading,
        links: &[SiteKey],
        limit: u32,
    ) -> Option<Trap> {
        let domain = above(host)?;
        let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Domain {
            hosts,
            novelty,
            names,
        } = domains.get_mut(domain)?;
        if *names != Names::Wildcard {
            return None;
        }
        if hosts.len() + links.len() > HOSTS {
            hosts.clear();
        }
        let new = links.iter().filter(|site| hosts.insert(site.0)).count();
        let repeats = novelty.repeats(reading.text);
        novelty.note(reading, repeats, links.len() as u32, new as u32);
        let trap = novelty.trap(limit, ONWARD_HOSTS);
        if trap.is_some() {
            (*names, *hosts, *novelty) = (Names::Blocked, Seen::default(), Novelty::default());
        }
        trap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, expected: Option<&str>) {
        assert_eq!(above(host), expected, "{host}");
    }

    #[test]
    fn domains_of_hosts() {
        check("shop.example.org", Some("example.org"));
        check("a.b.example.co.uk", Some("example.co.uk"));
        check("www.example.org", None);
        check("example.org", None);
        check("192.0.2.1", None);
        check("localhost", None);
        // A public suffix of the private part: everybody's host is a domain.
        check("somebody.blogspot.com", None);
    }

    #[test]
    fn they_are_not_remembered_without_end() {
        for names in [Names::Settled, Names::Wildcard, Names::Blocked] {
            let domains = WildcardDomains::default();
            let all = (0..MOST).map(|number| {
                let domain = Domain {
                    names,
                    ..Domain::default()
                };
                (format!("d{number}.org"), domain)
            });
            domains.0.lock().unwrap().extend(all);
            domains.enter("www2.new.org", SiteKey::of("www2.new.org"));
            assert_eq!(domains.0.lock().unwrap().len(), 1, "{names:?}");
        }
    }

    #[test]
    fn a_domain_is_tried_once_after_several_hosts() {
        let domains = WildcardDomains::default();
        let enter = |number: usize| {
            let host = format!("shop{number}.example.org");
            domains.enter(&host, SiteKey::of(&host))
        };
        let asked: Vec<_> = (0..20).filter_map(enter).collect();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].ends_with(".example.org"), "{asked:?}");
        assert!(!domains.judges("shop1.example.org"));
        domains.is_wildcard("shop1.example.org");
        assert!(domains.judges("shop2.example.org"));
        assert!(!domains.judges("shop2.example.net"));
    }

    #[test]
    fn hosts_that_never_lead_back_are_a_trap() {
        let domains = WildcardDomains::default();
        let host = |number: u64| format!("shop{number}.example.org");
        for number in 0..8 {
            domains.enter(&host(number), SiteKey(number));
        }
        domains.is_wildcard(&host(0));
        let page = |number: u64, links: &[SiteKey]| {
            let text = format!("offers {number}");
            domains.note(&host(number), &Reading::of(&text, number + 1, 0), links, 50)
        };
        let pages = (1..100).position(|number| {
            let links: Vec<_> = (0..5).map(|n| SiteKey(number * 1000 + n)).collect();
            page(number, &links).is_some()
        });
        assert_eq!(pages, Some(23));
    }
}
