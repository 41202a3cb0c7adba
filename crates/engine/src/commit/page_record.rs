//! The only place that builds a [`PageRecord`]: from the page, its response and the verdict.
//!
//! Digest and location, and whether the payload was stored before, are known only to the archive.
//! [`CompletedFetch::stored`] adds these facts when the bytes are written.

use aranha_frontier::{Flags, PageRecord, Pending};
use aranha_revisit::PageState;
use aranha_volume::{Receipt, Stored};

use crate::collect::PageResponse;
use crate::verdict::{KeptVersion, NextVisit, Verdict};

/// A fetch that is to be recorded when its bytes are durable.
pub(crate) struct CompletedFetch {
    pub(crate) record: PageRecord,
    pub(crate) url: String,
    /// Text for the field `notes` of the crawl log.
    pub(crate) notes: String,
    /// Resolves when the bytes are written to a volume.
    pub(crate) receipt: Option<Receipt>,
    /// True for a page of the frontier. False for a robots.txt file or a probe, which is only archived and logged.
    pub(crate) is_page: bool,
    /// Whether [`PageRecord::past`] describes the bytes of this response.
    is_new_version: bool,
}

impl CompletedFetch {
    /// Makes the record of a page of the frontier. `is_blocked`: whether the site was blocked, earlier or because of
    /// this page.
    pub(crate) fn page(
        page: Pending,
        url: String,
        response: PageResponse,
        verdict: Verdict,
        is_blocked: bool,
    ) -> Self {
        let is_new = response
            .version
            .as_ref()
            .is_some_and(|version| version.is_new);
        let is_new_version = is_new && verdict.kept == KeptVersion::ThisResponse;
        let mut record = record(page, response, verdict);
        if is_blocked {
            record.flags = record.flags.with(Flags::BLOCKED);
        }
        Self {
            record,
            url,
            notes: String::new(),
            receipt: None,
            is_page: true,
            is_new_version,
        }
    }

    /// Makes the record of a robots.txt file or a probe.
    pub(crate) fn auxiliary(page: Pending, url: String, response: PageResponse) -> Self {
        let verdict = Verdict::done(page.tries.saturating_add(1));
        Self {
            is_page: false,
            ..Self::page(page, url, response, verdict, false)
        }
    }

    /// Adds the digest and the location of the bytes.
    pub(crate) fn stored(&mut self, stored: &Stored) {
        self.record.digest = Some(stored.digest);
        self.record.revisit = stored.revisit;
        self.record.location = Some(stored.location);
        if self.is_new_version
            && let Some(past) = self.record.past.as_mut()
        {
            past.digest = stored.digest;
            past.location = Some(stored.location);
        }
    }
}

fn record(page: Pending, response: PageResponse, verdict: Verdict) -> PageRecord {
    let next = verdict.next.due();
    let mut past = match verdict.kept {
        KeptVersion::Earlier => page.past,
        KeptVersion::ThisResponse => response.version.map(|version| Box::new(version.past)),
        KeptVersion::None => None,
    }
    // A page that is not due again needs no past.
    .filter(|_| next.is_some());
    if let Some(past) = &mut past {
        if !matches!(verdict.state, None | Some(PageState::Failed)) {
            past.visited = response.time;
        }
        if let NextVisit::Revisit { history, .. } = verdict.next {
            past.history = history;
            past.claim = 0;
        }
    }
    let soft = if verdict.soft_404 {
        Flags::SOFT_404
    } else {
        Flags::default()
    };
    PageRecord {
        path: page.path,
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time: response.time,
        outcome: response.outcome,
        media_type: response.media_type,
        size: response.size,
        digest: response.digest,
        text_digest: response.text_digest,
        language: response.language,
        location: None,
        revisit: false,
        duration_ms: response.duration_ms,
        tries: verdict.tries,
        hop: page.hop,
        via: page.via,
        redirect: response
            .redirect
            .map(|redirect| redirect.target.into_string()),
        flags: response.flags.with(soft),
        next,
        past,
    }
}
