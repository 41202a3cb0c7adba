//! `aranha check --repair`: rebuilds a lost frontier and indexes from the archive, and queues lost pages for another
//! fetch.
//!
//! First, a missing or damaged frontier is rebuilt from the volumes ([`frontier`]). Second, volumes that a crash left open
//! are closed. Third, missing or wrong indexes are rebuilt. Last, pages whose stored response cannot be read are queued
//! for an unconditional fetch. Records in volumes are not changed, and no page is requested.

pub(crate) mod frontier;

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::{Clock, Collection, Config};
use aranha_frontier::{Embedded, Frontier as _, FrontierError, PageEntry, PageFilter, View};
use aranha_url::PathKey;
use aranha_volume::{Archive, ArchiveReader, VolumeError};
use serde_json::{Value, json};

use crate::collection;
use crate::error::CommandError;
use crate::frontier_access::{self, Opened};
use crate::output::{counted, message};
use crate::own_volumes::OwnVolumes;
use crate::session::{self, has_frontier};
use crate::shared_args::CollectionArg;

/// The database of the frontier.
const FRONTIER: &str = "frontier.db";
/// The new name of a damaged database.
const DAMAGED: &str = "frontier.db.damaged";

/// What a repair has done.
#[derive(Debug, Default)]
pub(crate) struct Repaired {
    /// Why the frontier was rebuilt although it was not missing.
    damage: Option<String>,
    /// Number of pages in the rebuilt frontier; `None` if the frontier was neither missing nor damaged.
    restored_pages: Option<u64>,
    /// Volumes that a crash had left open.
    closed_volumes: u64,
    rebuilt_indexes: u64,
    /// Pages that the next crawl fetches again.
    lost_pages: u64,
}

impl Repaired {
    pub(crate) fn json(&self) -> Value {
        json!({
            "damage": self.damage,
            "restored_pages": self.restored_pages,
            "closed_volumes": self.closed_volumes,
            "rebuilt_indexes": self.rebuilt_indexes,
            "lost_pages": self.lost_pages,
        })
    }

    pub(crate) fn print(&self, folder: &Path) {
        if let Some(damage) = &self.damage {
            message(format_args!(
                "{damage}; the file was renamed to {DAMAGED} and not deleted"
            ));
        }
        if let Some(pages) = self.restored_pages {
            message(format_args!(
                "rebuilt frontier.db with {} from the archive; the next crawl fetches them again to find their links",
                counted(pages, "page")
            ));
        }
        if self.closed_volumes > 0 {
            let volumes = counted(self.closed_volumes, "volume");
            message(format_args!("closed {volumes} that a crash had left open"));
        }
        if self.rebuilt_indexes > 0 {
            message(format_args!(
                "rebuilt {}",
                counted(self.rebuilt_indexes, "index file")
            ));
        }
        if self.lost_pages > 0 {
            message(format_args!(
                "queued {} whose stored response is lost; `aranha crawl -c {}` fetches them again",
                counted(self.lost_pages, "page"),
                folder.display()
            ));
        }
    }
}

/// Repairs a collection. No crawl may be running.
pub(crate) fn repair(argument: &CollectionArg) -> Result<Repaired, CommandError> {
    let folder = &argument.folder;
    let Opened { config, view } = frontier_access::configuration(argument)?;
    let mut repaired = Repaired::default();
    if config.frontier.url.is_set() {
        let view = view.ok_or_else(|| frontier_access::no_crawl(&config))?;
        repair_node(folder, &config, &view, &mut repaired)?;
        return Ok(repaired);
    }
    let mut is_lost = !has_frontier(folder) && session::check_frontier(folder).is_err();
    if !is_lost {
        collection::existing(folder)?;
        if let Some(damage) = damage(folder, &config)? {
            set_frontier_aside(folder)?;
            repaired.damage = Some(damage);
            is_lost = true;
        }
    }
    if is_lost {
        move_link_runs(folder)?;
    }
    let mut frontier = Embedded::open(folder, config.frontier.clone())?;
    repaired.closed_volumes = close_volumes(folder, &config)?;
    let indexes = aranha_volume::rebuild_indexes(folder, &config.volume);
    repaired.rebuilt_indexes = indexes.map_err(|error| volume_error(&error))?.len() as u64;
    if is_lost {
        repaired.restored_pages = Some(frontier::rebuild(folder, &config, &mut frontier)?);
    } else {
        let now = Clock::new().now();
        for (site, pages) in lost_pages(folder, &View::open(folder)?)? {
            repaired.lost_pages += frontier.refetch(now, &site, &pages)?;
        }
    }
    Ok(repaired)
}

