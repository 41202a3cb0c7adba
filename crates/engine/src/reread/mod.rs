//! Reads the links of stored pages again if a crawl has wider rules than the last crawl, such as a larger depth or
//! scope, fewer filters, `page.assets`, or a seed on another site.
//!
//! When a page is read, links that the rules exclude are dropped. Wider rules may include these links, but a page that
//! has not changed is not read at its next visit. So the stored pages are read from the archive, without a request,
//! before the visits begin. If a page was refused as out of scope and is now in scope, it is queued again. If
//! `crawl.pages_per_site` was raised, the pages beyond the old quota become due.
//!
//! **The new rules are saved only after all pages were read.** If the crawl is stopped before that, the next crawl
//! starts again from the first page. Pages that were already admitted are known, and are not admitted twice.
//!
//! A seed that is added while a crawl runs, such as the target of a seed's redirect, does not count as a wider rule.

mod link_rules;
mod site_links;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use aranha_frontier::shared::LINK_RULES;
use aranha_frontier::{FrontierError, PageRecord, RecordBatch, RecordCursor, Seed, SiteSettings};
use aranha_url::{Reach, SiteKey};
use aranha_volume::ArchiveReader;

use self::site_links::SiteReader;
use crate::collection::Collection;
use crate::node::{Context, EngineError, opening};
use crate::status::notice::Notice;

pub use self::link_rules::LinkRules;

use crate::commit::SharedFrontier;

/// In the list of wider rules, stands for a depth that the user has set for a seed.
const SEED_DEPTH: &str = "depth of a seed";
/// The name of added seeds in the list of wider rules.
const ADDED_SEEDS: &str = "added seeds";

/// Reads stored pages again if the rules of this crawl are wider than those of the last one.
pub(crate) struct Reread {
    rules: LinkRules,
    file: PathBuf,
    root: PathBuf,
    /// The configuration keys whose change makes the rules wider. `None` if no page is to be read. An empty list if the
    /// earlier rules are not known.
    changes: Option<Vec<&'static str>>,
    /// Whether the pages beyond the quota of the last crawl (`crawl.pages_per_site`) become due.
    raises_quota: bool,
    /// The sites for which the user has set a higher depth. If no other rule is wider, only the pages of these sites
    /// are read.
    deeper_sites: HashSet<SiteKey>,
}

/// The rules of this crawl, after they were saved.
pub(crate) struct SavedRules {
    rules: LinkRules,
    file: PathBuf,
}

impl SavedRules {
    /// Saves the rules again at the end of the crawl, with the number of seeds at that time.
    pub(crate) fn save_with_seeds(mut self, seeds: u64) {
        self.rules = self.rules.with_seeds(seeds);
        self.save();
    }

    fn save(&self) {
        if let Err(error) = self.rules.save(&self.file) {
            // The next crawl then reads the pages again, which is slow but not wrong.
            tracing::warn!(path = %self.file.display(), %error, "cannot save the link rules");
        }
    }
}

/// Whether one of the `added` seeds brings URLs into scope that the `earlier` seeds do not.
fn widen_scope(
    context: &Context,
    earlier: &[String],
    added: &[String],
    settings: &[SiteSettings],
) -> Result<bool, EngineError> {
    let config = context.config();
    // With this scope, a seed brings only itself into scope.
    if added.is_empty() || config.crawl.scope == Reach::Page {
        return Ok(false);
    }
    let canon = &context.policy.canon;
    let earlier = opening::scope(config, canon, earlier, settings)?;
    let now = context.scope.read();
    let mut added = added.iter().filter_map(|seed| canon.canon(seed).ok());
    Ok(added.any(|seed| now.judge(&seed, 0).inside && !earlier.judge(&seed, 0).inside))
}

/// Numbers of pages that were read again and of pages that were found.
#[derive(Clone, Copy, Default)]
struct Progress {
    read: u64,
    unreadable: u64,
    queued: u64,
    links_to_other_sites: u64,
}

impl Reread {
    /// Compares the rules of this crawl with those of the last crawl of the collection. `seeds`: all seeds, in the order in
    /// which they were added.
    pub(crate) fn new(
        collection: &Collection,
        context: &Context,
        seeds: &[String],
        settings: &[SiteSettings],
    ) -> Result<Self, EngineError> {
        let blocked = std::fs::read_to_string(collection.blacklist()).unwrap_or_default();
        let rules = LinkRules::of(context.config(), &blocked)?
            .with_seed_depths(settings)
            .with_seeds(seeds.len() as u64);
        let file = collection.link_rules();
        let mut deeper_sites = HashSet::new();
        let mut raises_quota = false;
        let changes = match LinkRules::load(&file) {
            Some(before) => {
                deeper_sites = rules.deeper_sites(&before);
                raises_quota = rules.raises_quota(&before);
                let mut changes = rules.widened(&before);
                changes.extend((!deeper_sites.is_empty()).then_some(SEED_DEPTH));
                let (earlier, added) = before.split_seeds(seeds);
                let is_wider = widen_scope(context, earlier, added, settings)?;
                changes.extend(is_wider.then_some(ADDED_SEEDS));
                Some(changes).filter(|changes| !changes.is_empty())
            }
            // An older release, which did not store the rules, made the last crawl.
            None => Some(Vec::new()),
        };
        Ok(Self {
            rules,
            file,
            root: collection.root().to_owned(),
            changes,
            raises_quota,
            deeper_sites,
        })
    }

