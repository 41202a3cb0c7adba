//! `aranha drain`: asks a node of a crawl to finish its visits and end.

use aranha_frontier::{NodeEntry, Postgres};
use clap::Args;
use serde_json::json;

use crate::commands::nodes::not_shared;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::shared_args::{CollectionArg, JsonObjectArg};

const EXAMPLES: &str = "\
Examples:
  aranha drain node7 --frontier postgres://crawl@db.example.org/national
  aranha nodes -c lead          shows when it has left

The node takes no more sites. Its visits end within `crawl.quantum` (5 minutes by default), its sites are released, and \
its process ends with status 0. Ctrl-C on the node itself also releases its sites, but its visits begin no further fetch, and the process ends with status 130.";

/// Ask a node to finish its visits, release its sites and end
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name or number of the node, as `aranha nodes` shows it
    #[arg(value_name = "NODE")]
    node: String,
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let mut frontier = frontier_access::shared_writer(&opened.config)?.ok_or_else(not_shared)?;
    let node = one_node(&mut frontier, &arguments.node)?;
    if !frontier.drain(node.number)? {
        return Err(unknown_node(&arguments.node));
    }
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({"node": node.number, "name": node.name, "sites": node.leases}))?;
        output.finish()?;
    } else {
        message(format_args!(
            "{} finishes its visits of {} and ends",
            node.name,
            counted(node.leases, "site")
        ));
    }
    Ok(ExitStatus::Done)
}

/// The node with this name or number that has not ended.
pub(crate) fn one_node(frontier: &mut Postgres, name: &str) -> Result<NodeEntry, CommandError> {
    let mut nodes = frontier.nodes_named(name)?;
    if nodes.len() > 1 {
        let numbers: Vec<_> = nodes.iter().map(|node| node.number.to_string()).collect();
        return Err(CommandError::usage(format!(
            "{} nodes have the name `{name}`: {}",
            nodes.len(),
            numbers.join(", ")
        ))
        .hint("give the number of the node; `aranha nodes` lists the nodes"));
    }
    nodes.pop().ok_or_else(|| unknown_node(name))
}

fn unknown_node(name: &str) -> CommandError {
    CommandError::failed(format!("no node `{name}` is at work"))
        .hint("`aranha nodes` lists the nodes")
}
