//! Sitemaps that robots.txt names. They are fetched like pages, and their entries are treated as links. If robots.txt
//! names a sitemap on another site, that sitemap may list pages of this site (`links/sitemap_grants.rs`).

use std::sync::Arc;

use aranha_frontier::Hop;
use aranha_url::Base;

use super::Visit;
use crate::collect::auxiliary_page;
use crate::links::outside_link;
use crate::robots_txt;

/// Maximum number of sitemaps on other sites that are used from one robots.txt.
const MAX_FOREIGN_SITEMAPS: usize = 100;

impl Visit {
    /// Admits the sitemaps that robots.txt names.
    pub(super) fn admit_sitemaps(&mut self) {
        if !self.context.config().crawl.sitemaps {
            return;
        }
        let Some(file) = &self.site.facts().robots else {
            return;
        };
        let context = Arc::clone(&self.context);
        let canon = &context.policy.canon;
        let Ok(robots_url) = canon.canon(&file.url) else {
            return;
        };
        let via = file.url.clone();
        let from = auxiliary_page(&robots_url, Hop::RobotsTxt);
        let mut foreign = 0;
        for sitemap in robots_txt::sitemaps(file) {
            let Ok(url) = canon.join(&Base::of(&robots_url), &sitemap) else {
                continue;
            };
            if !context.scope.wants(&url, 0) {
                continue;
            }
            if url.site_key() == self.site.key {
                self.admit(url.path(), url.path_key(), &from, Hop::Sitemap, &via);
            } else if foreign < MAX_FOREIGN_SITEMAPS {
                foreign += 1;
                let grants = &context.watchers.sitemap_grants;
                if grants.add(url.key(), &[self.site.key]) {
                    let link = outside_link(&url, &from, Hop::Sitemap, &robots_url);
                    self.batch.outside.push(link);
                }
            }
        }
    }
}
