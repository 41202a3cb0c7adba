//! `aranha unlock`: releases the sites of a dead node at once (M4).

use aranha_engine::Clock;
use aranha_frontier::{NodeState, Postgres, Unlocked};
use clap::Args;
use serde_json::json;

use crate::commands::drain::one_node;
use crate::commands::nodes::not_shared;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::session;
use crate::shared_args::{CollectionArg, JsonObjectArg};

const EXAMPLES: &str = "\
Examples:
  aranha unlock node7 --frontier postgres://crawl@db.example.org/national
  aranha unlock example.org -c lead
  aranha unlock node7 --force -c lead    its machine is gone for certain

A node that gives no sign of life for `frontier.node_timeout` (1 minute by default) loses its sites anyway; this command takes them away at once. The sites \
are visited again after the longest courtesy pause (1 minute by default), because the node may have sent requests a moment ago.";

/// Release all sites of a dead node, or a single site
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name or number of a node, or a site
    #[arg(value_name = "NODE|SITE")]
    target: String,
    /// Release the sites even if the node still counts as alive. Make sure first that its process has ended
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let mut frontier = frontier_access::shared_writer(&opened.config)?.ok_or_else(not_shared)?;
    let sites = match frontier.nodes_named(&arguments.target)?.len() {
        0 => unlock_site(arguments, &opened.config, &mut frontier)?,
        _ => unlock_node(arguments, &mut frontier)?,
    };
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({ "sites": sites }))?;
        output.finish()?;
    } else {
        message(format_args!("{} released", counted(sites, "site")));
    }
    Ok(ExitStatus::Done)
}

fn unlock_node(arguments: &Arguments, frontier: &mut Postgres) -> Result<u64, CommandError> {
    let node = one_node(frontier, &arguments.target)?;
    let is_alive = matches!(node.state, NodeState::Alive | NodeState::Draining);
    if is_alive && !arguments.force {
        return Err(CommandError::failed(format!(
            "the node {} gave a sign of life {} seconds ago and may still send requests",
            node.name,
            node.silent / 1000
        ))
        .hint(format!(
            "wait {} seconds, or end its process and use --force; `aranha drain {}` ends it in order",
            node.expires_in / 1000 + 1,
            node.name
        )));
    }
    Ok(frontier
        .unlock_node(Clock::new().now(), node.number)?
        .unwrap_or(0))
}

fn unlock_site(
    arguments: &Arguments,
    config: &aranha_engine::Config,
    frontier: &mut Postgres,
) -> Result<u64, CommandError> {
    let target = &arguments.target;
    let unknown = || {
        CommandError::failed(format!("there is no node at work and no site `{target}`"))
            .hint("`aranha nodes` and `aranha sites` list them")
    };
    let canon = aranha_url::Canonicaliser::new(config.url.clone());
    let seeds = session::parse_seeds(&canon, [("argument".to_owned(), target.clone())]);
    let site = seeds.map_err(|_| unknown())?.remove(0).site().to_owned();
    let now = Clock::new().now();
    match frontier.unlock_site(now, &site, arguments.force)? {
        Unlocked::Done => Ok(1),
        Unlocked::Unknown => Err(unknown()),
        Unlocked::Free => Ok(0),
        Unlocked::HeldBy(node) => Err(CommandError::failed(format!(
            "{site} is being visited by the node {node}, which is alive"
        ))
        .hint("the visit releases the site when it ends; --force releases it at once")),
    }
}
