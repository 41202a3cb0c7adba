//! The page requisites (images, style sheets, frames …) that are missing in a mirror, each with the reason.
//!
//! [`super::MirrorWriter`] adds missing requisites while it rewrites links. `aranha export mirror` reports all of them
//! at the end. The reason is the outcome in the [`MirrorPlan`]. If a file has no record, the reason is why the crawl
//! decided not to fetch it.

use std::collections::BTreeMap;

use aranha_frontier::RobotsFile;
use aranha_page::LinkKind;
use aranha_robots::Access;
use aranha_url::{CanonUrl, Rejected, Scope};

use super::plan::{Absence, MirrorPlan};
use crate::collection_reader::CollectionReader;
use crate::error::CommandError;
use crate::robots_error::unreachable;

/// Maximum number of files that are looked up in the frontier, because a look-up reads all records of a site.
const MAX_LOOKUPS: usize = 1000;

/// The missing requisites by URL, each once.
#[derive(Debug, Default)]
pub(crate) struct MissingRequisites {
    by_url: BTreeMap<String, Requisite>,
}

#[derive(Debug)]
struct Requisite {
    /// The first page that loads the requisite, in the order of the export.
    page: String,
    kind: LinkKind,
    target: Result<CanonUrl, Rejected>,
}

/// A missing requisite in the form in which it is reported.
#[derive(Debug)]
pub(crate) struct MissingFile {
    pub(crate) url: String,
    /// A page that loads the file.
    pub(crate) page: String,
    pub(crate) reason: String,
}

/// The part of the collection that was exported.
pub(crate) struct Exported<'a> {
    pub(crate) collection: &'a CollectionReader,
    pub(crate) plan: &'a MirrorPlan,
    /// The only exported site, if the user named one.
    pub(crate) site: Option<&'a str>,
    /// The exported versions of the pages are those at this time, in milliseconds since 1970.
    pub(crate) at: i64,
}

impl MissingRequisites {
    /// Adds a requisite of `page`. `href` is the link as written in the page.
    pub(super) fn add(
        &mut self,
        target: Result<CanonUrl, Rejected>,
        href: &str,
        kind: LinkKind,
        page: &str,
    ) {
        let url = target.as_ref().map_or(href, CanonUrl::as_str);
        if !self.by_url.contains_key(url) {
            let page = page.to_owned();
            self.by_url
                .insert(url.to_owned(), Requisite { page, kind, target });
        }
    }

    /// The missing requisites with their reasons, sorted by URL.
    pub(crate) fn explain(self, exported: &Exported<'_>) -> Result<Vec<MissingFile>, CommandError> {
        if self.by_url.is_empty() {
            return Ok(Vec::new());
        }
        let scope = exported.collection.scope()?;
        let mut lookups = 0;
        self.by_url
            .into_iter()
            .map(|(url, requisite)| {
                let reason = match &requisite.target {
                    Err(rejected) => rejected.to_string(),
                    Ok(target) => exported.reason(&scope, target, requisite.kind, &mut lookups)?,
                };
                let page = requisite.page;
                Ok(MissingFile { url, page, reason })
            })
            .collect()
    }
}

impl Exported<'_> {
    fn reason(
        &self,
        scope: &Scope,
        url: &CanonUrl,
        kind: LinkKind,
        lookups: &mut usize,
    ) -> Result<String, CommandError> {
        if self.site.is_some_and(|site| site != url.site()) {
            return Ok("not on the exported site".to_owned());
        }
        if let Some(absence) = self.plan.absence(url) {
            return Ok(match absence {
                Absence::Outcome(outcome) => outcome.to_string(),
                Absence::Soft404 => "soft 404".to_owned(),
                Absence::Redirect(Some(outcome)) => {
                    format!("redirect to a missing file: {outcome}")
                }
                Absence::Redirect(None) => "redirect to a file that was not fetched".to_owned(),
            });
        }
        if kind == LinkKind::Asset && !self.collection.config.page.assets {
            return Ok("not followed: page.assets is off (--assets)".to_owned());
        }
        *lookups += 1;
        if *lookups > MAX_LOOKUPS {
            return Ok("not fetched".to_owned());
        }
        let known = self.collection.view.explain(url)?;
        if let Some(first) = known.records.first() {
            return Ok(if first.time > self.at {
                "fetched only after the time of the export".to_owned()
            } else {
                first.outcome.to_string()
            });
        }
        if known.waiting.is_some() || known.inbox {
            let robots = known.facts.and_then(|facts| facts.robots.clone());
            return Ok(match robots.filter(denies_all) {
                Some(file) => format!("queued: robots.txt is {}", unreachable(&file)),
                None => "queued, not fetched yet".to_owned(),
            });
        }
        let judgement = scope.judge_requisite(url, url.key(), 1);
        Ok(if judgement.inside {
            "not queued when its page was read".to_owned()
        } else {
            format!("out of scope: {}", judgement.rule)
        })
    }
}

/// Whether this response to the request for robots.txt forbids all pages of the site until robots.txt can be fetched.
fn denies_all(file: &RobotsFile) -> bool {
    let status = (file.status != 0).then_some(file.status);
    matches!(aranha_robots::access(status), Access::DenyAll)
}
