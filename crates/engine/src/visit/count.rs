//! Counts the responses of a site, for the thresholds of the site, the limits of the crawl, and the reports.

use aranha_frontier::{Outcome, Pending};

use super::Visit;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::verdict::page_threshold;

impl Visit {
    /// Counts one fetch, and blocks the site when it reaches the threshold `urls`.
    pub(super) fn count(&mut self, page: &Pending, outcome: Outcome, size: u64) {
        let context = std::sync::Arc::clone(&self.context);
        let counters = context.counters();
        let status = match outcome {
            Outcome::Answer(status) | Outcome::Unwanted(status) => Some(status),
            Outcome::NoTarget => Some(300),
            _ => None,
        };
        if let Some(status) = status {
            let is_temporary = context.config().retry.delays(outcome).is_some();
            self.site.count_response(page, size, is_temporary);
            add(&counters.pages, 1);
            if let Some(percent) = context.watchers.site_share.count(self.site.key) {
                let site = self.site.name().to_owned();
                let notice = Notice::SiteShare { site, percent };
                context.reports.notices.send(notice);
            }
            if status >= 400 {
                add(&counters.http_errors, 1);
            }
            context.control.page_answered();
        } else {
            self.site.count_failure();
            add(&counters.failed, 1);
            context.control.pages.give_back();
        }
        let is_failure = status.is_none_or(|status| status == 429 || status >= 500);
        self.requests.failures = if is_failure {
            self.requests.failures + 1
        } else {
            0
        };
        let thresholds = &context.config().thresholds;
        if let Some(reason) = page_threshold(&self.site.facts().counters, thresholds) {
            self.block_as_trap(reason);
        }
    }
}
