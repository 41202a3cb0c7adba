//! The soft 404 probe: one request per site for a page that cannot exist. `traps/soft_404.rs` compares pages with the
//! response.

use aranha_frontier::{Hop, Pending};
use aranha_volume::Receipt;

use super::Visit;
use super::trap_check::FEW_PAGES;
use crate::collect::{PageResponse, auxiliary_page};
use crate::commit::CompletedFetch;
use crate::courtesy::BackOff;
use crate::traps::soft_404;

impl Visit {
    /// Returns the probe if it was not sent yet and at least [`FEW_PAGES`] pages of the site were fetched.
    pub(super) fn probe(&mut self) -> Option<Pending> {
        let facts = self.site.facts();
        let is_due = self.context.config().crawl.soft_404
            && facts.absent.is_none()
            && facts.counters.fetched >= FEW_PAGES;
        if !is_due {
            return None;
        }
        self.site.start_probe();
        let path = soft_404::probe_path(self.site.key);
        let url = self.context.url_of(&self.site.facts().origin, &path)?;
        Some(auxiliary_page(&url, Hop::SoftNotFoundProbe))
    }

    /// Stores the response to the probe. The probe does not count towards the page limit.
    pub(super) fn apply_probe(
        &mut self,
        page: Pending,
        url: String,
        response: PageResponse,
        receipt: Option<Receipt>,
        notes: String,
        now: i64,
    ) {
        self.context.control.pages.give_back();
        if let Some(back_off) = BackOff::requested(response.outcome, response.retry_after, now) {
            self.apply_back_off(back_off);
        }
        if let Some(absent) = soft_404::learn(&response) {
            self.site.store_absent(absent);
        }
        let mut fetch = CompletedFetch::auxiliary(page, url, response);
        (fetch.receipt, fetch.notes) = (receipt, notes);
        self.batch.done.push(fetch);
    }
}
