//! The sites that a sitemap may list besides its own. These are the sites whose robots.txt names the sitemap
//! (sitemaps.org, "Sitemaps & Cross Submits"). Entries for any other site are ignored. Otherwise one file could send
//! the crawl to thousands of foreign hosts.
//!
//! A grant allows a sitemap to list a site. A visit reads robots.txt and adds grants before the sitemaps are fetched.
//! The grants are in memory only, because every visit adds the grants of its site again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aranha_url::{PageKey, SiteKey};

/// Maximum number of sitemaps with grants. When it is reached, all grants are dropped.
const MAX_SITEMAPS: usize = 64 << 10;
/// Maximum number of sites that one sitemap may list.
const MAX_SITES: usize = 1024;

/// The sites that each sitemap may list, besides its own.
#[derive(Debug, Default)]
pub(crate) struct SitemapGrants(Mutex<HashMap<PageKey, Vec<SiteKey>>>);

impl SitemapGrants {
    /// Allows a sitemap to list the pages of `sites`. Returns true if the sitemap was not allowed to list one of these
    /// sites before.
    pub(crate) fn add(&self, sitemap: PageKey, sites: &[SiteKey]) -> bool {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if grants.len() >= MAX_SITEMAPS && !grants.contains_key(&sitemap) {
            grants.clear();
        }
        let granted = grants.entry(sitemap).or_default();
        let before = granted.len();
        for site in sites {
            if granted.len() < MAX_SITES && !granted.contains(site) {
                granted.push(*site);
            }
        }
        granted.len() > before
    }

    /// The sites that a sitemap may list, besides its own.
    pub(crate) fn of(&self, sitemap: PageKey) -> Vec<SiteKey> {
        let grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.get(&sitemap).cloned().unwrap_or_default()
    }
}
