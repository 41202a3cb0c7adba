//! `aranha status`: where a crawl stands.

use aranha_engine::Clock;
use clap::Args;
use serde_json::{Map, json};

use crate::archived::{self, Archived};
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::display::{about, grouped};
use crate::output::Output;
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha status -c example
  watch -n 5 aranha status -c example          while a crawl runs
  aranha status -c example --json | jq .pages.pending";

/// Tell where a crawl stands; works while it runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: Collection,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let now = Clock::new().now();
    let status = archived
        .view
        .status(now)
        .map_err(|error| session::refused(&error))?;
    let (sites, pages) = (&status.sites, &status.pages);
    let mut output = Output::new();
    if arguments.json {
        let outcomes: Map<_, _> = status
            .outcomes
            .iter()
            .map(|(outcome, count)| (outcome.to_string(), json!(count)))
            .collect();
        output.json(&json!({
            "sites": {"known": sites.known, "waiting": sites.waiting, "visited_now": sites.leased,
                      "idle": sites.idle, "blocked": sites.blocked},
            "pages": {"known": pages.known, "pending": pages.pending, "later": pages.later, "done": pages.done},
            "seeds": status.seeds, "fetches": status.records, "outcomes": outcomes, "bytes": status.bytes,
            "links_outside": status.links, "frontier_bytes": status.disk,
            "next_due": status.next_due.map(archived::timestamp),
        }))?;
    } else {
        output.line(format_args!(
            "sites     {} known: {} waiting, {} being visited, {} with nothing to fetch, {} blocked",
            grouped(sites.known), grouped(sites.waiting), grouped(sites.leased), grouped(sites.idle), grouped(sites.blocked)
        ))?;
        output.line(format_args!(
            "pages     {} known: {} done, {} queued, {} to be tried later",
            grouped(pages.known),
            grouped(pages.done),
            grouped(pages.pending),
            grouped(pages.later)
        ))?;
        output.line(format_args!(
            "content   {} in {} fetches",
            about(status.bytes),
            grouped(status.records)
        ))?;
        for (outcome, count) in &status.outcomes {
            output.line(format_args!("  {:>10}  {outcome}", grouped(*count)))?;
        }
        let next = match status.next_due {
            // While a visit is going on, what is due next is the end of its lease.
            _ if sites.leased > 0 && sites.waiting == 0 => {
                "the visits that are going on".to_owned()
            }
            None => "nothing is waiting".to_owned(),
            Some(due) if due <= now => "now".to_owned(),
            Some(due) => format!("{} UTC", archived::time(due)),
        };
        output.line(format_args!("next      {next}"))?;
    }
    output.finish()?;
    Ok(Status::Done)
}