/// Repairs the folder of a node of a shared frontier. Only pages that this folder should hold are checked.
fn repair_node(
    folder: &Path,
    config: &Config,
    view: &View,
    repaired: &mut Repaired,
) -> Result<(), CommandError> {
    // While the frontier is open here, no node can use the folder.
    let mut frontier = frontier_access::node(&Collection::at(folder), config)?;
    repaired.closed_volumes = close_volumes(folder, config)?;
    let indexes = aranha_volume::rebuild_indexes(folder, &config.volume);
    repaired.rebuilt_indexes = indexes.map_err(|error| volume_error(&error))?.len() as u64;
    let now = Clock::new().now();
    for (site, pages) in lost_pages(folder, view)? {
        repaired.lost_pages += frontier.refetch(now, &site, &pages)?;
    }
    Ok(())
}

/// Reads the whole frontier. Returns the first damage, if the archive has volumes from which a frontier can be rebuilt.
fn damage(folder: &Path, config: &Config) -> Result<Option<String>, CommandError> {
    let read = || {
        // It keeps other processes from the collection, and completes what a crash has interrupted.
        let frontier = Embedded::open(folder, config.frontier.clone())?;
        frontier.status(Clock::new().now())?;
        let view = View::open(folder)?;
        view.queued(None, |_| true)?;
        let all = PageFilter {
            all: true,
            ..PageFilter::default()
        };
        view.pages(&all, |_| true)
    };
    let error = match read() {
        Err(error @ FrontierError::Damaged { .. }) => error,
        other => return Ok(other.map(|()| None)?),
    };
    let reader = ArchiveReader::open(folder).map_err(|error| volume_error(&error))?;
    match reader.volumes() {
        Ok(volumes) if !volumes.is_empty() => Ok(Some(error.to_string())),
        _ => Err(error.into()),
    }
}

/// Renames the files of a damaged database.
fn set_frontier_aside(folder: &Path) -> Result<(), CommandError> {
    for suffix in ["", "-wal", "-shm"] {
        let file = folder.join(format!("{FRONTIER}{suffix}"));
        let aside = folder.join(format!("{DAMAGED}{suffix}"));
        match std::fs::rename(&file, &aside) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let hint = "move frontier.db away";
                return Err(CommandError::cannot_write(&aside, &error, hint));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Moves the link runs of a lost frontier away, because a new frontier cannot use them.
fn move_link_runs(folder: &Path) -> Result<(), CommandError> {
    let runs = Collection::at(folder).frontier().with_extension("runs");
    if !runs.exists() {
        return Ok(());
    }
    let lost = runs.with_extension("runs.lost");
    std::fs::rename(&runs, &lost).map_err(|error| {
        CommandError::cannot_write(&lost, &error, "move the folder frontier.runs/ away")
    })
}

fn close_volumes(folder: &Path, config: &Config) -> Result<u64, CommandError> {
    let (archive, repairs) =
        Archive::open(folder, config.volume.clone()).map_err(|error| volume_error(&error))?;
    drop(archive);
    Ok(repairs.repaired.len() as u64)
}

/// The pages whose newest stored response cannot be read, by site.
fn lost_pages(
    folder: &Path,
    view: &View,
) -> Result<BTreeMap<String, HashSet<PathKey>>, CommandError> {
    let reader = ArchiveReader::open(folder).map_err(|error| volume_error(&error))?;
    let own = OwnVolumes::of(folder, view)?;
    let mut lost: BTreeMap<String, HashSet<PathKey>> = BTreeMap::new();
    let mut seen: (String, HashSet<PathKey>) = Default::default();
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    // The records of a site follow each other, from the newest to the oldest.
    let look = |entry: PageEntry<'_>| {
        if seen.0 != entry.site {
            seen = (entry.site.to_owned(), HashSet::new());
        }
        let Some(location) = entry.record.location else {
            return true;
        };
        if !own.contains(location.volume) {
            seen.1.insert(entry.record.key);
            return true;
        }
        if seen.1.insert(entry.record.key) {
            let is_elsewhere = |volume| !own.contains(volume);
            let is_readable = reader.read_resolved(location).is_ok_and(|stored| {
                let is_resolved = !stored.is_revisit() || stored.original().is_some();
                is_resolved || stored.original_volume().is_some_and(is_elsewhere)
            });
            if !is_readable {
                let pages = lost.entry(entry.site.to_owned()).or_default();
                pages.insert(entry.record.key);
            }
        }
        true
    };
    view.pages(&filter, look)?;
    Ok(lost)
}

fn volume_error(error: &VolumeError) -> CommandError {
    CommandError::failed(error.to_string())
        .hint("make sure that you are allowed to read and write archive/ and indexes/")
}
