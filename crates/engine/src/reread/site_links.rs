//! Reads the stored pages of one site, to find the pages to which they lead under the rules of this crawl.

use std::collections::HashMap;
use std::thread;

use aranha_frontier::{Flags, Hop, Outcome, PageRecord, Pending, RecordBatch, Rediscovered, Seed};
use aranha_page::Input;
use aranha_url::{CanonUrl, PathKey, SiteKey};
use aranha_volume::ArchiveReader;

use crate::config::DuplicateLinks;
use crate::links::{PageLinks, extract, linked_page, outside_link};
use crate::node::Context;

/// Reads the records of one site, batch by batch, from the newest to the oldest.
pub(super) struct SiteReader {
    site: SiteKey,
    origin: String,
    /// The pages whose newest record was read. The value is true if an older record may have the content of the page.
    pages: HashMap<PathKey, bool>,
}

/// The result of one batch of records.
#[derive(Default)]
pub(super) struct Found {
    pub(super) pages: Rediscovered,
    /// Seeds that a redirect of an older seed adds.
    pub(super) seeds: Vec<Seed>,
    /// Number of pages whose stored body was read.
    pub(super) read: u64,
    /// Number of pages whose stored body could not be read.
    pub(super) unreadable: u64,
}

/// What is done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordUse {
    /// The stored body is read.
    Body,
    /// The target of the redirect is a link.
    Redirect,
    /// The page was refused. If it is wanted now, it is queued again.
    Refused,
    /// The fetch failed. An older record may have a body.
    Older,
    /// The record is skipped, because the page is gone or its links are not followed.
    Nothing,
}

fn use_of(record: &PageRecord, skips_copies: bool) -> RecordUse {
    match record.outcome {
        _ if record.redirect.is_some() => RecordUse::Redirect,
        Outcome::Answer(200..=299 | 304) if record.flags.has(Flags::NOFOLLOW) => RecordUse::Nothing,
        // The page is a copy. The page with the same text is read instead.
        Outcome::Answer(200..=299 | 304) if skips_copies && record.flags.has(Flags::COPY) => {
            RecordUse::Nothing
        }
        Outcome::Answer(200..=299 | 304) if record.location.is_some() => RecordUse::Body,
        Outcome::OutOfScope | Outcome::Blocked => RecordUse::Refused,
        Outcome::Answer(404 | 410) | Outcome::Unwanted(_) => RecordUse::Nothing,
        _ => RecordUse::Older,
    }
}

impl SiteReader {
    pub(super) fn new(batch: &RecordBatch) -> Self {
        Self {
            site: batch.site,
            origin: batch.origin.clone(),
            pages: HashMap::new(),
        }
    }

    pub(super) fn key(&self) -> SiteKey {
        self.site
    }

    /// Reads the next batch of records.
    pub(super) fn read(
        &mut self,
        context: &Context,
        archive: &ArchiveReader,
        records: Vec<PageRecord>,
    ) -> Found {
        let mut found = Found::default();
        let max_depth = context.config().thresholds.depth;
        let skips_copies = context.config().crawl.duplicate_links != DuplicateLinks::Follow;
        let thresholds = &context.config().thresholds;
        found.pages.max_known = thresholds.urls.filter(|_| !thresholds.block);
        let mut bodies = Vec::new();
        for record in records {
            let is_open = self.pages.entry(record.key).or_insert(true);
            if !*is_open {
                continue;
            }
            let use_of_record = use_of(&record, skips_copies);
            *is_open = use_of_record == RecordUse::Older;
            let Some(url) = context.url_of(&self.origin, &record.path) else {
                continue;
            };
            let is_too_deep = max_depth.is_some_and(|depth| record.site_depth >= depth);
            match use_of_record {
                RecordUse::Body if !is_too_deep => bodies.push((record, url)),
                RecordUse::Redirect => admit_redirect(context, &record, &url, &mut found),
                RecordUse::Refused => {
                    let page = page_of(record);
                    if context.scope.check_page(&url, &page).is_ok() {
                        found.pages.wanted_again.push(page);
                    }
                }
                RecordUse::Body | RecordUse::Older | RecordUse::Nothing => {}
            }
        }
        for (record, url, links) in read_bodies(context, archive, bodies) {
            match links {
                Some(links) => {
                    found.read += 1;
                    admit_links(&record, &url, links, &mut found.pages);
                }
                None => found.unreadable += 1,
            }
        }
        found
    }
}

