//! `aranha check`: verifies every record and every digest of a collection.

use aranha_frontier::{FrontierError, PageEntry, PageFilter};
use aranha_volume::{ArchiveReader, VolumeError};
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted, message};
use crate::own_volumes::OwnVolumes;
use crate::progress_line::ProgressLine;
use crate::repair;
use crate::shared_args::{CollectionArg, JsonObjectArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha check -c example
  aranha check -c example --json | jq .faults
  aranha check --repair -c example       rebuild lost files, and queue lost pages for the next crawl

Faults go to stdout, one per line. Exit status: 0 if there are none, 1 otherwise.";

/// Verify the archive, its indexes and its digests, and check that the frontier agrees with the archive
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// Before the check, rebuild missing or wrong indexes and a missing or damaged frontier.db, and put pages whose
    /// stored response is lost into the queue
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let repaired = if arguments.repair {
        Some(repair::repair(&arguments.collection)?)
    } else {
        None
    };
    let collection = CollectionReader::open(&arguments.collection)?;
    let mut line = ProgressLine::new();
    let is_node = collection.view.is_shared();
    if is_node && !collection.folder.join("archive").exists() {
        return Err(CommandError::usage(format!(
            "`{}` has no archive",
            collection.folder.display()
        ))
        .hint("name the folder of a node with -c; check verifies the volumes in it"));
    }
    let report = aranha_volume::check(&collection.folder, |progress| {
        line.show(|| format!("{} records verified", grouped(progress.records)));
    })
    .map_err(|error| unreadable(&error))?;
    drop(line);
    let mut faults: Vec<String> = report
        .faults
        .iter()
        .map(|fault| {
            format!(
                "{} at byte {}: {}",
                fault.path.display(),
                fault.offset,
                fault.problem
            )
        })
        .collect();
    check_link_runs(&collection, &mut faults)?;
    let (pages, elsewhere) = check_locations(&collection, &mut faults)?;
    let mut output = Output::new();
    if arguments.output.json {
        let mut value = json!({"volumes": report.files, "records": report.records, "bytes": report.bytes,
                               "pages": pages, "faults": faults});
        if is_node {
            value["pages_elsewhere"] = json!(elsewhere);
            value["originals_elsewhere"] = json!(report.originals_elsewhere);
        }
        if let Some(repaired) = &repaired {
            value["repaired"] = repaired.json();
        }
        output.json(&value)?;
    } else {
        if let Some(repaired) = &repaired {
            repaired.print(&collection.folder);
        }
        for fault in &faults {
            output.line(Escaped(fault))?;
        }
        message(format_args!(
            "{} in {} and {} verified: {}",
            counted(report.records, "record"),
            counted(report.files, "volume"),
            counted(pages, "page"),
            if faults.is_empty() {
                "no faults".to_owned()
            } else {
                counted(faults.len() as u64, "fault")
            }
        ));
    }
    if elsewhere > 0 && !arguments.output.json {
        message(format_args!(
            "{} in the folders of other nodes, not verified",
            counted(elsewhere, "page")
        ));
    }
    if report.originals_elsewhere > 0 && !arguments.output.json {
        message(format_args!(
            "{} refer to records in the folders of other nodes, not verified",
            counted(report.originals_elsewhere, "revisit record")
        ));
    }
    output.finish()?;
    Ok(if faults.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    })
}

/// The error for an archive that cannot be read at all.
fn unreadable(error: &VolumeError) -> CommandError {
    CommandError::failed(error.to_string())
        .hint("the folders archive/ and indexes/ of the collection must exist and be readable")
}

/// Verifies that the link runs beside the database can be read. To do so, asks the frontier to explain one page of a
/// known site, because the frontier opens all link runs for this answer.
fn check_link_runs(
    collection: &CollectionReader,
    faults: &mut Vec<String>,
) -> Result<(), CommandError> {
    let mut known = None;
    collection.view.sites(|site| {
        known = Some(site.site);
        false
    })?;
    let Some(site) = known else { return Ok(()) };
    let url = collection.url(&format!("https://{site}/"))?;
    match collection.view.explain(&url) {
        Ok(_) => Ok(()),
        Err(error @ (FrontierError::File { .. } | FrontierError::Damaged { .. })) => {
            faults.push(error.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Verifies invariant 4: the content of every recorded page is in the archive, at the location that its record names.
/// Returns the number of verified records, and the number of records whose content other nodes have.
fn check_locations(
    collection: &CollectionReader,
    faults: &mut Vec<String>,
) -> Result<(u64, u64), CommandError> {
    let own = OwnVolumes::of(&collection.folder, &collection.view)?;
    let mut elsewhere = 0;
    let reader = ArchiveReader::open(&collection.folder).map_err(|error| unreadable(&error))?;
    let mut count = 0;
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    let look = |entry: PageEntry<'_>| {
        let Some(place) = entry.record.location else {
            return true;
        };
        if !own.contains(place.volume) {
            elsewhere += 1;
            return true;
        }
        count += 1;
        match reader.read(place) {
            Err(error) => faults.push(format!("{}: {error}", entry.url())),
            Ok(stored)
                if stored
                    .url()
                    .is_some_and(|url| url.ends_with(&entry.record.path)) => {}
            Ok(stored) => faults.push(format!(
                "{}: its location in the archive holds {}",
                entry.url(),
                stored.url().unwrap_or("a record without a URL")
            )),
        }
        true
    };
    collection.view.pages(&filter, look)?;
    Ok((count, elsewhere))
}
