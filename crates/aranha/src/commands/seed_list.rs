//! `aranha seed list`: the seeds of a collection, and what became of each.

use aranha_frontier::{Explanation, Waiting};
use aranha_robots::Access;
use aranha_units::calendar;
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::robots_error::unreachable;
use crate::session::seed_settings;
use crate::shared_args::{CollectionArg, JsonLinesArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha seed list -c national
  aranha seed list -c national --json | jq -r 'select(.status != 200) | [.url, .outcome, .reason] | @tsv'

Columns, separated by tabs: HTTP status or error of the last fetch (or \"not fetched\"), time of that \
fetch, URL, remark (the target of a redirect, or the reason why the seed was not fetched), settings for the seeds of \
the site (such as depth=2 every=7d).";

/// Number of seeds that are looked up together. Seeds of one site share one look-up.
const BATCH: usize = 10_000;

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
    let mut output = Output::new();
    for seeds in collection.view.seeds()?.chunks(BATCH) {
        let urls = seeds.iter().map(|seed| collection.canon.canon(seed));
        let urls: Vec<_> = urls.filter_map(Result::ok).collect();
        let found = collection.view.explain_all(&urls)?;
        for (url, known) in urls.iter().zip(&found) {
            if arguments.output.json {
                output.json(&json(url.as_str(), known))?;
            } else {
                output.line(line(url.as_str(), known))?;
            }
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

/// Why a seed was not fetched: its site is blocked or unreachable. `None` if the seed was fetched, or is only waiting
/// to be fetched.
fn reason(known: &Explanation) -> Option<String> {
    let facts = known.facts.as_ref()?;
    if let Some(blocked) = &facts.blocked {
        return Some(format!("blocked: {blocked}"));
    }
    let robots = facts.robots.as_ref()?;
    let status = (robots.status != 0).then_some(robots.status);
    (aranha_robots::access(status) == Access::DenyAll)
        .then(|| format!("robots.txt is {}", unreachable(robots)))
}

fn line(url: &str, known: &Explanation) -> String {
    let (outcome, time, redirect) = match known.records.last() {
        Some(record) => (
            record.outcome.to_string(),
            calendar::rfc3339(record.time),
            record
                .redirect
                .as_ref()
                .map(|target| format!("to {target}")),
        ),
        None => ("not fetched".to_owned(), "-".to_owned(), None),
    };
    let remark = redirect
        .or_else(|| reason(known))
        .unwrap_or_else(|| "-".to_owned());
    let settings = match seed_settings::words(&known.settings) {
        words if words.is_empty() => "-".to_owned(),
        words => words,
    };
    format!(
        "{outcome}\t{time}\t{}\t{}\t{settings}",
        Escaped(url),
        Escaped(&remark)
    )
}

fn json(url: &str, known: &Explanation) -> Value {
    let record = known.records.last();
    let next = match known.waiting {
        Some(Waiting::Retry(due) | Waiting::Revisit(due)) => Some(due),
        Some(Waiting::Window | Waiting::Queue) => known.site.as_ref().and_then(|site| site.due),
        None => None,
    };
    json!({
        "url": url,
        "status": record.and_then(|record| record.outcome.status()),
        "outcome": record.map(|record| record.outcome.to_string()),
        "time": record.map(|record| calendar::rfc3339(record.time)),
        "redirect": record.and_then(|record| record.redirect.as_deref()),
        "next": next.map(calendar::rfc3339),
        "reason": reason(known),
        "settings": seed_settings::json(&known.settings),
    })
}
