//! `aranha status`: whether a crawl is running, and the sites and pages of a collection by state.

use std::collections::BTreeMap;

use aranha_engine::{Clock, Status};
use aranha_frontier::{Blocked, BlockedBy, SiteState};
use aranha_units::calendar;
use aranha_volume::WaitingUploads;
use clap::Args;
use serde_json::json;

use crate::collection_reader::{self, CollectionReader};
use crate::crawl_state::CrawlState;
use crate::display::{about, add_deprecated_status_fields, grouped};
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted, message};
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha status -c example
  watch -n 5 aranha status -c example    during a crawl
  aranha status --blocked -c example     list the blocked sites with the reason
  aranha status --problems -c example    list the sites on which aranha failed
  aranha status -c example --json | jq .pages.queued";

/// Show the state of a crawl; also works while it runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// List the blocked sites (traps, and sites on the black list) with the reason
    #[arg(long)]
    blocked: bool,
    /// Old name of --blocked
    #[arg(long, hide = true)]
    aside: bool,
    /// List the sites whose last visit was ended by a fault of aranha, with the fault
    #[arg(long, conflicts_with = "blocked")]
    problems: bool,
    /// Print one JSON object; with --blocked or --problems one per line (docs/json.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    if arguments.aside {
        message("warning: `--aside` is now `--blocked`; the old name will be removed");
    }
    let mut output = Output::new();
    if arguments.blocked || arguments.aside {
        print_blocked_sites(&collection, arguments.json, &mut output)?;
    } else if arguments.problems {
        print_problem_sites(&collection, arguments.json, &mut output)?;
    } else {
        let now = Clock::new().now();
        let status = collection.view.status(now)?.into();
        let crawl = CrawlState::read(&collection)?;
        if arguments.json {
            let mut value = serde_json::to_value(&status).expect("a status is valid JSON");
            value["crawl"] = crawl.json(now);
            value["waiting_uploads"] =
                json!(uploads(&collection).map(|waiting| {
                    json!({"volumes": waiting.volumes, "bytes": waiting.bytes})
                }));
            add_deprecated_status_fields(&mut value);
            output.json(&value)?;
        } else {
            let folder = collection.folder.display().to_string();
            let line = crawl.line(&status, now, &folder);
            output.line(format_args!("crawl     {}", Escaped(&line)))?;
            print(&status, now, &mut output)?;
            if let Some(waiting) = uploads(&collection) {
                output.line(format_args!("uploads   {}", waiting_line(&waiting)))?;
            }
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

/// The volumes that wait for upload; `None` if there are no object stores.
fn uploads(collection: &CollectionReader) -> Option<WaitingUploads> {
    aranha_volume::waiting_uploads(&collection.folder, &collection.config.volume).ok()?
}

fn waiting_line(waiting: &WaitingUploads) -> String {
    match waiting.volumes {
        0 => "no volume waits".to_owned(),
        volumes => format!(
            "{} waiting, {}",
            counted(volumes, "closed volume"),
            about(waiting.bytes)
        ),
    }
}

fn print(status: &Status, now: i64, output: &mut Output) -> Result<(), CommandError> {
    let (sites, pages) = (&status.sites, &status.pages);
    output.line(format_args!(
        "sites     {} known: {} waiting, {} being visited, {} idle, {} blocked",
        grouped(sites.known),
        grouped(sites.waiting),
        grouped(sites.leased),
        grouped(sites.idle),
        grouped(sites.blocked)
    ))?;
    output.line(format_args!(
        "pages     {} known: {} done, {} queued, {} waiting for a later visit, {} blocked",
        grouped(pages.known),
        grouped(pages.done),
        grouped(pages.queued),
        grouped(pages.retry),
        grouped(pages.blocked)
    ))?;
    if sites.problems > 0 {
        output.line(format_args!(
            "problems  {}: the last visit was ended by a fault (aranha status --problems)",
            counted(sites.problems, "problem site")
        ))?;
    }
    if pages.revisit > 0 {
        output.line(format_args!(
            "revisits  {} of the pages done will be visited again",
            grouped(pages.revisit)
        ))?;
    }
    output.line(format_args!(
        "content   {} in {} fetches",
        about(status.bytes),
        grouped(status.fetches)
    ))?;
    for (outcome, count) in &status.outcomes {
        output.line(format_args!("  {:>10}  {outcome}", grouped(*count)))?;
    }
    let next = match status.next_due {
        // For a leased site, `next_due` is the end of its lease and says nothing about its pages.
        _ if sites.leased > 0 && sites.waiting == 0 => "when the current visits end".to_owned(),
        None => "no visit is planned".to_owned(),
        Some(due) if due <= now => "now".to_owned(),
        Some(due) => format!("{} UTC", calendar::date_time(due)),
    };
    output.line(format_args!("next due  {next}"))
}

fn print_problem_sites(
    collection: &CollectionReader,
    json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let sites = collection.view.problem_sites()?;
    if !json && sites.is_empty() {
        message("there are no problem sites");
    }
    for site in sites {
        if json {
            output.json(&json!({
                "site": site.site,
                "faults": site.faults,
                "time": calendar::rfc3339(site.time),
                "problem": site.problem,
            }))?;
        } else {
            let line = format!(
                "{}  {}  {} UTC  {}",
                site.site,
                counted(u64::from(site.faults), "failed visit"),
                calendar::date_time(site.time),
                site.problem
            );
            output.line(Escaped(&line))?;
        }
    }
    Ok(())
}

/// Lists the blocked sites. In text output, sites on the black list are grouped by entry and counted, because one entry
/// can block thousands of hosts. The first column is the argument for `aranha unblock`.
fn print_blocked_sites(
    collection: &CollectionReader,
    json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let view = &collection.view;
    let mut sites = Vec::new();
    view.sites(|site| {
        if site.state == SiteState::Blocked {
            sites.push(site);
        }
        true
    })?;
    let mut by_user: BTreeMap<String, u64> = BTreeMap::new();
    let is_empty = sites.is_empty();
    for site in sites {
        let url = collection.url(&format!("https://{}/", site.site))?;
        let known = view.explain(&url)?;
        let blocked = known.facts.and_then(|facts| facts.blocked.clone());
        let blocked = blocked.unwrap_or_else(|| Blocked::as_trap("blocked"));
        let pages = site.queued + site.retry;
        if json {
            output.json(&json!({
                "site": site.site,
                "entry": collection_reader::unblock_argument(&site.site, &blocked),
                "reason": blocked.to_string(),
                "fetches": site.records,
                "pages": pages,
            }))?;
        } else if blocked.by == BlockedBy::User {
            *by_user.entry(blocked.reason).or_default() += 1;
        } else {
            let line = format!("{}  {} left  {blocked}", site.site, counted(pages, "page"));
            output.line(Escaped(&line))?;
        }
    }
    if !json && is_empty {
        message("no site is blocked");
    }
    for (entry, count) in by_user {
        let line = format!(
            "{entry}  {}  blocked by the black list",
            counted(count, "site")
        );
        output.line(Escaped(&line))?;
    }
    Ok(())
}
