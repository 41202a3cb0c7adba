//! `aranha sites`: the sites of a collection, one per line.

use aranha_engine::Clock;
use aranha_frontier::{SiteEntry, SiteFacts, SiteState};
use aranha_robots::Access;
use aranha_units::calendar;
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::robots_error::unreachable;
use crate::shared_args::{CollectionArg, JsonLinesArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha sites -c example
  aranha sites -c example | sort -t '\t' -k 3 -n -r | head    the largest sites
  aranha sites -c example --json | jq -r 'select(.reason) | [.site, .reason] | @tsv'

Columns, separated by tabs: site, state (waiting: has pages to fetch now or later; visited: a visit is under way; idle: has no page \
to fetch; blocked), pages done, pages queued, \
failed fetches, bytes, time of the next visit, and the reason if the site is blocked, was \
unreachable, or asked to be left alone for a while.";

/// List the sites with their state and the reason for it; also works during a crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    let now = Clock::new().now();
    let mut output = Output::new();
    let mut failure = None;
    collection.view.sites_with_facts(|site, facts| {
        let shown = if arguments.output.json {
            output.json(&json(&site, &facts, now))
        } else {
            output.line(line(&site, &facts, now))
        };
        failure = shown.err();
        failure.is_none()
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn state(site: &SiteEntry) -> &'static str {
    match site.state {
        SiteState::Waiting => "waiting",
        SiteState::Leased => "visited",
        SiteState::Idle => "idle",
        SiteState::Blocked => "blocked",
    }
}

/// Pages that were fetched or given up.
fn done(site: &SiteEntry) -> u64 {
    site.known.saturating_sub(site.queued + site.retry)
}

/// Why the site is blocked or waits, if the reason is not the schedule.
fn reason(site: &SiteEntry, facts: &SiteFacts, now: i64) -> Option<String> {
    if let Some(blocked) = &facts.blocked {
        return Some(blocked.to_string());
    }
    if facts.retry_after > now {
        return Some(format!(
            "the server asked for a pause until {} UTC",
            calendar::date_time(facts.retry_after)
        ));
    }
    let robots = facts.robots.as_ref()?;
    let status = (robots.status != 0).then_some(robots.status);
    let is_unreachable =
        site.state != SiteState::Leased && aranha_robots::access(status) == Access::DenyAll;
    is_unreachable.then(|| format!("robots.txt is {}", unreachable(robots)))
}

fn line(site: &SiteEntry, facts: &SiteFacts, now: i64) -> String {
    let due = site.due.map_or_else(|| "-".to_owned(), calendar::rfc3339);
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{due}\t{}",
        Escaped(&site.site),
        state(site),
        done(site),
        site.queued + site.retry,
        facts.counters.errors,
        facts.counters.bytes,
        Escaped(&reason(site, facts, now).unwrap_or_else(|| "-".to_owned())),
    )
}

fn json(site: &SiteEntry, facts: &SiteFacts, now: i64) -> Value {
    json!({
        "site": site.site,
        "state": state(site),
        "seed": site.seed,
        "known": site.known,
        "done": done(site),
        "queued": site.queued,
        "retry": site.retry,
        "revisit": site.revisit,
        "fetches": site.records,
        "failed": facts.counters.errors,
        "bytes": facts.counters.bytes,
        "due": site.due.map(calendar::rfc3339),
        "reason": reason(site, facts, now),
    })
}