/// A page with its links, which are `None` if its body could not be read.
type ReadPage = (PageRecord, CanonUrl, Option<PageLinks>);

/// Reads bodies from the archive, on all cores.
fn read_bodies(
    context: &Context,
    archive: &ArchiveReader,
    bodies: Vec<(PageRecord, CanonUrl)>,
) -> Vec<ReadPage> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = bodies.len().div_ceil(cores).max(1);
    let mut parts = Vec::new();
    let mut rest = bodies;
    while !rest.is_empty() {
        let later = rest.split_off(share.min(rest.len()));
        parts.push(std::mem::replace(&mut rest, later));
    }
    thread::scope(|scope| {
        let read = |(record, url): (PageRecord, CanonUrl)| {
            let links = read_links(context, archive, &record, &url);
            (record, url, links)
        };
        let workers: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(move || part.into_iter().map(read).collect::<Vec<_>>()))
            .collect();
        let results = workers
            .into_iter()
            .map(|worker| worker.join().expect("parsing does not panic"));
        results.flatten().collect()
    })
}

/// The links of a stored page. `None` if the archive does not have its body.
fn read_links(
    context: &Context,
    archive: &ArchiveReader,
    record: &PageRecord,
    url: &CanonUrl,
) -> Option<PageLinks> {
    let stored = archive.read_resolved(record.location?).ok()?;
    if stored.is_revisit() && stored.original().is_none() {
        return None;
    }
    let max_decoded = usize::try_from(context.config().fetch.max_decoded).unwrap_or(usize::MAX);
    let body = stored.body_decoded(max_decoded);
    let content_type = stored.http_header("content-type");
    let input = Input {
        url: url.as_str(),
        content_type: content_type.as_deref(),
        body: &body,
        content_language: None,
    };
    let options = &context.config().page;
    let mut page = aranha_page::read(&input, options);
    for header in stored.http_headers("link") {
        page.add_link_header(&header, options);
    }
    Some(extract(context, None, &page, &page_of(record.clone()), url))
}

fn admit_links(record: &PageRecord, url: &CanonUrl, links: PageLinks, found: &mut Rediscovered) {
    let from = page_of(record.clone());
    for (path, link) in links.inside.iter() {
        let page = linked_page(path, link.key, &from, link.hop, url.as_str());
        found.linked.push(page);
    }
    found.outside.extend(links.outside);
}

/// Admits the target of a redirect in the same way as a visit (`visit/admit.rs`).
fn admit_redirect(context: &Context, record: &PageRecord, url: &CanonUrl, found: &mut Found) {
    let target = record.redirect.as_deref().unwrap_or_default();
    let Ok(target) = context.policy.redirect_canon(record.hop).canon(target) else {
        return;
    };
    let from = page_of(record.clone());
    let (hop, seed) = context
        .scope
        .wants_redirect(&target, &from, from.hop == Hop::Seed);
    found.seeds.extend(seed);
    let Some(hop) = hop else {
        return;
    };
    if target.site_key() == url.site_key() {
        let page = linked_page(target.path(), target.path_key(), &from, hop, url.as_str());
        found.pages.linked.push(page);
    } else {
        let link = outside_link(&target, &from, hop, url);
        found.pages.outside.push(link);
    }
}

/// The page of a record, in the state of a page that waits for its first fetch.
fn page_of(record: PageRecord) -> Pending {
    Pending {
        path: record.path,
        key: record.key,
        depth: record.depth,
        site_depth: record.site_depth,
        tries: 0,
        hop: record.hop,
        via: record.via,
        past: None,
    }
}
