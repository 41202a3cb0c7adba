//! `aranha status`: where a crawl stands.

use std::collections::BTreeMap;

use aranha_engine::Clock;
use aranha_frontier::{Blocked, BlockedBy, SiteState};
use aranha_units::calendar;
use clap::Args;
use serde_json::{Map, json};

use crate::collection_reader::{self, CollectionReader};
use crate::display::{about, grouped};
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted};
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha status -c example
  watch -n 5 aranha status -c example          while a crawl runs
  aranha status --blocked -c example           list the blocked sites with the reason
  aranha status -c example --json | jq .pages.queued";

/// Tell where a crawl stands; works while it runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// List the blocked sites with the reason: traps, and sites on the black list
    #[arg(long, alias = "aside")]
    blocked: bool,
    /// As one JSON object; with --blocked one a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    if arguments.blocked {
        return blocked_sites(&collection, arguments.json);
    }
    let now = Clock::new().now();
    let status = collection.view.status(now)?;
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
                      "idle": sites.idle, "set_aside": sites.blocked},
            "pages": {"known": pages.known, "pending": pages.queued, "later": pages.retry, "set_aside": pages.blocked,
                      "done": pages.done, "again": pages.revisit},
            "seeds": status.seeds, "fetches": status.records, "outcomes": outcomes, "bytes": status.bytes,
            "links_outside": status.links, "frontier_bytes": status.disk,
            "next_due": status.next_due.map(calendar::rfc3339),
            "next_again": status.next_revisit.map(calendar::rfc3339),
        }))?;
    } else {
        output.line(format_args!(
            "sites     {} known: {} waiting, {} being visited, {} with nothing to fetch, {} set aside",
            grouped(sites.known), grouped(sites.waiting), grouped(sites.leased), grouped(sites.idle), grouped(sites.blocked)
        ))?;
        output.line(format_args!(
            "pages     {} known: {} done, {} queued, {} to be tried later, {} set aside",
            grouped(pages.known),
            grouped(pages.done),
            grouped(pages.queued),
            grouped(pages.retry),
            grouped(pages.blocked)
        ))?;
        if pages.revisit > 0 {
            output.line(format_args!(
                "again     {} of the pages done are to be visited again",
                grouped(pages.revisit)
            ))?;
        }
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
            Some(due) => format!("{} UTC", calendar::date_time(due)),
        };
        output.line(format_args!("next      {next}"))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

/// The sites that are set aside, each with the reason; first the name that `aranha unblock` takes.
fn blocked_sites(collection: &CollectionReader, json: bool) -> Result<ExitStatus, CommandError> {
    let mut sites = Vec::new();
    let view = &collection.view;
    view.sites(|site| {
        if site.state == SiteState::Blocked {
            sites.push(site);
        }
        true
    })?;
    let mut output = Output::new();
    // Hosts of one shut out domain by the thousand: told once.
    let mut by_user: BTreeMap<String, u64> = BTreeMap::new();
    for site in sites {
        let url = collection.url(&format!("https://{}/", site.site))?;
        let known = view.explain(&url)?;
        let blocked = known.facts.and_then(|facts| facts.blocked);
        let blocked = blocked.unwrap_or_else(|| Blocked::as_trap("blocked"));
        let pages = site.pending + site.later;
        if json {
            output.json(
                &json!({"site": site.site, "entry": collection_reader::unblock_argument(&site.site, &blocked), "reason": blocked.to_string(),
                        "fetches": site.records, "pages": pages}),
            )?;
        } else if blocked.by == BlockedBy::User {
            *by_user.entry(blocked.reason).or_default() += 1;
        } else {
            let line = format!("{}  {} left  {blocked}", site.site, counted(pages, "page"));
            output.line(format_args!("{}", Escaped(&line)))?;
        }
    }
    for (entry, count) in by_user {
        let line = format!(
            "{entry}  {}  blocked by the black list",
            counted(count, "site")
        );
        output.line(format_args!("{}", Escaped(&line)))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}
