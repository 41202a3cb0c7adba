//! Opens the frontier of a collection. It is in the folder of the collection, or several nodes share it (`--frontier`,
//! `frontier.url`).
//!
//! A shared frontier also stores the settings of the crawl. The configuration file of the folder overrides these
//! settings.

use std::path::PathBuf;

use aranha_engine::config::Layers;
use aranha_engine::{Collection as Folder, Config};
use aranha_frontier::shared::SETTINGS;
use aranha_frontier::{
    Embedded, Frontier, FrontierError, FrontierUrl, NodeSettings, Postgres, View,
};

use crate::error::CommandError;
use crate::shared_args::CollectionArg;
use crate::{collection, session, settings};

/// The configuration of a collection, with a view of its frontier if several nodes share it.
pub(crate) struct Opened {
    pub(crate) config: Config,
    /// `None` if the frontier is in the folder, or if it has no tables yet.
    pub(crate) view: Option<View>,
}

/// Reads the configuration of a collection, without flags other than `--frontier`.
pub(crate) fn configuration(collection: &CollectionArg) -> Result<Opened, CommandError> {
    let mut layers = collection.layers();
    let view = add_shared_settings(&mut layers, collection)?;
    let (config, _) = settings::load(&layers)?;
    Ok(Opened { config, view })
}

/// Adds to the layers the settings that the nodes of the crawl share. Returns a view of the frontier if it is shared
/// and has tables.
pub(crate) fn add_shared_settings(
    layers: &mut Layers,
    collection: &CollectionArg,
) -> Result<Option<View>, CommandError> {
    let (config, _) = settings::load(layers)?;
    let Some(address) = address(&config.frontier.url)? else {
        return Ok(None);
    };
    refuse_two_frontiers(collection)?;
    let view = match View::connect(&address, Some(&collection.folder)) {
        Err(FrontierError::Missing { .. }) => return Ok(None),
        view => view?,
    };
    layers.shared = view.text(SETTINGS)?.map(|settings| settings.text);
    Ok(Some(view))
}

/// The address of a shared frontier; `None` if the frontier is in the folder of the collection.
pub(crate) fn address(url: &FrontierUrl) -> Result<Option<String>, CommandError> {
    url.load().map_err(|problem| {
        CommandError::usage(format!("frontier.url: {problem}"))
            .hint("write postgres://USER@HOST/DATABASE?schema=NAME, @FILE or $NAME")
    })
}

/// Returns an error if the folder has its own frontier although a shared frontier is configured.
fn refuse_two_frontiers(collection: &CollectionArg) -> Result<(), CommandError> {
    if !session::has_frontier(&collection.folder) {
        return Ok(());
    }
    let folder = collection.folder.display();
    Err(CommandError::usage(format!(
        "`{folder}` has a frontier of its own (frontier.db), and another one was named"
    ))
    .hint("choose another folder with -c, or leave out --frontier and remove frontier.url from aranha.toml"))
}

/// Opens a view of the frontier of an existing collection.
pub(crate) fn view(
    collection: &CollectionArg,
    opened: Option<View>,
    config: &Config,
) -> Result<View, CommandError> {
    match (opened, address(&config.frontier.url)?) {
        (Some(view), _) => Ok(view),
        (None, Some(_)) => Err(no_crawl(config)),
        (None, None) => {
            session::check_frontier(&collection.folder)?;
            Ok(View::open(&collection.folder)?)
        }
    }
}

/// The error for a shared frontier without tables.
pub(crate) fn no_crawl(config: &Config) -> CommandError {
    let url = &config.frontier.url;
    CommandError::usage(format!("there is no crawl at {url}")).hint(format!(
        "begin one with `aranha crawl URL --frontier '{url}'`, or correct the address"
    ))
}

/// Opens the frontier for a command that changes it. If the frontier is shared, other processes may use it at the same
/// time.
pub(crate) fn writer(
    collection: &CollectionArg,
    config: &Config,
) -> Result<Box<dyn Frontier>, CommandError> {
    Ok(open_writer(collection, config)??)
}

/// Like [`writer`], but errors of a frontier in the folder are returned as the inner error.
pub(crate) fn open_writer(
    collection: &CollectionArg,
    config: &Config,
) -> Result<Result<Box<dyn Frontier>, FrontierError>, CommandError> {
    if let Some(frontier) = shared_writer(config)? {
        return Ok(Ok(Box::new(frontier)));
    }
    let opened = Embedded::open(&collection.folder, config.frontier.clone());
    Ok(opened.map(|frontier| -> Box<dyn Frontier> { Box::new(frontier) }))
}

/// Opens the shared frontier for a command that changes it; `None` if the frontier is in the folder.
pub(crate) fn shared_writer(config: &Config) -> Result<Option<Postgres>, CommandError> {
    let Some(address) = address(&config.frontier.url)? else {
        return Ok(None);
    };
    let settings = node_settings(config, None);
    let frontier = Postgres::open(&address, config.frontier.clone(), settings)?;
    Ok(Some(frontier))
}

fn node_settings(config: &Config, folder: Option<PathBuf>) -> NodeSettings {
    let crawl = &config.crawl;
    NodeSettings {
        node: config.frontier.node_name(),
        ttl: config.frontier.node_timeout,
        // A node may have sent a request to any of its sites just before it died.
        pause: crawl.pause.max(crawl.max_pause),
        folder,
        ..NodeSettings::default()
    }
}

/// Opens the frontier for a crawl in the folder. If the frontier is shared, opens it for a node that stores its volumes
/// in the folder.
pub(crate) fn node(folder: &Folder, config: &Config) -> Result<Box<dyn Frontier>, CommandError> {
    if let Some(frontier) = shared_node(folder, config)? {
        return Ok(Box::new(frontier));
    }
    let frontier = Embedded::open(folder.root(), config.frontier.clone())?;
    Ok(Box::new(frontier))
}

/// Opens the shared frontier for a node, which stores its volumes in the folder; `None` if the frontier is in the folder.
pub(crate) fn shared_node(
    folder: &Folder,
    config: &Config,
) -> Result<Option<Postgres>, CommandError> {
    let Some(address) = address(&config.frontier.url)? else {
        return Ok(None);
    };
    let settings = node_settings(config, Some(folder.root().to_owned()));
    let frontier = Postgres::open(&address, config.frontier.clone(), settings)?;
    Ok(Some(frontier))
}

/// Requires that the collection exists: its folder, or the tables of its shared frontier.
pub(crate) fn require_existing(collection: &CollectionArg) -> Result<Opened, CommandError> {
    let opened = configuration(collection)?;
    if opened.config.frontier.url.is_set() {
        if opened.view.is_none() {
            return Err(no_crawl(&opened.config));
        }
    } else {
        collection::existing(&collection.folder)?;
    }
    Ok(opened)
}
