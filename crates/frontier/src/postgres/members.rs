//! What the nodes share beside sites and pages (tables `nodes`, `folders`, `texts`, `named_values`). Nodes and commands
//! use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Postgres;
use super::connection::Connection;
use super::nodes::NOW;
use super::tables::PostgresTables;
use crate::shared::{
    FolderEntry, News, NodeEntry, NodeReport, NodeState, SharedCrawl, SharedReader, SharedText,
};
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{FrontierError, postgres};

/// Name of the horizon in `named_values`.
const HORIZON: &str = "horizon";
/// Name of the file in a folder with volumes that remembers the number of the folder.
const FOLDER_FILE: &str = "node.toml";
/// First line of that file.
const FOLDER_NOTE: &str =
    "# The crawl whose volumes this folder stores, and its number there. Written by aranha.\n";

/// Move the expiry of a node forward, and write its report. Returns false if it was declared dead.
pub(super) fn renew(
    connection: &Connection,
    node: i64,
    ttl: i64,
    report: &NodeReport,
) -> Result<bool, StoreError> {
    let sql = format!(
        "UPDATE nodes SET expires = {NOW} + $2, renewed = {NOW}, pages = $3, rate = $4 WHERE node = $1 AND alive"
    );
    let (pages, rate) = (report.pages() as i64, report.rate());
    Ok(connection.run(&sql, &[&node, &ttl, &pages, &rate])? == 1)
}

/// The content of the file [`FOLDER_FILE`].
#[derive(Debug, Serialize, Deserialize)]
struct FolderFile {
    crawl: i64,
    folder: u32,
}

