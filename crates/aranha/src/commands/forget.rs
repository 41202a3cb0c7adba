//! `aranha forget`: deletes the contents of a page or a site from the archive (X12).
//!
//! First the pages are blocked, and their records become tombstones (`aranha_volume::forget`). Then the deletion is recorded in
//! `forgotten.jsonl` (in the frontier, if several nodes share it) and `logs/events.jsonl`, and the frontier forgets the
//! validators of the pages. Finally the changed volumes are uploaded. After a crash, the same command makes the missing steps.
//!
//! In a crawl of several machines only the volumes of this folder are changed. [`elsewhere`] names the others.

mod elsewhere;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use aranha_engine::{Clock, Collection, Config, Event, Notice};
use aranha_frontier::shared::{BLACKLIST, FORGOTTEN};
use aranha_frontier::{
    Embedded, Frontier as _, FrontierError, PageFilter, PageRecord, Postgres, SharedCrawl,
};
use aranha_url::{CanonUrl, PathKey};
use aranha_volume::{Archive, ForgetRequest, Forgotten, Location, VolumeError};
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::commands::ship;
use crate::display::about;
use crate::error::{CommandError, ExitStatus};
use crate::forgotten::{self, ForgetTarget, ForgottenEntry};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::own_volumes::OwnVolumes;
use crate::shared_args::{CollectionArg, JsonObjectArg};
use crate::terminal_escape::Escaped;
use elsewhere::Elsewhere;

const EXAMPLES: &str = "\
Examples:
  aranha forget https://example.org/private -c national --reason \"request of 2026-11-19\" --dry-run
  aranha forget https://example.org/private -c national --reason \"request of 2026-11-19\"
  aranha forget example.org -c national
  aranha forget https://example.org/photo.jpg --copies -c national

Every stored version of the page, or of all pages of the site, is overwritten in place. Tombstones remain: they say when \
and why the content was deleted. Volumes in object stores are downloaded, changed and uploaded again. Exports and backups \
are not changed. Stop a running crawl first. In a crawl of several machines, the command changes the volumes of this folder, and \
prints the commands to run in the folders that have other versions; the exit status is 1 until that is done.";

/// Delete the contents of a page or a site from the archive, and block it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A URL, or a site: a host, with its port if it is not the default one
    #[arg(value_name = "URL|SITE")]
    target: String,
    #[command(flatten)]
    collection: CollectionArg,
    /// The reason; kept in the tombstones and shown by `why` and `history`
    #[arg(long, default_value = "")]
    reason: String,
    /// Also forget other pages with the same content
    #[arg(long)]
    copies: bool,
    /// Let later crawls fetch the page again
    #[arg(long)]
    no_block: bool,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: JsonObjectArg,
}

/// What the frontier knows about the pages to forget.
#[derive(Default)]
struct KnownPages {
    /// The pages with stored responses, by site.
    pages: Pages,
    /// Stored responses in this folder.
    locations: BTreeSet<Location>,
    /// Digests of the payloads. The digest of the empty payload is left out, because many pages have it.
    digests: HashSet<[u8; 20]>,
}

/// Pages by site.
type Pages = BTreeMap<String, HashSet<PathKey>>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    frontier_access::require_existing(&arguments.collection)?;
    let reader = CollectionReader::open(&arguments.collection)?;
    let folder = Collection::at(&arguments.collection.folder);
    let target = if arguments.target.contains('/') {
        ForgetTarget::Page(reader.stored_url(&arguments.target)?.0)
    } else {
        ForgetTarget::parse(&arguments.target, &reader.literal).ok_or_else(|| {
            CommandError::usage(format!(
                "`{}` is neither a URL nor a host",
                arguments.target
            ))
            .hint("for example https://example.org/page or example.org")
        })?
    };
    let reason = arguments.reason.replace(char::is_control, " ");
    let own = OwnVolumes::of(&reader.folder, &reader.view)?;
    let entries = forgotten::read(&folder, &reader.view)?;
    let mut elsewhere = Elsewhere::new(&own, &entries, &reader.literal);
    let known = known_pages(&reader, &target, &mut elsewhere)?;
    let request = ForgetRequest {
        known_copies: known_copies(
            &reader,
            &target,
            &known.digests,
            arguments.copies.then_some(&mut elsewhere),
            &own,
        )?,
        locations: known.locations,
        is_target: &|url| covers(&reader, &target, url),
        copies: arguments.copies,
        reason: &reason,
        time_ms: Clock::new().now(),
        dry_run: arguments.dry_run,
    };
    let forgetting = Forgetting {
        arguments,
        folder: &folder,
        reader: &reader,
        target: &target,
        request: &request,
        entries: &entries,
        folder_numbers: if reader.view.is_shared() {
            own.folder_numbers()
        } else {
            Vec::new()
        },
    };
    let found = if arguments.dry_run {
        forgetting.volumes()?
    } else {
        forgetting.run(known.pages)?
    };
    if found.records + found.already + elsewhere.already == 0 && elsewhere.is_empty() {
        return Err(CommandError::failed(format!(
            "the archive has no content of {}",
            arguments.target
        ))
        .hint("`aranha pages` lists the pages of the collection"));
    }
    report(arguments, &found, &elsewhere)?;
    if arguments.dry_run {
        return Ok(ExitStatus::Done);
    }
    upload(&reader, &found)?;
    if !elsewhere.is_empty() {
        return Err(elsewhere.error(arguments));
    }
    Ok(ExitStatus::Done)
}

