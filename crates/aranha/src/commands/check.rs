//! `aranha check`: every record and every digest of a collection, verified.

use std::io::{IsTerminal, Write};

use aranha_frontier::{FrontierError, PageEntry, PageFilter};
use aranha_volume::{ArchiveReader, VolumeError};
use clap::Args;
use serde_json::json;

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::display::grouped;
use crate::output::{Output, counted, tell};
use crate::plain::Plain;
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha check -c example
  aranha check -c example --json | jq .faults

Exit status: 0 when everything is as it should be, 1 when something is wrong.";

/// Verify every record, every digest and every index line, and that every page's bytes and the links that wait are there
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
    let counter = Counter::new();
    let report = aranha_volume::check(folder, |progress| counter.show(progress.records))
        .map_err(|error| unreadable(&error))?;
    drop(counter);
    let mut faults: Vec<String> = report
        .faults
        .iter()
        .map(|fault| {
            format!(
                "{} at {}: {}",
                fault.path.display(),
                fault.offset,
                fault.problem
            )
        })
        .collect();
    runs(&archived, &mut faults)?;
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
        tell(format_args!(
            "{} in {} read, {} looked up: {}",
            counted(report.records, "record"),
            counted(report.files, "volume"),
            counted(pages, "page"),
            if faults.is_empty() {
                "all is well".to_owned()
            } else {
                counted(faults.len() as u64, "fault")
            }
        ));
    }
    output.finish()?;
    Ok(if faults.is_empty() {
        Status::Done
    } else {
        Status::Failed
    })
}

/// The archive as a whole cannot be read.
fn unreadable(error: &VolumeError) -> Complaint {
    Complaint::failed(error.to_string())
        .hint("the folders archive/ and indexes/ of the collection must be there and readable")
}

/// How far it is, on a terminal that can take a line back; wiped away at the end.
struct Counter {
    live: bool,
}

impl Counter {
    fn new() -> Self {
        let able = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        Self {
            live: able && std::io::stderr().is_terminal(),
        }
    }

    fn show(&self, records: u64) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r{} records read", grouped(records));
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// The links that wait for their sites are in files beside the database: whoever asks after a page of any site that is
/// known opens all that the database names.
fn runs(archived: &Archived, faults: &mut Vec<String>) -> Result<(), Complaint> {
    let mut known = None;
    archived
        .view
        .sites(|site| {
            known = Some(site.site);
            false
        })
        .map_err(|error| session::refused(&error))?;
    let Some(site) = known else { return Ok(()) };
    let url = archived.url(&format!("https://{site}/"))?;
    match archived.view.explain(&url) {
        Ok(_) => Ok(()),
        Err(error @ (FrontierError::File { .. } | FrontierError::Damaged { .. })) => {
            faults.push(error.to_string());
            Ok(())
        }
        Err(error) => Err(session::refused(&error)),
    }
}

/// Invariant 4: a page that is recorded has its bytes in the archive, at the place its record names.
fn bytes_of_pages(
    archived: &Archived,
    arguments: &Arguments,
    faults: &mut Vec<String>,
) -> Result<u64, Complaint> {
    let reader =
        ArchiveReader::open(&arguments.collection.folder).map_err(|error| unreadable(&error))?;
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
        match reader.read(place) {
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