/// The number of a folder in this crawl. A file in the folder remembers it. A folder that was moved or copied gets a
/// new number, so that no two folders have the same number. After the database was restored from a backup, it may not
/// know the folder. The folder then keeps its number, because the names of its volumes contain it.
pub(super) fn register_folder(
    tables: &PostgresTables,
    folder: &Path,
    node: &str,
) -> Result<u32, StoreError> {
    let file = folder.join(FOLDER_FILE);
    let failed = StoreError::at_file(&file);
    let crawl = tables.number("SELECT value FROM named_values WHERE name = 'crawl'", &[])?;
    let remembered = match std::fs::read_to_string(&file) {
        Ok(text) => toml::from_str::<FolderFile>(&text).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if remembered
        .as_ref()
        .is_some_and(|remembered| remembered.crawl != crawl)
    {
        return Err(StoreError::OtherCrawl(folder.to_owned()));
    }
    let place = place_of(folder);
    if let Some(FolderFile { folder: number, .. }) = remembered {
        let sql = "INSERT INTO folders VALUES ($1, $2, $3) \
                   ON CONFLICT (folder) DO UPDATE SET node = $2 WHERE folders.place = $3";
        let number_ = i64::from(number);
        if tables.connection.run(sql, &[&number_, &node, &place])? == 1 {
            let sql = "SELECT setval('folder_ids', $1) FROM folder_ids WHERE last_value < $1";
            tables.connection.first(sql, &[&number_])?;
            return Ok(number);
        }
    }
    let sql = "INSERT INTO folders SELECT nextval('folder_ids'), $1, $2 RETURNING folder";
    let number = tables.number(sql, &[&node, &place])?;
    let number = u32::try_from(number).map_err(|_| StoreError::damaged("folder", number))?;
    let content = FolderFile {
        crawl,
        folder: number,
    };
    let text = toml::to_string(&content).expect("the content is valid TOML");
    let temporary = folder.join(format!("{FOLDER_FILE}.new"));
    std::fs::write(&temporary, format!("{FOLDER_NOTE}{text}"))
        .and_then(|()| std::fs::File::open(&temporary)?.sync_all())
        .and_then(|()| std::fs::rename(&temporary, &file))
        .map_err(failed)?;
    Ok(number)
}

/// Machine and path of a folder.
fn place_of(folder: &Path) -> String {
    let system = rustix::system::uname();
    let path = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    format!("{}:{}", system.nodename().to_string_lossy(), path.display())
}

impl Postgres {
    /// After this node was registered, write its description for other nodes.
    pub(super) fn describe(&self) -> Result<(), StoreError> {
        let tables = &self.core.store.tables;
        let folder = (self.folder != 0).then_some(i64::from(self.folder));
        let sql = format!("UPDATE nodes SET folder = $2, renewed = {NOW} WHERE node = $1");
        tables
            .connection
            .run(&sql, &[&tables.node.get(), &folder])?;
        Ok(())
    }

    /// Use the horizon that a crawl has set, if there is one.
    pub(super) fn adopt_horizon(&mut self) -> Result<(), StoreError> {
        let horizon = self.core.store.tables.value(HORIZON)?;
        if let Some(horizon) = horizon {
            self.core.store.horizon = horizon;
            self.horizon_changed = false;
        }
        Ok(())
    }

    /// The earliest time to which the end of a courtesy pause can be brought forward. This is now, or after a whole
    /// pause if other nodes are at work, because one of them may just have sent a request.
    pub(super) fn earliest_visit(&self, now: i64) -> Result<i64, StoreError> {
        let tables = &self.core.store.tables;
        let sql = format!(
            "SELECT count(*) FROM nodes WHERE alive AND folder IS NOT NULL AND node <> $1 AND renewed > {NOW} - $2"
        );
        let pause = self.settings.pause.as_millis() as i64;
        let recently = pause.max(self.settings.ttl.as_millis() as i64);
        let others = tables.number(&sql, &[&tables.node.get(), &recently])?;
        Ok(if others > 0 { now + pause } else { now })
    }
}

impl SharedCrawl for Postgres {
    fn folder(&self) -> u32 {
        self.folder
    }

    fn report(&self) -> Arc<NodeReport> {
        Arc::clone(&self.report)
    }

    fn news(&mut self) -> Result<News, FrontierError> {
        self.read(|store| {
            let tables = &store.tables;
            let row = tables.connection.first(
                "SELECT coalesce((SELECT is_draining FROM nodes WHERE node = $1), false), \
                 coalesce((SELECT max(version) FROM texts), 0), coalesce((SELECT max(id) FROM seeds), 0), \
                 (SELECT value FROM named_values WHERE name = $2)",
                &[&tables.node.get(), &HORIZON],
            )?;
            let row = row.ok_or_else(|| StoreError::damaged("news of node", tables.node.get()))?;
            Ok(News {
                is_draining: row.try_get(0)?,
                texts: row.try_get(1)?,
                seeds: row.try_get(2)?,
                horizon: row.try_get(3)?,
            })
        })
    }

    fn set_horizon(&mut self, now: i64, horizon: i64) -> Result<(), FrontierError> {
        self.transact(now, |engine, _| {
            let horizon = horizon.saturating_add(engine.shift.get());
            engine.core.store.tables.set_value(HORIZON, Some(horizon))?;
            engine.core.store.horizon = horizon;
            Ok(())
        })?;
        self.reschedule(now)
    }

    fn follow_horizon(&mut self, horizon: i64) {
        self.core.store.horizon = horizon;
        self.horizon_changed = false;
    }

    fn seeds_after(&mut self, after: i64) -> Result<(i64, Vec<String>), FrontierError> {
        self.read(|store| {
            let sql = "SELECT id, url FROM seeds WHERE id > $1 ORDER BY id";
            let rows = store.tables.connection.query(sql, &[&after])?;
            let mut last = after;
            let mut seeds = Vec::with_capacity(rows.len());
            for row in rows {
                last = row.try_get(0)?;
                seeds.push(row.try_get(1)?);
            }
            Ok((last, seeds))
        })
    }

    fn text(&mut self, name: &str) -> Result<Option<SharedText>, FrontierError> {
        self.read(|store| read_text(&store.tables.connection, name))
    }

    fn change_text(
        &mut self,
        name: &str,
        change: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<SharedText, FrontierError> {
        self.transact(self.last_now, |engine, _| {
            let connection = &engine.core.store.tables.connection;
            // The row is created first, so that two nodes that create the same text wait for each other.
            let sql = "INSERT INTO texts VALUES ($1, 0, '') ON CONFLICT DO NOTHING";
            connection.run(sql, &[&name])?;
            let sql = "SELECT version, content FROM texts WHERE name = $1 FOR UPDATE";
            let row = connection.first(sql, &[&name])?;
            let row = row.ok_or_else(|| StoreError::Damaged(format!("text {name}")))?;
            let before = SharedText {
                version: row.try_get(0)?,
                text: row.try_get(1)?,
            };
            let Some(text) = change(&before.text) else {
                return Ok(before);
            };
            let sql = "UPDATE texts SET content = $2, version = nextval('text_versions') WHERE name = $1 RETURNING version";
            let row = connection.first(sql, &[&name, &text])?;
            let row = row.ok_or_else(|| StoreError::Damaged(format!("text {name}")))?;
            Ok(SharedText {
                version: row.try_get(0)?,
                text,
            })
        })
    }
}

fn read_text(connection: &Connection, name: &str) -> Result<Option<SharedText>, StoreError> {
    // Version 0 is a text that is about to be created.
    let sql = "SELECT version, content FROM texts WHERE name = $1 AND version > 0";
    let Some(row) = connection.first(sql, &[&name])? else {
        return Ok(None);
    };
    Ok(Some(SharedText {
        version: row.try_get(0)?,
        text: row.try_get(1)?,
    }))
}

/// Reads what the nodes share, with a connection of its own.
#[derive(Debug)]
pub(super) struct MemberReader {
    pub(super) connection: Connection,
    pub(super) place: PathBuf,
}

impl MemberReader {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        let result = self.connection.open().and_then(|()| work(&self.connection));
        result.map_err(|error| postgres::at(error, &self.place))
    }
}

impl SharedReader for MemberReader {
    fn nodes(&self) -> Result<Vec<NodeEntry>, FrontierError> {
        self.read(|connection| {
            let nodes = "n.folder IS NOT NULL AND (n.alive OR NOT EXISTS \
                         (SELECT 1 FROM nodes m WHERE m.folder = n.folder AND m.node > n.node))";
            read_nodes(connection, nodes, &[])
        })
    }

    fn folders(&self) -> Result<Vec<FolderEntry>, FrontierError> {
        self.read(|connection| {
            let rows = connection.query(
                "SELECT folder, node, place FROM folders ORDER BY folder",
                &[],
            )?;
            let entry = |row: &tokio_postgres::Row| {
                Ok(FolderEntry {
                    number: row.try_get::<_, i64>(0)? as u32,
                    node: row.try_get(1)?,
                    place: row.try_get(2)?,
                })
            };
            rows.iter().map(entry).collect()
        })
    }

    fn text(&self, name: &str) -> Result<Option<SharedText>, FrontierError> {
        self.read(|connection| read_text(connection, name))
    }
}

/// The nodes that fit a condition, the newest last.
pub(super) fn read_nodes(
    connection: &Connection,
    condition: &str,
    params: super::connection::Params<'_>,
) -> Result<Vec<NodeEntry>, StoreError> {
    let sql = format!(
        "SELECT n.node, n.name, coalesce(f.place, ''), n.alive, n.alive AND n.expires < {NOW}, n.is_draining, n.has_left, \
         n.since, {NOW} - n.renewed, n.expires - {NOW}, n.pages, n.rate, \
         (SELECT count(*) FROM sites s WHERE s.node = n.node) \
         FROM nodes n LEFT JOIN folders f USING (folder) \
         WHERE {condition} ORDER BY n.node"
    );
    let entry = |row: &tokio_postgres::Row| {
        let (alive, expired): (bool, bool) = (row.try_get(3)?, row.try_get(4)?);
        let (draining, left): (bool, bool) = (row.try_get(5)?, row.try_get(6)?);
        let state = match (alive && !expired, draining, left) {
            (true, false, _) => NodeState::Alive,
            (true, true, _) => NodeState::Draining,
            (false, _, true) => NodeState::Left,
            (false, _, false) => NodeState::Dead,
        };
        Ok(NodeEntry {
            number: row.try_get(0)?,
            name: row.try_get(1)?,
            place: row.try_get(2)?,
            state,
            since: row.try_get(7)?,
            silent: row.try_get(8)?,
            expires_in: row.try_get(9)?,
            pages: row.try_get::<_, i64>(10)? as u64,
            pages_per_second: row.try_get(11)?,
            leases: row.try_get::<_, i64>(12)? as u64,
        })
    };
    connection.query(&sql, params)?.iter().map(entry).collect()
}