/// The frontier, open for changes. It keeps crawls and nodes from the folder.
enum Writer {
    Folder(Box<Embedded>),
    Shared(Box<Postgres>),
}

impl Writer {
    fn open(folder: &Collection, config: &Config) -> Result<Self, CommandError> {
        let shared = if has_archive(folder) {
            frontier_access::shared_node(folder, config)?
        } else {
            frontier_access::shared_writer(config)?
        };
        Ok(match shared {
            Some(frontier) => Self::Shared(Box::new(frontier)),
            None => Self::Folder(Box::new(Embedded::open(
                folder.root(),
                config.frontier.clone(),
            )?)),
        })
    }

    fn shared(&mut self) -> Option<&mut dyn SharedCrawl> {
        match self {
            Self::Folder(_) => None,
            Self::Shared(frontier) => Some(frontier.as_mut()),
        }
    }

    /// Lets the pages of a site be fetched again without validators.
    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        match self {
            Self::Folder(frontier) => frontier.refetch(now, site, pages),
            Self::Shared(frontier) => frontier.refetch_at_once(now, site, pages),
        }
    }
}

/// Whether the folder has volumes. A folder that only names a shared frontier has none.
fn has_archive(folder: &Collection) -> bool {
    folder.root().join("archive").exists()
}

/// A deletion.
struct Forgetting<'a> {
    arguments: &'a Arguments,
    folder: &'a Collection,
    reader: &'a CollectionReader,
    target: &'a ForgetTarget,
    request: &'a ForgetRequest<'a>,
    /// What was forgotten before.
    entries: &'a [ForgottenEntry],
    /// The numbers of this folder in a crawl of several machines.
    folder_numbers: Vec<u32>,
}

