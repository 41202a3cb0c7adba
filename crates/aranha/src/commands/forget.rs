//! `aranha forget`: deletes the contents of a page or a site from the archive (X12).
//!
//! First the records of the pages become tombstones (`aranha_volume::forget`). Then the deletion is recorded in
//! `forgotten.jsonl` and `logs/events.jsonl`, the pages are blocked, and the frontier forgets their validators. Finally
//! the changed volumes are uploaded. After a crash, the same command makes the missing steps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use aranha_engine::{Clock, Collection, Event, Notice};
use aranha_frontier::{Embedded, Frontier as _, PageFilter, PageRecord};
use aranha_url::{CanonUrl, PathKey};
use aranha_volume::{Archive, ForgetRequest, Forgotten, Location, VolumeError};
use clap::Args;
use serde_json::json;

use crate::collection;
use crate::collection_reader::CollectionReader;
use crate::commands::ship;
use crate::display::about;
use crate::error::{CommandError, ExitStatus};
use crate::forgotten::{self, ForgetTarget, ForgottenEntry};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::shared_args::{CollectionArg, JsonObjectArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha forget https://example.org/private -c national --reason \"request of 2026-11-19\" --dry-run
  aranha forget https://example.org/private -c national --reason \"request of 2026-11-19\"
  aranha forget example.org -c national
  aranha forget https://example.org/photo.jpg --copies -c national

Every stored version of the page, or of all pages of the site, is overwritten in place. Tombstones remain: they say when \
and why the content was deleted. Volumes in object stores are downloaded, changed and uploaded again. Exports and backups \
are not changed. Stop a running crawl first.";

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

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::configuration(&arguments.collection)?;
    if opened.config.frontier.url.is_set() {
        return Err(CommandError::usage(
            "`aranha forget` does not work with a shared frontier yet",
        )
        .hint("it works in a folder that has a frontier of its own (frontier.db)"));
    }
    let folder = collection::existing(&arguments.collection.folder)?;
    let reader = CollectionReader::open(&arguments.collection)?;
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
    let (locations, digests) = locations(&reader, &target)?;
    let request = ForgetRequest {
        locations,
        known_copies: known_copies(&reader, &target, &digests)?,
        is_target: &|url| covers(&reader, &target, url),
        copies: arguments.copies,
        reason: &reason,
        time_ms: Clock::new().now(),
        dry_run: arguments.dry_run,
    };
    let found = if arguments.dry_run {
        aranha_volume::forget(&arguments.collection.folder, &request)
            .map_err(|error| cannot_change(&error))?
    } else {
        forget(arguments, &folder, &reader, &target, &request)?
    };
    if found.records + found.already == 0 {
        return Err(CommandError::failed(format!(
            "the archive has no content of {}",
            arguments.target
        ))
        .hint("`aranha pages` lists the pages of the collection"));
    }
    report(arguments, &found)?;
    if !arguments.dry_run {
        upload(&reader, &found)?;
    }
    Ok(ExitStatus::Done)
}

