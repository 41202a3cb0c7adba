//! `aranha nodes`: the nodes of a crawl.

use std::time::Duration;

use aranha_frontier::{NodeEntry, NodeState};
use aranha_units::{calendar, duration};
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, message};
use crate::shared_args::{CollectionArg, JsonLinesArg};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha nodes --frontier postgres://crawl@db.example.org/national
  aranha nodes -c /scratch/node7 --json | jq 'select(.state == \"dead\")'

Columns, separated by tabs: number, name, state, sites that the node holds, pages per second, pages, time since the last sign of \
life, machine and folder. A node is alive, draining (it finishes its visits and ends), left (it ended normally) or dead (it gave no \
sign of life in time). Each start of a process makes a new node. Of the nodes that have ended, only the last one of each \
folder is listed.";

/// List the nodes of a crawl of several machines
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::configuration(&arguments.collection)?;
    if !opened.config.frontier.url.is_set() {
        return Err(not_shared());
    }
    let collection = CollectionReader::open(&arguments.collection)?;
    let nodes = collection.view.nodes()?;
    let mut output = Output::new();
    for node in &nodes {
        if arguments.output.json {
            output.json(&json(node))?;
        } else {
            output.line(line(node))?;
        }
    }
    output.finish()?;
    if nodes.is_empty() && !arguments.output.json {
        message("no node has joined the crawl yet");
    }
    Ok(ExitStatus::Done)
}

/// The error of a command that needs a shared frontier, if the frontier is not shared.
pub(crate) fn not_shared() -> CommandError {
    CommandError::usage("there is no shared frontier, so there are no nodes")
        .hint("name a shared frontier with --frontier, or a folder of a node with -c")
}

fn line(node: &NodeEntry) -> String {
    let silent = Duration::from_secs(u64::try_from(node.silent / 1000).unwrap_or_default());
    format!(
        "{}\t{}\t{}\t{}\t{:.1}\t{}\t{}\t{}",
        node.number,
        Escaped(&node.name),
        node.state.name(),
        node.leases,
        rate(node),
        node.pages,
        duration::format(silent),
        Escaped(&node.place),
    )
}

/// A node that has ended fetches nothing.
fn rate(node: &NodeEntry) -> f64 {
    match node.state {
        NodeState::Alive | NodeState::Draining => node.pages_per_second,
        NodeState::Left | NodeState::Dead => 0.0,
    }
}

fn json(node: &NodeEntry) -> Value {
    json!({
        "node": node.number,
        "name": node.name,
        "state": node.state.name(),
        "sites": node.leases,
        "pages_per_second": rate(node),
        "pages": node.pages,
        "joined": calendar::rfc3339(node.since),
        "silent_seconds": (node.silent as f64 / 1000.0).max(0.0),
        "place": node.place,
    })
}
