//! Sitemaps that robots.txt names. They are fetched like pages, and their entries are treated as links.

use std::sync::Arc;

use aranha_frontier::Hop;
use aranha_url::Base;

use super::Visit;
use crate::collect::auxiliary_page;
use crate::robots_txt;

impl Visit {
    /// Admits the sitemaps of this site that robots.txt names.
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
        for sitemap in robots_txt::sitemaps(file) {
            let Ok(url) = canon.join(&Base::of(&robots_url), &sitemap) else {
                continue;
            };
            if url.site_key() == self.site.key && context.scope.wants(&url, 0) {
                self.admit(url.path(), url.path_key(), &from, Hop::Sitemap, &via);
            }
        }
    }
}
