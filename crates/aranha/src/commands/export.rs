//! `aranha export`: a collection in other forms.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_engine::Clock;
use aranha_units::calendar;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::display::grouped;
use crate::mirror::plan::Plan;
use crate::mirror::tree::Tree;
use crate::mirror::{Mirror as Mirroring, Tally};
use crate::output::{Output, counted, tell};
use crate::plain::Plain;
use crate::when::{At, When};

const EXAMPLES: &str = "\
Examples:
  aranha export mirror copy -c example
  aranha export mirror copy -c example --at 2026-11-01 --site www.example.org
  xdg-open copy/2026-11-01/index.html

Files lie by date, domain and path: copy/2026-11-01/www.example.org/about/index.html. Links lead to the file where the mirror
has the page, to the web otherwise. Every file is written whole; the same command continues what was interrupted.";

/// Write a collection in another form
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Mirror(Mirror),
}

/// Write pages to a folder that can be browsed offline, as they were at a time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mirror {
    /// The folder to write to; made when it does not exist
    #[arg(value_name = "DIR")]
    into: PathBuf,
    #[command(flatten)]
    collection: Collection,
    #[command(flatten)]
    at: At,
    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> Result<Status, Complaint> {
    match command {
        Command::Mirror(arguments) => mirror(arguments),
    }
}

fn mirror(arguments: &Mirror) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let site = match &arguments.site {
        Some(host) => Some(archived.url(host)?.site().to_owned()),
        None => None,
    };
    let now = When::today(Clock::new().now());
    let at = arguments.at.moment.unwrap_or(now);
    let plan = Plan::make(&archived, site.as_deref(), at.ms())?;
    if plan.entries.is_empty() {
        let of = site.map_or_else(String::new, |site| format!(" of {site}"));
        return Err(Complaint::failed(format!(
            "there was no page{of} to export at {} UTC",
            calendar::date_time(at.ms())
        ))
        .hint(format!(
            "`aranha pages --history -c {}` lists every fetch with its time",
            arguments.collection.folder.display()
        )));
    }
    let date = at.label();
    let tree = Tree::open(&arguments.into, &date)?;
    let mirror = Mirroring {
        plan: &plan,
        canon: &archived.canon,
        tree: &tree,
    };
    let mut counter = Counter::new(plan.entries.len() as u64);
    let mut tally = mirror.write(&arguments.collection.folder, |files| counter.show(files))?;
    drop(counter);
    let pages = tally.files;
    mirror.door(&date, &mut tally)?;
    told(arguments, &tree, pages, &tally)
}

fn told(arguments: &Mirror, tree: &Tree, pages: u64, tally: &Tally) -> Result<Status, Complaint> {
    for fault in &tally.faults {
        tell(format_args!("left out: {}", Plain(fault)));
    }
    let folder = tree.path();
    if arguments.json {
        let mut output = Output::new();
        output.json(&json!({
            "folder": folder.to_string_lossy(), "pages": pages, "files": tally.files,
            "unchanged": tally.unchanged, "bytes": tally.bytes,
            "links": {"inside": tally.inside, "outside": tally.outside}, "faults": tally.faults,
        }))?;
        output.finish()?;
    } else {
        tell(format_args!(
            "{} in {}: {} between them, {} to the web.",
            counted(pages, "page"),
            folder.display(),
            counted(tally.inside, "link"),
            grouped(tally.outside),
        ));
        tell(format_args!(
            "Open {} in a browser.",
            folder.join("index.html").display()
        ));
    }
    Ok(if tally.faults.is_empty() {
        Status::Done
    } else {
        Status::Failed
    })
}

/// How far it is, on stderr: a line that is kept up to date, or a line now and then.
struct Counter {
    live: bool,
    all: u64,
    last: Instant,
}

impl Counter {
    fn new(all: u64) -> Self {
        let able = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        Self {
            live: able && std::io::stderr().is_terminal(),
            all,
            last: Instant::now(),
        }
    }

    fn show(&mut self, files: u64) {
        let pause = if self.live {
            Duration::from_millis(100)
        } else {
            Duration::from_secs(5)
        };
        if self.last.elapsed() < pause {
            return;
        }
        self.last = Instant::now();
        let line = format!("{} of {} files", grouped(files), grouped(self.all));
        if self.live {
            let _ = write!(std::io::stderr(), "\r{line}");
        } else {
            tell(line);
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