impl Forgetting<'_> {
    /// Makes the changes. `pages` are those of the target.
    fn run(&self, mut pages: Pages) -> Result<Forgotten, CommandError> {
        let mut frontier = Writer::open(self.folder, &self.reader.config)?;
        // Other nodes may be at work. They are not to fetch the page again meanwhile.
        self.block(&mut frontier, &[self.target.block_entry()])?;
        if has_archive(self.folder) {
            // First, a volume that a crash left open gets its index. Nothing is uploaded yet.
            let options = aranha_volume::Options {
                stores: Vec::new(),
                ..self.reader.config.volume.clone()
            };
            let archive = Archive::open(self.folder.root(), options);
            drop(archive.map_err(|error| cannot_change(&error))?);
        }
        let found = self.volumes()?;
        let copies: Vec<ForgetTarget> = if self.arguments.copies {
            let urls = found.copies.iter();
            let urls = urls.filter_map(|url| self.reader.literal.canon(url).ok());
            urls.map(ForgetTarget::Page).collect()
        } else {
            Vec::new()
        };
        self.record(&mut frontier, &found, &copies)?;
        let copies: Vec<String> = copies.iter().map(ForgetTarget::block_entry).collect();
        self.block(&mut frontier, &copies)?;
        // The validators are removed, because a conditional request would be answered with 304, and the record of this
        // response would refer to the tombstone. The next crawl stores copies that keep their record anew.
        for url in found.urls.iter().chain(&found.copies) {
            if let Ok(url) = self.reader.literal.canon(url) {
                let site = pages.entry(url.site().to_owned()).or_default();
                site.insert(url.path_key());
            }
        }
        for (site, pages) in pages {
            frontier.refetch(self.request.time_ms, &site, &pages)?;
        }
        Ok(found)
    }

    /// Finds the records in the volumes of this folder, and overwrites them unless this is a dry run.
    fn volumes(&self) -> Result<Forgotten, CommandError> {
        if !has_archive(self.folder) {
            return Ok(Forgotten::default());
        }
        aranha_volume::forget(self.folder.root(), self.request)
            .map_err(|error| cannot_change(&error))
    }

    /// Writes what was forgotten to `forgotten.jsonl` and to the log of events.
    fn record(
        &self,
        frontier: &mut Writer,
        found: &Forgotten,
        copies: &[ForgetTarget],
    ) -> Result<(), CommandError> {
        // After a crash, there may be tombstones without an entry in `forgotten.jsonl`.
        let name = self.target.name();
        let is_recorded = self.entries.iter().any(|entry| {
            entry.target == name
                && self
                    .folder_numbers
                    .iter()
                    .all(|number| entry.folders.contains(number))
        });
        if found.records == 0 && (found.already == 0 || is_recorded) {
            return Ok(());
        }
        let mut lines = String::new();
        for page in std::iter::once(self.target).chain(copies) {
            let is_copy = page.name() != name;
            let entry = ForgottenEntry {
                time_ms: self.request.time_ms,
                target: page.name().to_owned(),
                reason: self.request.reason.to_owned(),
                records: found.records,
                copy_of: is_copy.then(|| self.arguments.target.clone()),
                folders: self.folder_numbers.clone(),
            };
            lines += &serde_json::to_string(&entry).expect("an entry is valid JSON");
            lines.push('\n');
        }
        if let Some(shared) = frontier.shared() {
            shared.change_text(FORGOTTEN, &mut |text| Some(format!("{text}{lines}")))?;
        } else {
            let path = self.folder.forgotten();
            aranha_engine::append_lines(&path, lines.as_bytes())
                .map_err(|error| cannot_write(&path, &error))?;
        }
        let notice = Notice::Forgotten {
            target: self.arguments.target.clone(),
            reason: self.request.reason.to_owned(),
            records: found.records,
            volumes: found.volumes.len() as u64,
        };
        let event = Event::notice(self.request.time_ms, notice);
        let mut line = serde_json::to_vec(&event).expect("an event is valid JSON");
        line.push(b'\n');
        let path = self.folder.event_log();
        aranha_engine::append_lines(&path, &line).map_err(|error| cannot_write(&path, &error))
    }

    /// Adds entries to the black list of the folder or of the crawl, unless the user does not want that.
    fn block(&self, frontier: &mut Writer, entries: &[String]) -> Result<(), CommandError> {
        if self.arguments.no_block {
            return Ok(());
        }
        let new = |listed: &str| -> Vec<&str> {
            let entry_of = aranha_url::blacklist::entry_of;
            let is_new = |entry: &&str| !listed.lines().any(|line| entry_of(line) == *entry);
            entries.iter().map(String::as_str).filter(is_new).collect()
        };
        let reason = format!("forgotten {}", self.request.reason);
        let reason = reason.trim_end();
        if let Some(shared) = frontier.shared() {
            shared.change_text(BLACKLIST, &mut |text| {
                let new = new(text);
                let add = || aranha_engine::with_blacklist_entries(text, &new, reason);
                (!new.is_empty()).then(add)
            })?;
            return Ok(());
        }
        let path = self.folder.blacklist();
        let listed = std::fs::read_to_string(&path).unwrap_or_default();
        aranha_engine::add_to_blacklist(&path, &new(&listed), reason)
            .map_err(|error| cannot_write(&path, &error))?;
        Ok(())
    }
}

fn cannot_write(path: &std::path::Path, error: &std::io::Error) -> CommandError {
    CommandError::cannot_write(
        path,
        error,
        "you must be allowed to write to the collection",
    )
}

/// Whether the target includes a stored URL.
fn covers(reader: &CollectionReader, target: &ForgetTarget, url: &str) -> bool {
    let url = reader.literal.canon(url);
    url.is_ok_and(|url| target.covers(&url))
}

/// What the frontier knows about the target. Records of other folders are counted in `elsewhere`.
fn known_pages(
    reader: &CollectionReader,
    target: &ForgetTarget,
    elsewhere: &mut Elsewhere<'_>,
) -> Result<KnownPages, CommandError> {
    let mut known = KnownPages::default();
    let mut add = |url: &CanonUrl, record: &PageRecord| {
        known
            .digests
            .extend(record.digest.filter(|_| record.size > 0));
        if let Some(location) = record.location {
            let site = known.pages.entry(url.site().to_owned()).or_default();
            site.insert(record.key);
            if elsewhere.is_here(location, url, record.time) {
                known.locations.insert(location);
            }
        }
    };
    match target {
        ForgetTarget::Page(url) => {
            for record in &reader.view.explain(url)?.records {
                add(url, record);
            }
        }
        ForgetTarget::Site(site) => {
            let filter = PageFilter {
                site: Some(site),
                all: true,
                ..PageFilter::default()
            };
            reader.view.pages(&filter, |entry| {
                if let Ok(url) = reader.literal.canon(&entry.url()) {
                    add(&url, entry.record);
                }
                true
            })?;
        }
    }
    Ok(known)
}

