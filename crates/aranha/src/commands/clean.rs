//! `aranha clean`: releases the sites of dead nodes, and finds stored responses that the frontier does not know (M4).
//!
//! If a process is killed, its volumes may contain responses whose check-in was lost (orphans). The same happens if a node
//! was declared dead and the frontier refuses its check-ins, because their leases are lost; the node lists these responses in
//! `unrecorded.jsonl`. This is harmless, because the pages are fetched again. If the frontier does not know a page at all,
//! the page can be added to it (adopted), so that the stored content can be found.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::{Clock, Collection as Folder};
use aranha_frontier::{PageFilter, PageRecord};
use aranha_volume::VolumeId;
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::progress_line::ProgressLine;
use crate::repair::frontier::each_volume;
use crate::shared_args::{CollectionArg, JsonObjectArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha clean -c example               list the stored responses without a record
  aranha clean --adopt -c example       add the responses of unknown pages to the frontier
  aranha clean -c /scratch/node7        in a crawl of several machines: also releases the sites of dead nodes

Orphans go to stdout, one per line: URL, volume and offset, and what becomes of the page. No crawl may be running in the folder. \
In a crawl of several machines, run this command in the folder of each node.";

/// List stored responses that the frontier does not know, and release the sites of dead nodes
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// Add pages that the frontier does not know, but of which a response is stored. These pages are fetched once more, to find their links
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    output: JsonObjectArg,
}

/// A stored response without a record.
struct Orphan {
    site: String,
    url: String,
    volume: VolumeId,
    offset: u64,
    /// Whether the frontier knows the page.
    is_known: bool,
    /// Whether its lease was lost before its check-in was stored (`unrecorded.jsonl`). Otherwise a process was killed.
    has_lost_lease: bool,
}

/// Site, origin and records of pages that can be adopted.
type Adoptable = BTreeMap<String, (String, Vec<PageRecord>)>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let now = Clock::new().now();
    let dead_nodes = match frontier_access::shared_writer(&opened.config)? {
        Some(mut frontier) => Some(frontier.clean_up(now)?),
        None => None,
    };
    let collection = CollectionReader::open(&arguments.collection)?;
    let mut adopted = 0;
    let mut orphans = Vec::new();
    if collection.folder.join("archive").exists() {
        // While the frontier is open here, no crawl can run in the folder. Otherwise responses of a running crawl that
        // are not checked in yet would look like orphans.
        let folder = Folder::at(&collection.folder);
        let mut frontier = frontier_access::node(&folder, &opened.config)?;
        let (found, adoptable) = find_orphans(&collection)?;
        orphans = found;
        if arguments.adopt {
            for (site, (origin, records)) in &adoptable {
                adopted += frontier.adopt(now, site, origin, records)?;
            }
        }
    }
    let mut output = Output::new();
    if arguments.output.json {
        let listed: Vec<_> = orphans
            .iter()
            .map(|orphan| {
                json!({"url": orphan.url, "site": orphan.site, "volume_id": orphan.volume.to_string(), "offset": orphan.offset,
                       "known": orphan.is_known, "lost_lease": orphan.has_lost_lease})
            })
            .collect();
        output.json(&json!({"dead_nodes": dead_nodes, "orphans": listed, "adopted": adopted}))?;
    } else {
        for orphan in &orphans {
            let fate = match (orphan.is_known, arguments.adopt) {
                (true, _) => "known: it was or will be fetched again",
                (false, true) => "adopted",
                (false, false) => "unknown: --adopt adds it",
            };
            let reason = if orphan.has_lost_lease {
                "; its lease was lost"
            } else {
                ""
            };
            let line = format!(
                "{}\t{} at byte {}\t{fate}{reason}",
                orphan.url, orphan.volume, orphan.offset
            );
            output.line(Escaped(&line))?;
        }
        if let Some(nodes) = dead_nodes {
            message(format_args!("{} declared dead", counted(nodes, "node")));
        }
        message(format_args!(
            "{} without a record, {} adopted",
            counted(orphans.len() as u64, "stored response"),
            counted(adopted, "page")
        ));
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

/// Compares the responses in the volumes of this folder with the locations that the frontier knows.
fn find_orphans(collection: &CollectionReader) -> Result<(Vec<Orphan>, Adoptable), CommandError> {
    let mut line = ProgressLine::new();
    let (mut recorded, mut pages) = (HashSet::new(), 0_u64);
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    collection.view.pages(&filter, |entry| {
        pages += 1;
        line.show(|| format!("{} records read", grouped(pages)));
        recorded.extend(
            entry
                .record
                .location
                .map(|place| (place.volume, place.offset)),
        );
        true
    })?;
    let unrecorded = unrecorded(&collection.folder)?;
    let (mut orphans, mut adoptable) = (Vec::new(), Adoptable::new());
    let is_orphan =
        |location: aranha_volume::Location| !recorded.contains(&(location.volume, location.offset));
    let config = collection.last_config();
    each_volume(&collection.folder, &config, &is_orphan, |sites, _| {
        for (site, (origin, records)) in sites {
            for record in records {
                let url = format!("{origin}{}", record.path);
                let Some(location) = record.location else {
                    continue;
                };
                let canonical = collection.literal.canon(&url);
                let is_known = match &canonical {
                    Ok(url) => collection.view.explain(url)?.known,
                    Err(_) => true,
                };
                orphans.push(Orphan {
                    site: site.clone(),
                    url,
                    volume: location.volume,
                    offset: location.offset,
                    is_known,
                    has_lost_lease: unrecorded
                        .contains(&(location.volume.to_string(), location.offset)),
                });
                if !is_known {
                    let found = adoptable.entry(site.clone()).or_default();
                    origin.clone_into(&mut found.0);
                    found.1.push(record);
                }
            }
        }
        Ok(())
    })?;
    Ok((orphans, adoptable))
}

/// The volumes and offsets of the responses that `unrecorded.jsonl` lists.
fn unrecorded(folder: &Path) -> Result<HashSet<(String, u64)>, CommandError> {
    let path = Folder::at(folder).unrecorded();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
        text => text.map_err(|error| {
            let problem = format!("cannot read {}: {error}", path.display());
            CommandError::failed(problem).hint("you must be allowed to read the file")
        })?,
    };
    // A crash may have left an incomplete last line.
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let places = lines.filter_map(|line| {
        let volume = line["volume"].as_str()?.to_owned();
        Some((volume, line["offset"].as_u64()?))
    });
    Ok(places.collect())
}
