//! Reports a seed that could not be fetched, at once and with the reason.

use aranha_frontier::{Hop, Outcome, Pending, RobotsFile};
use aranha_url::CanonUrl;

use super::Visit;
use crate::status::notice::Notice;
use crate::status::seed_failures::SeedFailure;
use crate::status::tally::add;

impl Visit {
    /// Reports the page if it is a seed, or the target of a redirect of a seed, and was not fetched, or if its response
    /// is an HTTP error. `notes`: details of a failed request, or an empty text.
    pub(super) fn report_seed(&self, page: &Pending, outcome: Outcome, notes: &str) {
        if outcome.status().is_some_and(|status| status < 400) || !self.is_seed(page) {
            return;
        }
        let reason = match outcome {
            Outcome::RobotsRefused => "robots.txt disallows it".to_owned(),
            Outcome::Answer(status) => format!("the server answered with status {status}"),
            _ if notes.is_empty() => outcome.to_string(),
            _ => notes.to_owned(),
        };
        self.report_failed_seed(page, reason);
    }

    /// Reports all seeds in the queue, because the site cannot be reached.
    pub(super) fn report_queued_seeds(&self, reason: &str) {
        for page in self.queue.clone().filter(|page| self.is_seed(page)) {
            self.report_failed_seed(&page, reason.to_owned());
        }
    }

    /// Notes the redirect if the page is a seed. Its target then counts as the seed.
    pub(super) fn note_seed_redirect(&self, from: &Pending, target: &CanonUrl) {
        if self.is_seed(from) {
            let key = (target.site_key().0, target.path_key().0);
            self.context.reports.seed_failures.add_redirect(key);
        }
    }

    /// Reports a seed that redirects to itself again and again.
    pub(super) fn report_endless_redirect(&self, page: &Pending) {
        if self.is_seed(page) {
            self.report_failed_seed(page, "it redirects to itself".to_owned());
        }
    }

    /// Whether the page is a seed, or the target of a redirect of a seed.
    pub(super) fn is_seed(&self, page: &Pending) -> bool {
        match page.hop {
            Hop::Seed => true,
            Hop::Redirect => {
                let key = (self.site.key.0, page.key.0);
                self.context.reports.seed_failures.is_target(key)
            }
            _ => false,
        }
    }

    fn report_failed_seed(&self, page: &Pending, mut reason: String) {
        if page.hop == Hop::Redirect {
            reason = format!("{reason} ({} redirects to it)", page.via);
        }
        let failure = SeedFailure {
            url: format!("{}{}", self.site.facts().origin, page.path),
            reason,
        };
        let reports = &self.context.reports;
        if reports
            .seed_failures
            .add((self.site.key.0, page.key.0), &failure)
        {
            add(&reports.counters.seeds_failed, 1);
            let SeedFailure { url, reason } = failure;
            reports.notices.send(Notice::SeedFailed { url, reason });
        }
    }
}

/// The reason why no page of a site may be fetched: its robots.txt file could not be fetched.
pub(super) fn robots_txt_error(file: &RobotsFile) -> String {
    match (file.status, String::from_utf8_lossy(&file.body).trim()) {
        (0, "") => "robots.txt could not be fetched".to_owned(),
        (0, reason) => reason.to_owned(),
        (status, _) => {
            format!("robots.txt could not be fetched: the server answered with status {status}")
        }
    }
}
