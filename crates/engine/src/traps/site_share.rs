//! Reports each site once that takes a large share of the requests (D7; Chakrabarti 2.3.6, Bouras 4).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use aranha_url::SiteKey;

/// Number of latest requests over which the shares of sites are computed.
const WINDOW: usize = 2048;
/// A site is reported if its share of these requests reaches this percentage.
const MIN_PERCENT: u32 = 50;
/// If these requests went to fewer sites than this, no site is reported.
const MIN_SITES: usize = 8;

/// The sites to which the latest requests were sent.
#[derive(Debug, Default)]
pub(crate) struct SiteShare(Mutex<RequestWindow>);

#[derive(Debug, Default)]
struct RequestWindow {
    ring: Vec<u64>,
    next: usize,
    counts: HashMap<u64, u32>,
    reported: HashSet<u64>,
}

impl SiteShare {
    /// Counts a request to a site. Returns the site's share in percent if the site must be reported now.
    pub(crate) fn count(&self, site: SiteKey) -> Option<u32> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = &mut *window;
        if window.ring.len() < WINDOW {
            window.ring.push(site.0);
        } else {
            let gone = std::mem::replace(&mut window.ring[window.next], site.0);
            window.next = (window.next + 1) % WINDOW;
            if let Some(count) = window.counts.get_mut(&gone) {
                *count -= 1;
                if *count == 0 {
                    window.counts.remove(&gone);
                }
            }
        }
        let count = window.counts.entry(site.0).or_default();
        *count += 1;
        let percent = *count * 100 / WINDOW as u32;
        let is_large = percent >= MIN_PERCENT && window.counts.len() >= MIN_SITES;
        (is_large && window.reported.insert(site.0)).then_some(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_with_half_of_the_requests_is_reported_once() {
        let site_share = SiteShare::default();
        let mut reported = Vec::new();
        for request in 0..20_000u64 {
            // Requests go to ten sites in turn. After the first 5000 requests, site 0 takes two of three requests.
            let site = if request > 5000 && request % 3 > 0 {
                0
            } else {
                request % 10
            };
            if let Some(percent) = site_share.count(SiteKey(site)) {
                reported.push((site, percent));
            }
        }
        assert_eq!(reported, [(0, MIN_PERCENT)]);
    }

    #[test]
    fn a_crawl_of_few_sites_has_no_report() {
        let site_share = SiteShare::default();
        assert!((0..10_000u64).all(|n| site_share.count(SiteKey(n / 9000)).is_none()));
    }
}