/// Makes the changes. The lock on the frontier keeps crawls away.
fn forget(
    arguments: &Arguments,
    folder: &Collection,
    reader: &CollectionReader,
    target: &ForgetTarget,
    request: &ForgetRequest<'_>,
) -> Result<Forgotten, CommandError> {
    let mut frontier =
        Embedded::open(&arguments.collection.folder, reader.config.frontier.clone())?;
    let cannot_write = |path: &std::path::Path, error: &std::io::Error| {
        CommandError::cannot_write(
            path,
            error,
            "you must be allowed to write to the collection",
        )
    };
    // First, a volume that a crash left open gets its index. Nothing is uploaded yet.
    let options = aranha_volume::Options {
        stores: Vec::new(),
        ..reader.config.volume.clone()
    };
    drop(Archive::open(folder.root(), options).map_err(|error| cannot_change(&error))?);
    let found =
        aranha_volume::forget(folder.root(), request).map_err(|error| cannot_change(&error))?;
    let mut forgotten = vec![(target.clone(), None)];
    if arguments.copies {
        let copies = found
            .copies
            .iter()
            .filter_map(|url| reader.literal.canon(url).ok());
        let named = |url: CanonUrl| (ForgetTarget::Page(url), Some(arguments.target.clone()));
        forgotten.extend(copies.map(named));
    }
    // After a crash, there may be tombstones without an entry in `forgotten.jsonl`.
    let known = forgotten::read(folder)?;
    let is_known = known.iter().any(|entry| entry.target == name_of(target));
    if found.records > 0 || (found.already > 0 && !is_known) {
        for (page, copy_of) in &forgotten {
            let entry = ForgottenEntry {
                time_ms: request.time_ms,
                target: name_of(page).to_owned(),
                reason: request.reason.to_owned(),
                records: found.records,
                copy_of: copy_of.clone(),
            };
            let mut line = serde_json::to_vec(&entry).expect("an entry is valid JSON");
            line.push(b'\n');
            let path = folder.forgotten();
            aranha_engine::append_lines(&path, &line)
                .map_err(|error| cannot_write(&path, &error))?;
        }
        let notice = Notice::Forgotten {
            target: arguments.target.clone(),
            reason: request.reason.to_owned(),
            records: found.records,
            volumes: found.volumes.len() as u64,
        };
        let event = Event::notice(request.time_ms, notice);
        let mut line = serde_json::to_vec(&event).expect("an event is valid JSON");
        line.push(b'\n');
        let path = folder.event_log();
        aranha_engine::append_lines(&path, &line).map_err(|error| cannot_write(&path, &error))?;
    }
    if !arguments.no_block {
        let entries: Vec<String> = forgotten
            .iter()
            .map(|(page, _)| page.block_entry())
            .collect();
        let path = folder.blacklist();
        let listed = std::fs::read_to_string(&path).unwrap_or_default();
        let is_new = |entry: &&str| {
            let entry_of = aranha_url::blacklist::entry_of;
            !listed.lines().any(|line| entry_of(line) == *entry)
        };
        let new: Vec<&str> = entries.iter().map(String::as_str).filter(is_new).collect();
        let reason = format!("forgotten {}", request.reason);
        aranha_engine::add_to_blacklist(&path, &new, reason.trim_end())
            .map_err(|error| cannot_write(&path, &error))?;
    }
    // The validators are removed, because a conditional request would be answered with 304, and the record of this
    // response would refer to the tombstone. The next crawl stores copies that keep their record anew.
    for (site, pages) in pages_of(reader, found.urls.iter().chain(&found.copies)) {
        frontier.refetch(request.time_ms, &site, &pages)?;
    }
    Ok(found)
}

/// The name of a target in `forgotten.jsonl`.
fn name_of(target: &ForgetTarget) -> &str {
    match target {
        ForgetTarget::Page(url) => url.as_str(),
        ForgetTarget::Site(site) => site,
    }
}

/// Whether the target includes a stored URL.
fn covers(reader: &CollectionReader, target: &ForgetTarget, url: &str) -> bool {
    let url = reader.literal.canon(url);
    url.is_ok_and(|url| target.covers(&url))
}

/// The locations of all stored responses of the target, according to the frontier, and the digests of their payloads.
/// The digest of the empty payload is left out, because many pages have it.
fn locations(
    reader: &CollectionReader,
    target: &ForgetTarget,
) -> Result<(BTreeSet<Location>, HashSet<[u8; 20]>), CommandError> {
    let (mut found, mut digests) = (BTreeSet::new(), HashSet::new());
    let mut add = |record: &PageRecord| {
        found.extend(record.location);
        digests.extend(record.digest.filter(|_| record.size > 0));
    };
    match target {
        ForgetTarget::Page(url) => {
            let records = reader.view.explain(url)?.records;
            records.iter().for_each(&mut add);
        }
        ForgetTarget::Site(site) => {
            let filter = PageFilter {
                site: Some(site),
                all: true,
                ..PageFilter::default()
            };
            reader.view.pages(&filter, |entry| {
                add(entry.record);
                true
            })?;
        }
    }
    Ok((found, digests))
}

/// The stored responses of other pages that have one of these payloads, with the URLs of these pages.
fn known_copies(
    reader: &CollectionReader,
    target: &ForgetTarget,
    digests: &HashSet<[u8; 20]>,
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
        if let Some(location) = entry.record.location.filter(|_| is_copy) {
            let url = entry.url();
            if !covers(reader, target, &url) {
                copies.insert(location, url);
            }
        }
        true
    })?;
    Ok(copies)
}

fn pages_of<'a>(
    reader: &CollectionReader,
    urls: impl Iterator<Item = &'a String>,
) -> BTreeMap<String, HashSet<PathKey>> {
    let mut pages: BTreeMap<String, HashSet<PathKey>> = BTreeMap::new();
    for url in urls.filter_map(|url| reader.literal.canon(url).ok()) {
        let site = pages.entry(url.site().to_owned()).or_default();
        site.insert(url.path_key());
    }
    pages
}

fn report(arguments: &Arguments, found: &Forgotten) -> Result<(), CommandError> {
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
