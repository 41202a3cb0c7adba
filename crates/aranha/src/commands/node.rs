//! `aranha node`: joins a crawl on several machines.

use std::path::Path;

use aranha_engine::Role;
use clap::Args;

use crate::commands::crawl;
use crate::display::OutputMode;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::session::Session;
use crate::settings::Settings;
use crate::shared_args::{CREATED_IF_MISSING, CollectionArg};

const EXAMPLES: &str = "\
Examples:
  aranha node --frontier postgres://crawl@db.example.org/national -c /scratch/node7
  aranha node -c /scratch/node7                 start again; the folder stores the address
  aranha node -c /scratch/node7 --idle-exit     end when the crawl has nothing left to do
  aranha node -c /scratch/node7 --set frontier.node=node7 --sites 5000

The settings of the crawl come from its frontier; flags and the aranha.toml in the folder override them for \
this node. Ctrl-C saves the state and releases all sites. Exit status: 0 if the node was drained, reached a limit or, with \
--idle-exit, found nothing left to do; 130 if it was interrupted. docs/cluster.md describes crawls of several machines.";

/// Join a crawl that another process began, and wait for work
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// End when the whole crawl has nothing left to do
    #[arg(long)]
    idle_exit: bool,
    #[command(flatten)]
    settings: Settings,
    /// Print progress and result as JSON, one object per line on stdout (docs/json.md)
    #[arg(long)]
    json: bool,
    /// Print errors only, no progress
    #[arg(short = 'q', long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let folder: &Path = &arguments.collection.folder;
    let loaded = crawl::load_settings(&arguments.settings, &arguments.collection)?;
    if !loaded.config.frontier.url.is_set() {
        return Err(CommandError::usage("a node needs the frontier of a crawl").hint(
            "add --frontier postgres://USER@HOST/DATABASE; `aranha crawl` crawls with a frontier in its folder",
        ));
    }
    if loaded.view.is_none() {
        return Err(frontier_access::no_crawl(&loaded.config));
    }
    crawl::check_config(&loaded.config)?;
    let mode = OutputMode::choose(arguments.json, arguments.quiet);
    let session = Session {
        command: "node",
        folder,
        role: Role::Node {
            ends_when_idle: arguments.idle_exit,
        },
        saved_config: loaded.node_settings,
        shared_config: None,
        secret_keys: loaded.secret_keys,
        changed_config: None,
        has_crawl: true,
        config: loaded.config,
        seeds: Vec::new(),
        seed_settings: Vec::new(),
        again: None,
        mode,
    };
    crawl::run_session(session)
}