/// The stored responses of other pages that have one of these payloads, in this folder, with the URLs of these pages. Those
/// of other folders are counted in `elsewhere`.
fn known_copies(
    reader: &CollectionReader,
    target: &ForgetTarget,
    digests: &HashSet<[u8; 20]>,
    mut elsewhere: Option<&mut Elsewhere<'_>>,
    own: &OwnVolumes,
) -> Result<BTreeMap<Location, String>, CommandError> {
    let mut copies = BTreeMap::new();
    if digests.is_empty() {
        return Ok(copies);
    }
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    reader.view.pages(&filter, |entry| {
        let is_copy = entry
            .record
            .digest
            .is_some_and(|digest| digests.contains(&digest));
        let Some(location) = entry.record.location.filter(|_| is_copy) else {
            return true;
        };
        let url = entry.url();
        let Ok(canonical) = reader.literal.canon(&url) else {
            return true;
        };
        if target.covers(&canonical) {
            return true;
        }
        let is_here = match &mut elsewhere {
            Some(elsewhere) => elsewhere.is_here(location, &canonical, entry.record.time),
            None => own.contains(location.volume),
        };
        if is_here {
            copies.insert(location, url);
        }
        true
    })?;
    Ok(copies)
}

fn report(
    arguments: &Arguments,
    found: &Forgotten,
    elsewhere: &Elsewhere<'_>,
) -> Result<(), CommandError> {
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({
            "target": arguments.target,
            "dry_run": arguments.dry_run,
            "records": found.records,
            "already": found.already,
            "volumes": found.volumes,
            "downloaded": found.downloaded,
            "urls": found.urls,
            "copies": found.copies,
            "copies_forgotten": arguments.copies,
            "elsewhere": elsewhere.json(arguments),
        }))?;
        return output.finish();
    }
    for url in &found.urls {
        output.line(Escaped(url))?;
    }
    output.finish()?;
    let records = counted(found.records, "record");
    let volumes = counted(found.volumes.len() as u64, "volume");
    let verb = if arguments.dry_run {
        "would be overwritten"
    } else {
        "overwritten"
    };
    message(format_args!("{records} in {volumes} {verb}"));
    if found.already > 0 {
        let already = counted(found.already, "record");
        message(format_args!("{already} forgotten before"));
    }
    if found.downloaded > 0 {
        let size = about(found.downloaded);
        let remote = counted(found.remote.len() as u64, "volume");
        message(format_args!(
            "{remote} of an object store, {size}: each is downloaded, changed and uploaded again"
        ));
    }
    if !found.copies.is_empty() && !arguments.copies {
        message(format_args!(
            "{} with the same content; --copies forgets them too. The next crawl fetches them \
again, because their records may refer to the deleted content:",
            counted(found.copies.len() as u64, "other page")
        ));
        for url in found.copies.iter().take(10) {
            message(format_args!("  {}", Escaped(url)));
        }
    }
    elsewhere.print(arguments);
    Ok(())
}

/// Uploads the changed volumes.
fn upload(reader: &CollectionReader, found: &Forgotten) -> Result<(), CommandError> {
    let options = &reader.config.volume;
    let waiting = aranha_volume::waiting_uploads(&reader.folder, options);
    let Ok(Some(waiting)) = waiting else {
        return Ok(());
    };
    if waiting.volumes == 0 || found.volumes.is_empty() {
        return Ok(());
    }
    let shipped = aranha_volume::ship(&reader.folder, options, |_| {});
    let shipped = shipped.map_err(|error| {
        CommandError::failed(format!(
            "the object store still has the old content: {error}"
        ))
        .hint("run `aranha ship` when the store can be reached; the local volumes are changed")
    })?;
    message(format_args!(
        "{} uploaded",
        counted(shipped.volumes, "volume")
    ));
    Ok(())
}

fn cannot_change(error: &VolumeError) -> CommandError {
    match error {
        VolumeError::Store { .. } => ship::cannot_upload(error),
        VolumeError::InUse { .. } => CommandError::failed(error.to_string())
            .hint("stop the crawl with Ctrl-C; it can be continued after that"),
        _ => CommandError::failed(error.to_string())
            .hint("run the same command again when the cause is removed; it completes the changes"),
    }
}
