//! The guard against a site that takes over the crawl (D7; K 2.3.6, B 4): noticed, and reported once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use aranha_url::SiteKey;

/// The last so many requests are looked at.
const SPAN: usize = 2048;
/// In percent of them.
const LARGE: u32 = 50;
/// Only where there is something to take over: so many sites among them.
const SITES: usize = 8;

/// The sites of the last requests.
#[derive(Debug, Default)]
pub(crate) struct SiteShare(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    ring: Vec<u64>,
    next: usize,
    counts: HashMap<u64, u32>,
    told: HashSet<u64>,
}

impl SiteShare {
    /// A page of this site was asked for. Answers with its share in percent when it has become too large.
    pub(crate) fn note(&self, site: SiteKey) -> Option<u32> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = &mut *window;
        if window.ring.len() < SPAN {
            window.ring.push(site.0);
        } else {
            let gone = std::mem::replace(&mut window.ring[window.next], site.0);
            window.next = (window.next + 1) % SPAN;
            if let Some(count) = window.counts.get_mut(&gone) {
                *count -= 1;
                if *count == 0 {
                    window.counts.remove(&gone);
                }
            }
        }
        let count = window.counts.entry(site.0).or_default();
        *count += 1;
        let percent = *count * 100 / SPAN as u32;
        let large = percent >= LARGE && window.counts.len() >= SITES;
        (large && window.told.insert(site.0)).then_some(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_once_when_half_of_the_requests_are_one_sites() {
        let site_share = SiteShare::default();
        let mut told = Vec::new();
        for request in 0..20_000u64 {
            // Ten sites in turn at first; then one takes two of three.
            let site = if request > 5000 && request % 3 > 0 {
                0
            } else {
                request % 10
            };
            if let Some(percent) = site_share.note(SiteKey(site)) {
                told.push((site, percent));
            }
        }
        assert_eq!(told, [(0, LARGE)]);
    }

    #[test]
    fn a_crawl_of_few_sites_is_not_taken_over() {
        let site_share = SiteShare::default();
        assert!((0..10_000u64).all(|n| site_share.note(SiteKey(n / 9000)).is_none()));
    }
}