    /// Reads the stored pages if necessary. Then saves the rules, unless the crawl was stopped before all pages were
    /// read. Returns the saved rules.
    pub(crate) async fn run(
        self,
        context: &Arc<Context>,
        frontier: &SharedFrontier,
    ) -> Result<Option<SavedRules>, FrontierError> {
        if let Some(changes) = &self.changes {
            match self.read_pages(context, frontier, changes).await? {
                Some(progress) if progress.read + progress.unreadable > 0 => {
                    context.reports.notices.send(Notice::PagesReadAgain {
                        pages: progress.read,
                        unreadable: progress.unreadable,
                        queued: progress.queued,
                        links_to_other_sites: progress.links_to_other_sites,
                    });
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
        if self.raises_quota && !make_waiting_pages_due(context, frontier).await? {
            return Ok(None);
        }
        if context.storage.is_node
            && let Ok(text) = self.rules.text()
        {
            // The frontier keeps a copy of the rules for commands that have no folder of the crawl.
            frontier
                .persist(move |frontier| {
                    let change = &mut |before: &str| (before != text).then(|| text.clone());
                    let shared = frontier.shared();
                    shared.map_or(Ok(()), |shared| {
                        shared.change_text(LINK_RULES, change).map(drop)
                    })
                })
                .await?;
        }
        let saved = SavedRules {
            rules: self.rules,
            file: self.file,
        };
        saved.save();
        Ok(Some(saved))
    }

    /// Reads all stored pages. Returns `None` if the crawl was stopped.
    async fn read_pages(
        &self,
        context: &Arc<Context>,
        frontier: &SharedFrontier,
        changes: &[&'static str],
    ) -> Result<Option<Progress>, FrontierError> {
        let mut progress = Progress::default();
        let Ok(archive) = ArchiveReader::open(&self.root) else {
            return Ok(Some(progress));
        };
        // A node reads only the pages that it fetched itself, because its folder has no others.
        let volumes = archive.volumes().unwrap_or_default();
        let is_node = context.storage.is_node;
        if is_node && volumes.is_empty() {
            return Ok(Some(progress));
        }
        let own: HashSet<u32> = volumes.iter().map(|volume| volume.id.node()).collect();
        let own = Arc::new(own);
        let archive = Arc::new(archive);
        let mut cursor = RecordCursor::default();
        let mut site: Option<SiteReader> = None;
        loop {
            let (next, batch) = next_records(frontier, cursor).await?;
            cursor = next;
            let Some(batch) = batch else {
                return Ok(Some(progress));
            };
            if context.control.stop.asked() {
                return Ok(None);
            }
            let is_wanted = *changes != [SEED_DEPTH] || self.deeper_sites.contains(&batch.site);
            if batch.blocked || !is_wanted {
                continue;
            }
            if site.is_none() && !changes.is_empty() {
                let keys = changes.iter().map(|key| (*key).to_owned()).collect();
                context.reports.notices.send(Notice::RulesWidened { keys });
            }
            let mut reader = match site.take() {
                Some(reader) if reader.key() == batch.site => reader,
                _ => SiteReader::new(&batch),
            };
            let (context_, archive_) = (Arc::clone(context), Arc::clone(&archive));
            let own = Arc::clone(&own);
            let (reader, key, found) = tokio::task::spawn_blocking(move || {
                let key = batch.site;
                let mut records = batch.records;
                let is_own = |record: &PageRecord| {
                    let folder = record.location.map(|location| location.volume.node());
                    folder.is_none_or(|folder| own.contains(&folder))
                };
                records.retain(|record| !is_node || is_own(record));
                let found = reader.read(&context_, &archive_, records);
                (reader, key, found)
            })
            .await
            .expect("reading does not panic, and blocking tasks are not cancelled");
            site = Some(reader);
            progress.read += found.read;
            progress.unreadable += found.unreadable;
            progress.links_to_other_sites += found.pages.outside.len() as u64;
            let (now, pages, seeds) = (context.now(), found.pages, found.seeds);
            progress.queued += frontier
                .persist(move |frontier| {
                    if !seeds.is_empty() {
                        frontier.seed(now, &seeds)?;
                    }
                    frontier.rediscover(now, key, &pages)
                })
                .await?;
        }
    }
}

/// Makes all pages due that wait for a retry or because of `crawl.pages_per_site`. Returns false if the crawl was stopped
/// before the end.
async fn make_waiting_pages_due(
    context: &Arc<Context>,
    frontier: &SharedFrontier,
) -> Result<bool, FrontierError> {
    let mut cursor = RecordCursor::default();
    let mut last = None;
    loop {
        let (next, batch) = next_records(frontier, cursor).await?;
        cursor = next;
        let Some(batch) = batch else {
            return Ok(true);
        };
        if context.control.stop.asked() {
            return Ok(false);
        }
        if batch.blocked || last.replace(batch.site) == Some(batch.site) {
            continue;
        }
        if let Some(url) = context.url_of(&batch.origin, "/") {
            let (now, site) = (context.now(), [Seed::of(&url)]);
            frontier
                .persist(move |frontier| frontier.make_due(now, &site))
                .await?;
        }
    }
}

/// The next batch of page records, and the position after it.
async fn next_records(
    frontier: &SharedFrontier,
    cursor: RecordCursor,
) -> Result<(RecordCursor, Option<RecordBatch>), FrontierError> {
    frontier
        .persist(move |frontier| {
            let mut next = cursor;
            let batch = frontier.read_records(&mut next)?;
            Ok((next, batch))
        })
        .await
}
