//! `aranha check`: every record and every digest of a collection, verified.

use std::io::IsTerminal;

use aranha_frontier::{PageEntry, PageFilter};
use aranha_volume::{Location, Reader};
use clap::Args;
use serde_json::json;

use crate::archived::{Archived, unreadable};
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::display::grouped;
use crate::output::Output;
use crate::plain::Plain;
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha check -c example
  aranha check -c example --json | jq .faults

Exit status: 0 when everything is as it should be, 1 when something is wrong.";

/// Verify every record, every digest and every index line, and that every page's bytes are there
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: Collection,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let folder = &arguments.collection.folder;
    let archived = Archived::open(&arguments.collection)?;
    let live = std::io::stderr().is_terminal();
    let report = aranha_volume::check(folder, |progress| {
        if live {
            eprint!("\r{} records read", grouped(progress.records));
        }
    })
    .map_err(|error| unreadable(&error))?;
    if live {
        eprint!("\r\x1b[K");
    }
    let mut faults: Vec<String> = report
        .faults
        .iter()
        .map(|fault| {
            format!(
                "{} at {}: {}",
                fault.path.display(),
                fault.offset,
                fault.fault
            )
        })
        .collect();
    let pages = bytes_of_pages(&archived, arguments, &mut faults)?;
    let mut output = Output::new();
    if arguments.json {
        output.json(
            &json!({"volumes": report.files, "records": report.records, "bytes": report.bytes,
                            "pages": pages, "faults": faults}),
        )?;
    } else {
        for fault in &faults {
            output.line(Plain(fault))?;
        }
        eprintln!(
            "{} records in {} volumes read, {} pages looked up: {}",
            grouped(report.records),
            grouped(report.files),
            grouped(pages),
            if faults.is_empty() {
                "all is well".to_owned()
            } else {
                format!("{} faults", faults.len())
            }
        );
    }
    output.finish()?;
    Ok(if faults.is_empty() {
        Status::Done
    } else {
        Status::Failed
    })
}

/// Invariant 4: a page that is recorded has its bytes in the archive, at the place its record names.
fn bytes_of_pages(
    archived: &Archived,
    arguments: &Arguments,
    faults: &mut Vec<String>,
) -> Result<u64, Complaint> {
    let reader = Reader::open(&arguments.collection.folder).map_err(|error| unreadable(&error))?;
    let mut count = 0;
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    let look = |entry: PageEntry<'_>| {
        let Some(place) = entry.record.location else {
            return true;
        };
        count += 1;
        let location = Location {
            volume: place.volume,
            offset: place.offset,
            length: place.length,
        };
        match reader.read(location) {
            Err(error) => faults.push(format!("{}: {error}", entry.url())),
            Ok(stored)
                if stored
                    .url()
                    .is_some_and(|url| url.ends_with(&entry.record.path)) => {}
            Ok(stored) => faults.push(format!(
                "{}: its place in the archive holds {}",
                entry.url(),
                stored.url().unwrap_or("something else")
            )),
        }
        true
    };
    archived
        .view
        .pages(&filter, look)
        .map_err(|error| session::refused(&error))?;
    Ok(count)
}
