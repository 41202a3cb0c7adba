//! `aranha export`: writes a collection in other formats.

use std::path::PathBuf;

use aranha_engine::Clock;
use clap::{Args, Subcommand};
use serde_json::json;

use super::export_links::{self, Links};
use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::mirror::missing::{Exported, MissingFile};
use crate::mirror::output_tree::OutputTree;
use crate::mirror::plan::MirrorPlan;
use crate::mirror::{ExportCounts, MirrorWriter};
use crate::output::{Output, counted, message};
use crate::point_in_time::PointInTime;
use crate::progress_line::ProgressLine;
use crate::shared_args::{AtArg, CollectionArg, JsonObjectArg, SiteArg};
use crate::terminal_escape::Escaped;
use aranha_units::calendar;

const EXAMPLES: &str = "\
Examples:
  aranha export mirror copy -c example
  aranha export mirror copy -c example --at 2026-11-01 --site www.example.org
  xdg-open copy/2026-11-01/index.html

Files are stored in folders by date, host and path: copy/2026-11-01/www.example.org/about/index.html. Links to \
exported pages lead to the exported files; all other links lead to the web. An interrupted export is continued by \
the same command.";

/// Maximum number of missing requisites that are printed without `--json`.
const MAX_LISTED: usize = 20;

/// Write a collection in another format
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Mirror(Mirror),
    Links(Links),
}

/// Write the pages as files for offline browsing, as they were at a point in time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mirror {
    /// Folder to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    into: PathBuf,
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    at: AtArg,
    #[command(flatten)]
    site: SiteArg,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(command: &Command) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Mirror(arguments) => mirror(arguments),
        Command::Links(arguments) => export_links::run(arguments),
    }
}

fn mirror(arguments: &Mirror) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    let site = collection.site(&arguments.site)?;
    let now = PointInTime::today(Clock::new().now());
    let at = arguments.at.time.unwrap_or(now);
    let plan = MirrorPlan::make(&collection, site.as_deref(), at.ms())?;
    if plan.files.is_empty() {
        let of = site.map_or_else(String::new, |site| format!(" of {site}"));
        return Err(CommandError::failed(format!(
            "no page{of} was stored at or before {} UTC",
            calendar::date_time(at.ms())
        ))
        .hint(format!(
            "`aranha pages --history -c {}` lists every fetch with its time",
            arguments.collection.folder.display()
        )));
    }
    let date = at.label();
    let tree = OutputTree::open(&arguments.into, &date)?;
    let writer = MirrorWriter {
        plan: &plan,
        canon: &collection.canon,
        literal: &collection.literal,
        tree: &tree,
    };
    let all = grouped(plan.files.len() as u64);
    let mut line = ProgressLine::new();
    let mut counts = writer.write(&collection.folder, |files| {
        line.show(|| format!("{} of {all} files", grouped(files)));
    })?;
    drop(line);
    let pages = counts.files;
    writer.write_index(&date, &mut counts)?;
    let exported = Exported {
        collection: &collection,
        plan: &plan,
        site: site.as_deref(),
        at: at.ms(),
    };
    let missing = std::mem::take(&mut counts.missing).explain(&exported)?;
    report(arguments.output.json, &tree, pages, &counts, &missing)
}

fn report(
    json: bool,
    tree: &OutputTree,
    pages: u64,
    counts: &ExportCounts,
    missing: &[MissingFile],
) -> Result<ExitStatus, CommandError> {
    for fault in &counts.faults {
        message(format_args!("skipped: {}", Escaped(fault)));
    }
    let folder = tree.path();
    if json {
        let mut output = Output::new();
        output.json(&json!({
            "folder": folder.to_string_lossy(), "pages": pages, "files": counts.files,
            "unchanged": counts.unchanged, "bytes": counts.bytes,
            "links": {"inside": counts.inside, "outside": counts.outside},
            "missing": missing.iter().map(|file| json!({
                "url": file.url, "page": file.page, "reason": file.reason,
            })).collect::<Vec<_>>(),
            "faults": counts.faults,
        }))?;
        output.finish()?;
    } else {
        list_missing(missing);
        message(format_args!(
            "{} exported to {}. Of their links, {} lead to exported pages and {} to the web.",
            counted(pages, "page"),
            folder.display(),
            grouped(counts.inside),
            grouped(counts.outside),
        ));
        message(format_args!(
            "Open {} in a browser.",
            folder.join("index.html").display()
        ));
    }
    Ok(if counts.faults.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    })
}

/// Prints the requisites that have no file, up to [`MAX_LISTED`].
fn list_missing(missing: &[MissingFile]) {
    for file in missing.iter().take(MAX_LISTED) {
        message(format_args!(
            "missing: {}: {} (loaded by {})",
            Escaped(&file.url),
            Escaped(&file.reason),
            Escaped(&file.page)
        ));
    }
    if missing.len() > MAX_LISTED {
        message(format_args!(
            "{} of the files that pages load are missing; --json lists all.",
            grouped(missing.len() as u64)
        ));
    }
}
