//! The PostgreSQL engine: several nodes share one frontier (F2; Viuva Negra 3.2, 5; `CoBWeb` Fig. 3).
//!
//! The layout is that of the embedded engine: data is grouped by site, a check-in appends blocks for its site, and links
//! to other sites are gathered, sorted by site, and written as link runs. What happens to a site is the same code
//! (`sites/`); this folder stores rows and blocks, and lets many nodes work at the same time.
//! `docs/decisions/0013-postgres.md` has the design and its figures.
//!
//! Invariants:
//! - **A transaction of a node that was declared dead writes nothing**, and a check-in is stored only if the row of its
//!   site still has its lease (`nodes.rs`).
//! - **A transaction locks the rows of its sites in order of key** (`transaction.rs`, `tables.rs`). Most calls are one
//!   transaction. A check-out, and a call that changes all sites, are several transactions.
//! - **No announcement of links is missed**, and no link run is removed while it is read (`link_runs.rs`).
//! - **Every change is on the disk of the database when the call returns.**
//!
//! Read first: `schema.sql`, then `transaction.rs` and `unit.rs`. A link to another site passes through `journal.rs`,
//! `sorter.rs`, `link_runs.rs` and `merge.rs`.

mod address;
mod admin;
mod calls;
mod checkout;
mod cluster;
mod connection;
mod gates;
mod horizon;
mod inbox;
mod journal;
mod later;
mod link_runs;
mod members;
mod merge;
mod migrations;
mod nodes;
mod run_tables;
mod sorter;
mod tables;
mod tls;
mod totals;
mod transaction;
mod unit;
mod view;
mod write;

#[cfg(test)]
mod cut_link;
#[cfg(test)]
mod gates_tests;
#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod numbered_tests;
#[cfg(test)]
mod outage_tests;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cluster::nodes::after_pause;
use crate::cluster::tables::ClusterTables as _;
use crate::codec::Packer;
use crate::embedded::lock::Lock;
use crate::shared::NodeReport;
use crate::sites::core::Core;
use crate::sites::store::Store;
use crate::store_error::StoreError;
use crate::{FrontierError, Options, Seed};
use address::Address;
use connection::Connection;
use inbox::PostgresInbox;
use nodes::Heartbeat;
use tables::PostgresTables;

pub use admin::Unlocked;

/// While other nodes visit sites, a node without work looks for work after this time in milliseconds.
const OTHERS_POLL: i64 = 1000;

/// How a node takes part in a crawl.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSettings {
    /// Name of the node, for people.
    pub node: String,
    /// Time without a sign of life after which the node is declared dead, and its sites are given to others.
    pub ttl: Duration,
    /// Minimum time from that declaration to the next visit of these sites. It must not be shorter than the courtesy
    /// pause. If it is zero, the nodes do not keep a common pause per address.
    pub pause: Duration,
    /// Whether due times and courtesy pauses are kept on the clock of the database, so that the clocks of the nodes do
    /// not matter. If false, the times of the caller are used without conversion, for simulated time.
    pub is_on_database_time: bool,
    /// The folder of the volumes of this node, which gets a number that no other folder of the crawl has. `None` for a
    /// process that visits no sites.
    pub folder: Option<PathBuf>,
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings {
            node: String::new(),
            ttl: Duration::from_mins(1),
            pause: Duration::from_mins(1),
            is_on_database_time: true,
            folder: None,
        }
    }
}

/// The PostgreSQL engine: one node of a crawl. Due times are stored on the frontier's clock. This is the clock of the
/// database, or the clock of the caller in simulated time.
#[derive(Debug)]
pub struct Postgres {
    core: Core<PostgresTables>,
    settings: NodeSettings,
    place: PathBuf,
    heartbeat: Heartbeat,
    /// When a check-out last began to sort links, because no site was due.
    last_flush: Option<i64>,
    /// When this node last looked for dead nodes.
    last_clean: Option<i64>,
    /// The number of the group of check-ins that is being stored.
    group: Option<i64>,
    /// The horizon that was set last, on the caller's clock. The next transaction converts it to the frontier's clock.
    horizon: Option<i64>,
    /// The open sources of the merge whose last step this node made.
    merging: Option<merge::Sources>,
    /// Whether due times of sites may have been computed with another horizon.
    horizon_changed: bool,
    /// The frontier's clock minus the caller's clock.
    shift: Cell<i64>,
    /// Time of the last call.
    last_now: i64,
    /// The number of the folder; 0 if there is none.
    folder: u32,
    /// Prevents other processes from using the folder.
    _lock: Option<Lock>,
    report: Arc<NodeReport>,
}

/// Converts an error of the tables to an error of the public interface. An empty schema becomes
/// [`FrontierError::Missing`].
fn at(error: StoreError, place: &Path) -> FrontierError {
    match error {
        StoreError::Empty => FrontierError::Missing {
            path: place.to_owned(),
        },
        other => other.at(place),
    }
}

impl Postgres {
    /// Open the frontier at `address`, and create its tables if there are none. This process becomes a new node, which
    /// leaves the crawl when the frontier is dropped.
    ///
    /// The address is `postgres://USER@HOST/DATABASE`, with these parameters after `?`: `schema=NAME` for the schema of
    /// the tables (default `aranha`), `sslmode=require` for TLS.
    pub fn open(
        address: &str,
        options: Options,
        settings: NodeSettings,
    ) -> Result<Postgres, FrontierError> {
        let address = Address::parse(address)?;
        let place = address.place.clone();
        Postgres::open_at(address, options, settings).map_err(|error| at(error, &place))
    }

