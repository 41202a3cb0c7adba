//! Arguments that several commands have in common, defined once.

use std::path::PathBuf;

use aranha_engine::Collection;
use aranha_engine::config::Layers;
use clap::Args;

use crate::point_in_time::PointInTime;

/// Help text of `--collection`.
const COLLECTION: &str =
    "Folder of the collection; the environment variable ARANHA_COLLECTION sets another default";
/// Help text of `--frontier`.
const FRONTIER: &str = "Frontier that several nodes share: postgres://USER@HOST/DATABASE?schema=NAME, or @FILE or $NAME to read \
     this address from a file or an environment variable. The folder of the collection stores it, so the flag is needed only once";
/// Help text of `--collection` for commands that create the folder. It is set with [`clap::Command::mut_arg`].
pub(crate) const CREATED_IF_MISSING: &str = "Folder of the collection; created if it does not exist. ARANHA_COLLECTION sets another default";

/// The collection that a command works on.
#[derive(Args, Clone, Debug)]
pub(crate) struct CollectionArg {
    /// The folder.
    #[arg(
        short = 'c',
        long = "collection",
        value_name = "DIR",
        default_value_os_t = default_folder(),
        help = COLLECTION
    )]
    pub(crate) folder: PathBuf,
    /// The shared frontier, as typed.
    #[arg(long = "frontier", value_name = "URL", help = FRONTIER)]
    pub(crate) frontier: Option<String>,
}

/// The folder that a command uses without `-c`. It is the value of `ARANHA_COLLECTION`, if this is set. Otherwise it is
/// the current folder, if this is a collection. Otherwise it is `collection`.
fn default_folder() -> PathBuf {
    match std::env::var_os("ARANHA_COLLECTION") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ if Collection::at(".").exists() => ".".into(),
        _ => "collection".into(),
    }
}

impl CollectionArg {
    /// The layers of the configuration in the collection: its file, and the flag `--frontier`.
    pub(crate) fn layers(&self) -> Layers {
        let mut layers = Layers {
            files: self.configuration().into_iter().collect(),
            ..Layers::default()
        };
        if let Some(url) = &self.frontier {
            layers.flags.set("--frontier", "frontier.url", url.clone());
        }
        layers
    }

    /// The configuration file in the collection, if there is one.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        Some(self.folder.join("aranha.toml")).filter(|path| path.exists())
    }
}

/// One page of a collection.
#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// URL of the page
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) collection: CollectionArg,
}

/// One page of a collection at a point in time.
#[derive(Args, Debug)]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) at: AtArg,
}

/// A point in time.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct AtArg {
    /// State at this time: a date (the end of that day), a date and time in UTC, or an RFC 3339 time [default: now]
    #[arg(long = "at", value_name = "WHEN")]
    pub(crate) time: Option<PointInTime>,
}

/// A restriction to one site.
#[derive(Args, Debug)]
pub(crate) struct SiteArg {
    /// Only pages of this site
    #[arg(long = "site", value_name = "HOST")]
    pub(crate) host: Option<String>,
}

/// JSON output: one object.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct JsonObjectArg {
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// JSON output: one object per line.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct JsonLinesArg {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
