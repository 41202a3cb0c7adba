//! `aranha changes`: the pages that are new, changed or gone since a time.
//!
//! Compares the current state of each page with its state at that time. Reads one site after the other. Only the pages
//! of this site that were fetched since then are in memory.

use std::collections::BTreeMap;

use aranha_engine::{Collection, Progress};
use aranha_frontier::{PageEntry, PageFilter, PageRecord};
use aranha_units::calendar;
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::page_history::{ResponseKind, kind, same_text};
use crate::point_in_time::PointInTime;
use crate::shared_args::{CollectionArg, JsonLinesArg, SiteArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha changes -c example                      since the start of the last crawl
  aranha changes -c example --since 2026-11-01
  aranha changes -c example --json | jq -r 'select(.change == \"changed\") | .url'
  aranha diff https://example.org/ -c example    what changed in one page

Columns, separated by tabs: change (new, changed, gone), time of the fetch that found it, URL. A page \
has changed if its text has changed; a file without text, such as an image, has changed if its bytes have changed.";

/// List the pages that are new, changed or gone since a time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    site: SiteArg,
    /// Compare with the state at this time: a date (the end of that day), a date and time in UTC, or an RFC 3339 time
    /// [default: the start of the last crawl]
    #[arg(long, value_name = "WHEN")]
    since: Option<PointInTime>,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    let site = collection.site(&arguments.site)?;
    let since = match arguments.since {
        Some(since) => since.ms(),
        None => last_crawl(&collection),
    };
    let filter = PageFilter {
        site: site.as_deref(),
        outcome: None,
        all: true,
    };
    let mut output = Output::new();
    let mut listing = Listing {
        json: arguments.output.json,
        since,
        site: String::new(),
        pages: BTreeMap::new(),
    };
    let mut failure = None;
    collection.view.pages(&filter, |entry| {
        let printed = listing.enter_site(entry.site, &mut output);
        listing.add(&entry);
        failure = printed.err();
        failure.is_none()
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    listing.print_site(&mut output)?;
    output.finish()?;
    Ok(ExitStatus::Done)
}

/// A time just before the start of the last crawl, so that all fetches of that crawl are later; 0 if the start is
/// unknown.
fn last_crawl(collection: &CollectionReader) -> i64 {
    let path = Collection::at(&collection.folder).progress();
    Progress::read(&path).map_or(0, |progress| progress.started - 1)
}

struct Listing {
    json: bool,
    since: i64,
    /// The site whose records are being read.
    site: String,
    /// Pages of the site that were fetched since the given time, by URL.
    pages: BTreeMap<String, Page>,
}

/// A page that was fetched since the given time. Records are added from the newest to the oldest.
struct Page {
    /// Whether the page was gone at the newest fetch that shows whether it exists. `None` if no fetch shows this.
    is_gone: Option<bool>,
    /// Time of that fetch.
    gone_at: i64,
    /// The newest content since the given time.
    content: Option<PageRecord>,
    /// The content at the given time; `None` if the page was gone or unknown at that time.
    before: Option<PageRecord>,
    /// Whether `before` is final. If so, older records are ignored.
    is_compared: bool,
    /// Whether an old record (up to the given time) is a 304 response. Such a response confirms content that was
    /// fetched earlier.
    confirmed: bool,
}

impl Listing {
    fn enter_site(&mut self, site: &str, output: &mut Output) -> Result<(), CommandError> {
        if self.site != site {
            self.print_site(output)?;
            site.clone_into(&mut self.site);
        }
        Ok(())
    }

    fn add(&mut self, entry: &PageEntry<'_>) {
        let record = entry.record;
        let url = entry.url();
        if record.time > self.since {
            let page = self.pages.entry(url).or_insert_with(|| Page {
                is_gone: None,
                gone_at: record.time,
                content: None,
                before: None,
                is_compared: false,
                confirmed: false,
            });
            page.add_new(record);
        } else if let Some(page) = self.pages.get_mut(&url) {
            page.add_old(record);
        }
    }

    fn print_site(&mut self, output: &mut Output) -> Result<(), CommandError> {
        for (url, page) in std::mem::take(&mut self.pages) {
            let Some(change) = page.change() else {
                continue;
            };
            let content = page
                .content
                .as_ref()
                .filter(|_| page.is_gone == Some(false));
            let time = calendar::rfc3339(content.map_or(page.gone_at, |record| record.time));
            if self.json {
                output.json(&json!({
                    "change": change, "url": url, "time": time,
                    "before": page.before.map(|record| calendar::rfc3339(record.time)),
                }))?;
            } else {
                output.line(format_args!("{change}\t{time}\t{}", Escaped(&url)))?;
            }
        }
        Ok(())
    }
}

impl Page {
    fn add_new(&mut self, record: &PageRecord) {
        let (is_gone, is_content) = match kind(record) {
            ResponseKind::Gone => (true, false),
            ResponseKind::Content => (false, true),
            ResponseKind::NotModified => (false, false),
            ResponseKind::Moved | ResponseKind::Failed => return,
        };
        if self.is_gone.is_none() {
            self.is_gone = Some(is_gone);
            self.gone_at = record.time;
        }
        if is_content && self.content.is_none() {
            self.content = Some(record.clone());
        }
    }

    fn add_old(&mut self, record: &PageRecord) {
        if self.is_compared {
            return;
        }
        match kind(record) {
            ResponseKind::Content => {
                self.before = Some(record.clone());
                self.is_compared = true;
            }
            ResponseKind::Gone if !self.confirmed => self.is_compared = true,
            ResponseKind::NotModified => self.confirmed = true,
            ResponseKind::Gone | ResponseKind::Moved | ResponseKind::Failed => {}
        }
    }

    /// The kind of the change; `None` if nothing has changed.
    fn change(&self) -> Option<&'static str> {
        match (&self.before, self.is_gone?, &self.content) {
            (Some(_), true, _) => Some("gone"),
            (None, false, Some(_)) => Some("new"),
            (Some(before), false, Some(now)) if !is_same(before, now) => Some("changed"),
            _ => None,
        }
    }
}

/// Whether two fetches found the same text, or the same bytes.
fn is_same(one: &PageRecord, other: &PageRecord) -> bool {
    same_text(one, other) || (one.digest.is_some() && one.digest == other.digest)
}