    fn open_at(
        address: Address,
        options: Options,
        settings: NodeSettings,
    ) -> Result<Postgres, StoreError> {
        let packer = Packer::new().map_err(StoreError::at_file(&address.place))?;
        let connection = Connection::new(address.clone())?;
        connection.open()?;
        migrations::migrate(&connection)?;
        let lock = settings.folder.as_deref().map(Lock::take).transpose();
        let lock = lock.map_err(StoreError::of_lock)?;
        let report = Arc::new(NodeReport::default());
        let heartbeat = Heartbeat::start(address.clone(), settings.ttl, Arc::clone(&report))?;
        let inbox = PostgresInbox::new(&options);
        let store = Store::new(PostgresTables::new(connection), packer);
        let mut engine = Postgres {
            core: Core::new(store, inbox, options),
            settings,
            place: address.place,
            heartbeat,
            last_flush: None,
            last_clean: None,
            group: None,
            horizon: None,
            merging: None,
            horizon_changed: true,
            shift: Cell::new(0),
            last_now: 0,
            folder: 0,
            _lock: lock,
            report,
        };
        if let Some(folder) = &engine.settings.folder {
            let tables = &engine.core.store.tables;
            engine.folder = members::register_folder(tables, folder, &engine.settings.node)?;
        }
        engine.adopt_horizon()?;
        engine.register()?;
        Ok(engine)
    }

    /// Read without a transaction.
    fn read<T>(
        &self,
        work: impl FnOnce(&Store<PostgresTables>) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        let store = &self.core.store;
        let result = store.tables.connection.open().and_then(|()| work(store));
        store.tables.unit.take();
        result.map_err(|error| self.failed(error))
    }

    /// Leave the crawl: release all leases, and end this node.
    fn leave(&mut self) -> Result<(), FrontierError> {
        self.transact(self.last_now, |engine, now| {
            // An aborted visit may just have sent a request, and only the visit knows when.
            let free = after_pause(now, engine.settings.pause);
            let has_pause = !engine.settings.pause.is_zero();
            let earliest = if has_pause { free } else { i64::MIN };
            engine.core.release_own(now, earliest)?;
            engine.write()?;
            let tables = &engine.core.store.tables;
            tables.fold_totals(tables.node.get())?;
            tables.orphan_gates(tables.node.get(), free)?;
            // The row of a command is deleted, because lists of nodes do not show commands.
            let sql = if engine.folder == 0 {
                "DELETE FROM nodes WHERE node = $1"
            } else {
                "UPDATE nodes SET alive = false, has_left = true WHERE node = $1"
            };
            tables.connection.run(sql, &[&tables.node.get()])?;
            Ok(())
        })
    }

    /// Make a call that can take long. Visits cannot renew their leases during the call. So after a long call all
    /// leases of this node are extended, to give each visit time to renew.
    fn with_leases_kept<T>(&mut self, now: i64, work: impl FnOnce(&mut Postgres) -> T) -> T {
        let begun = Instant::now();
        let result = work(self);
        let elapsed = begun.elapsed();
        // In simulated time a call takes no time.
        if elapsed >= self.core.options.lease / 8 && self.settings.is_on_database_time {
            let ended = now + self.shift.get() + elapsed.as_millis() as i64;
            let expires = self.core.expiry(ended);
            self.core.store.tables.leases.borrow_mut().extend(expires);
        }
        result
    }

    /// Insert seeds that are not known yet.
    fn insert_seeds(&self, now: i64, seeds: &[Seed]) -> Result<(), StoreError> {
        let urls = seeds
            .iter()
            .map(|seed| format!("{}{}", seed.origin, seed.path));
        let urls: Vec<String> = urls.collect();
        let sites: Vec<i64> = seeds.iter().map(|seed| seed.site_key.0 as i64).collect();
        let paths: Vec<i64> = seeds.iter().map(|seed| seed.path_key.0 as i64).collect();
        let tables = &self.core.store.tables;
        let rows = tables.connection.query(
            "INSERT INTO seeds (url, site, path, time) SELECT url, site, path, $4 \
             FROM unnest($1::text[], $2::int8[], $3::int8[]) WITH ORDINALITY AS s (url, site, path, number) ORDER BY number \
             ON CONFLICT DO NOTHING RETURNING site, path",
            &[&urls, &sites, &paths, &now],
        )?;
        let mut unit = tables.unit.borrow_mut();
        for row in rows {
            unit.new_seeds.insert((row.try_get(0)?, row.try_get(1)?));
        }
        drop(unit);
        tables.lock_sites(&sites)
    }

    /// Make sites due, some sites per transaction. `step` handles sites whose keys follow the given key, and
    /// returns the last key.
    fn in_steps(
        &mut self,
        now: i64,
        mut step: impl FnMut(
            &mut Core<PostgresTables>,
            i64,
            Option<i64>,
        ) -> Result<Option<i64>, StoreError>,
    ) -> Result<(), FrontierError> {
        let mut after = None;
        loop {
            after = self.transact(now, |engine, now| step(&mut engine.core, now, after))?;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Err(error) = self.leave()
        {
            tracing::warn!(%error, "the node did not leave the crawl in order; its leases end when it expires");
        }
    }
}
