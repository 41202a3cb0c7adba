//! The tables of `schema.sql`: reads of sites and blocks. `write.rs` writes what a transaction has collected.
//!
//! In a transaction that writes, the row of every site is locked when it is read, in order of key where several are read
//! at once. So two transactions do not wait for each other in a circle.
//!
//! The file is long because it is a list of statements, one for each operation of [`Tables`].

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::time::Instant;

use aranha_url::SiteKey;
use tokio_postgres::Row;

use super::connection::{Connection, Params};
use super::inbox::PostgresInbox;
use super::unit::{ChainBlock, SiteState, Unit};
use crate::cluster::own_leases::{OwnLease, OwnLeases};
use crate::cluster::tables::ClusterTables as _;
use crate::links::run_link::RunLink;
use crate::sites::later::WaitKind;
use crate::sites::site_row::{SiteRow, full_origin};
use crate::sites::store::Store;
use crate::sites::tables::{QueueVisitor, Tables, WindowBlockRow};
use crate::store_error::StoreError;
use crate::{FrontierStatus, LeaseEntry, ProblemSite, Seed, SeedSettings, SiteSettings};

/// The columns of `sites`, in the order of [`read_site`].
pub(super) const COLUMNS: &str = "key, name, origin, class, due, free, lease, blocked, inbox, consumed, held, queued, \
     later, later_due, known, records, pages, keys, key_blocks, again, again_due, win, win_blocks, win_pages, node, since, gate, in_line";

/// Number of ids that the sequence `block_ids` gives at a time.
const IDS: i64 = 4096;
/// Number of blocks of a chain to read, beginning with the newest. `NEWEST` is enough for a merge of blocks, and
/// `WHOLE` reads all blocks.
pub(super) const NEWEST: i64 = 8;
pub(super) const WHOLE: i64 = i64::MAX;
/// The new blocks of queues are written when they have this size in bytes.
const MAX_NEW_QUEUES: usize = if cfg!(test) { 1024 } else { 4 << 20 };
/// Number of queue blocks that are read at a time.
const QUEUE_BLOCKS: i64 = 8;

/// The tables of a frontier.
#[derive(Debug)]
pub(crate) struct PostgresTables {
    pub(super) connection: Connection,
    /// This node; 0 for a reader.
    pub(super) node: Cell<i64>,
    pub(super) unit: RefCell<Unit>,
    pub(super) leases: RefCell<OwnLeases>,
    /// The next id, and the end of the ids that this node may use.
    ids: Cell<(i64, i64)>,
    /// When the size of the tables was last measured, and the size in bytes.
    pub(super) disk: Cell<Option<(Instant, u64)>>,
}

impl PostgresTables {
    pub(super) fn new(connection: Connection) -> PostgresTables {
        PostgresTables {
            connection,
            node: Cell::new(0),
            unit: RefCell::default(),
            leases: RefCell::default(),
            ids: Cell::new((0, 0)),
            disk: Cell::new(None),
        }
    }

    /// A new id for a block or a lease.
    pub(super) fn next_id(&self) -> Result<i64, StoreError> {
        let (mut next, mut end) = self.ids.get();
        if next == end {
            next = self.number("SELECT nextval('block_ids')", &[])?;
            end = next + IDS;
        }
        self.ids.set((next + 1, end));
        Ok(next)
    }

    /// Run a query with one row and one number.
    pub(super) fn number(&self, sql: &str, params: Params<'_>) -> Result<i64, StoreError> {
        let row = self.connection.first(sql, params)?;
        row.and_then(|row| row.try_get(0).ok())
            .ok_or_else(|| StoreError::Damaged(format!("answer to {sql}")))
    }

    fn is_writing(&self) -> bool {
        self.unit.borrow().is_writing
    }

    /// Forget what was read, unless a transaction is under way.
    fn forget(&self) {
        let mut unit = self.unit.borrow_mut();
        if !unit.is_writing {
            *unit = Unit::default();
        }
    }

    /// The end of a query for sites: a transaction that writes locks them.
    fn lock(&self) -> &'static str {
        if self.is_writing() { " FOR UPDATE" } else { "" }
    }

    /// Keep the rows of sites that were read. A row that is already known keeps its state in the transaction. Returns
    /// the rows as they are in the transaction.
    pub(super) fn keep_sites(&self, rows: &[Row]) -> Result<Vec<SiteRow>, StoreError> {
        let mut unit = self.unit.borrow_mut();
        let mut sites = Vec::with_capacity(rows.len());
        for row in rows {
            let (site, state) = read_site(row)?;
            if !unit.is_writing {
                sites.push(site);
                continue;
            }
            let state = unit.sites.entry(site.key).or_insert(state);
            sites.extend(state.row.clone());
        }
        Ok(sites)
    }

    /// Read and lock sites, in order of key.
    pub(super) fn lock_sites(&self, keys: &[i64]) -> Result<(), StoreError> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| !self.unit.borrow().sites.contains_key(key));
        if keys.is_empty() {
            return Ok(());
        }
        let sql =
            format!("SELECT {COLUMNS} FROM sites WHERE key = ANY($1) ORDER BY key FOR UPDATE");
        let rows = self.connection.query(&sql, &[&keys])?;
        self.keep_sites(&rows)?;
        let mut unit = self.unit.borrow_mut();
        for key in keys {
            unit.sites.entry(key).or_insert_with(unknown_site);
        }
        Ok(())
    }

    /// Read the blocks of chains into the transaction, beginning with the blocks `heads`.
    ///
    /// Each chain is read for `depth` blocks.
    pub(super) fn read_chains(
        &self,
        chain: Chain,
        heads: &[i64],
        depth: i64,
    ) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let blocks = chain.blocks(&mut unit);
        let wanted = |id: &i64| *id != 0 && !blocks.known.contains_key(id);
        let heads: Vec<i64> = heads.iter().copied().filter(wanted).collect();
        if heads.is_empty() {
            return Ok(());
        }
        for row in self.connection.query(chain.read(), &[&heads, &depth])? {
            let (id, previous, count) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let bytes = row.try_get(3)?;
            blocks.known.entry(id).or_insert(ChainBlock {
                previous,
                count,
                bytes,
            });
        }
        Ok(())
    }

    /// A block of a chain. Some older blocks of the chain are read at the same time.
    fn chain_block(&self, chain: Chain, id: i64) -> Result<Option<ChainBlock>, StoreError> {
        self.read_chains(chain, &[id], NEWEST)?;
        let mut unit = self.unit.borrow_mut();
        Ok(chain.blocks(&mut unit).known.get(&id).cloned())
    }

    /// Read the facts of sites.
    pub(super) fn read_facts(&self, sites: &[i64]) -> Result<(), StoreError> {
        let sql = "SELECT site, facts FROM facts WHERE site = ANY($1)";
        let rows = self.connection.query(sql, &[&sites])?;
        let mut unit = self.unit.borrow_mut();
        for row in rows {
            let site = row.try_get(0)?;
            unit.facts.entry(site).or_insert(row.try_get(1)?);
        }
        for site in sites {
            unit.facts.entry(*site).or_insert(None);
        }
        Ok(())
    }

    /// Read the first blocks of the queues of sites.
    pub(super) fn read_queues(&self, sites: &[i64]) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let mut wanted = Vec::new();
        for site in sites {
            let queue = unit.queues.entry(*site).or_default();
            if queue.front.is_empty() && !queue.is_complete {
                wanted.push((*site, queue.read_upto));
            }
        }
        let (keys, upto): (Vec<i64>, Vec<i64>) = wanted.iter().copied().unzip();
        if keys.is_empty() {
            return Ok(());
        }
        let sql = "SELECT s.site, p.id, p.pages FROM unnest($1::int8[], $2::int8[]) AS s (site, upto) CROSS JOIN LATERAL \
                   (SELECT id, pages FROM pending WHERE site = s.site AND id > s.upto ORDER BY id LIMIT $3) p ORDER BY 1, 2";
        for row in self.connection.query(sql, &[&keys, &upto, &QUEUE_BLOCKS])? {
            let queue = unit.queues.entry(row.try_get(0)?).or_default();
            queue.read_upto = row.try_get(1)?;
            queue.front.push_back((queue.read_upto, row.try_get(2)?));
        }
        for key in keys {
            let queue = unit.queues.entry(key).or_default();
            queue.is_complete = (queue.front.len() as i64) < QUEUE_BLOCKS;
        }
        Ok(())
    }

    /// Rows of a listing of sites, in order of key.
    fn list_sites(
        &self,
        condition: &str,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        self.forget();
        let Some(from) = after.map_or(Some(i64::MIN), |key| key.checked_add(1)) else {
            return Ok(Vec::new());
        };
        let lock = self.lock();
        let sql = format!(
            "SELECT {COLUMNS} FROM sites WHERE key >= $1 AND {condition} AND $2::int8 IS NOT NULL ORDER BY key LIMIT $3{lock}"
        );
        let rows = self
            .connection
            .query(&sql, &[&from, &until, &(count as i64)])?;
        self.keep_sites(&rows)
    }
}

/// A table whose blocks form chains: each block has the id of the block before it (`schema.sql`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Chain {
    Keys,
    Window,
}

impl Chain {
    fn blocks(self, unit: &mut Unit) -> &mut super::unit::ChainBlocks {
        match self {
            Chain::Keys => &mut unit.keys,
            Chain::Window => &mut unit.held,
        }
    }

    /// Query for the blocks of chains, beginning with their heads. It returns id, id of the previous block, number of
    /// pages, and bytes.
    fn read(self) -> &'static str {
        match self {
            Chain::Keys => {
                "WITH RECURSIVE chain (id, previous, count, bytes, depth) AS ( \
                 SELECT id, previous, 0::int8, keys, 1::int8 FROM keys WHERE id = ANY($1) UNION ALL \
                 SELECT k.id, k.previous, 0::int8, k.keys, depth + 1 FROM chain JOIN keys k ON k.id = chain.previous \
                 WHERE depth < $2) SELECT * FROM chain"
            }
            Chain::Window => {
                "WITH RECURSIVE chain (id, previous, count, bytes, depth) AS ( \
                 SELECT id, previous, count, pages, 1::int8 FROM held WHERE id = ANY($1) UNION ALL \
                 SELECT h.id, h.previous, h.count, h.pages, depth + 1 FROM chain \
                 JOIN held h ON h.id = chain.previous AND h.id <> chain.id WHERE depth < $2) SELECT * FROM chain"
            }
        }
    }
}

fn unknown_site() -> SiteState {
    SiteState {
        row: None,
        class: 0,
        lease: None,
        node: None,
        since: None,
        gate: None,
        in_line: false,
        is_new: false,
        is_changed: false,
    }
}

/// Read a row with [`COLUMNS`].
fn read_site(row: &Row) -> Result<(SiteRow, SiteState), StoreError> {
    let name: String = row.try_get(1)?;
    let origin = full_origin(row.try_get(2)?, &name);
    let class: i16 = row.try_get(3)?;
    let site = SiteRow {
        key: row.try_get(0)?,
        name,
        origin,
        seed: class % 2 == 0,
        due: row.try_get(4)?,
        free: row.try_get(5)?,
        lease: row.try_get(6)?,
        blocked: row.try_get(7)?,
        inbox: row.try_get(8)?,
        consumed: row.try_get(9)?,
        held: row.try_get(10)?,
        queued: row.try_get(11)?,
        later: row.try_get(12)?,
        later_due: row.try_get(13)?,
        known: row.try_get(14)?,
        records: row.try_get(15)?,
        pages: row.try_get(16)?,
        keys: row.try_get(17)?,
        key_blocks: row.try_get(18)?,
        again: row.try_get(19)?,
        again_due: row.try_get(20)?,
        window: row.try_get(21)?,
        window_blocks: row.try_get(22)?,
        window_pages: row.try_get(23)?,
    };
    let state = SiteState {
        class: class.into(),
        lease: site.lease,
        node: row.try_get(24)?,
        since: row.try_get(25)?,
        gate: row.try_get(26)?,
        in_line: row.try_get(27)?,
        row: Some(site.clone()),
        is_new: false,
        is_changed: false,
    };
    Ok((site, state))
}

impl Tables for PostgresTables {
    type Inbox = PostgresInbox;

    fn snapshot<R>(
        &self,
        mut work: impl FnMut() -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        // The tables of link runs must not be truncated meanwhile. The lock is taken before the snapshot, because a
        // truncated table looks empty even in an older snapshot.
        let (schema, lock) = (self.connection.schema(), super::link_runs::RUNS);
        let sql = "SELECT pg_advisory_lock_shared(hashtext($1), $2)";
        self.connection.query(sql, &[&schema, &lock])?;
        self.connection
            .batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let result = work();
        let ended = self.connection.batch("COMMIT");
        let sql = "SELECT pg_advisory_unlock_shared(hashtext($1), $2)";
        self.connection.query(sql, &[&schema, &lock])?;
        self.forget();
        result.and_then(|value| ended.map(|()| value))
    }

    fn status(&self, horizon: i64) -> Result<FrontierStatus, StoreError> {
        Ok(self.read_status(horizon)?.status)
    }

    fn site(&self, key: i64) -> Result<Option<SiteRow>, StoreError> {
        if let Some(state) = self.unit.borrow().sites.get(&key) {
            return Ok(state.row.clone());
        }
        if self.is_writing() {
            self.lock_sites(&[key])?;
            let unit = self.unit.borrow();
            return Ok(unit.sites.get(&key).and_then(|state| state.row.clone()));
        }
        self.forget();
        let sql = format!("SELECT {COLUMNS} FROM sites WHERE key = $1");
        let rows = self.connection.query(&sql, &[&key])?;
        Ok(self.keep_sites(&rows)?.pop())
    }

    fn site_insert(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let state = unit.sites.entry(site.key).or_insert_with(unknown_site);
        (state.is_new, state.class, state.row) = (true, class, Some(site.clone()));
        Ok(())
    }

    fn site_update(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let state = unit
            .sites
            .get_mut(&site.key)
            .ok_or_else(|| StoreError::damaged("site that was not locked", site.key))?;
        (state.is_changed, state.class, state.row) = (true, class, Some(site.clone()));
        Ok(())
    }

    fn sites_after(&self, after: Option<i64>, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        self.list_sites("true", 0, after, count)
    }

    fn site_with_records(&self, after: Option<i64>) -> Result<Option<SiteRow>, StoreError> {
        Ok(self.list_sites("pages <> 0", 0, after, 1)?.pop())
    }

    fn sites_with_revisits(
        &self,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        self.list_sites("again_due <= $2", until, after, count)
    }

    fn facts(&self, site: i64) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.unit.borrow().facts.contains_key(&site) {
            self.read_facts(&[site])?;
        }
        Ok(self.unit.borrow().facts.get(&site).cloned().flatten())
    }

    fn set_gate(&self, site: i64, address: IpAddr) {
        if let Some(state) = self.unit.borrow_mut().sites.get_mut(&site) {
            state.gate = Some(address.to_canonical());
        }
    }

    fn facts_write(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        unit.facts.insert(site, Some(sealed));
        unit.new_facts.insert(site);
        Ok(())
    }

    fn pages_insert(&self, site: i64, previous: i64, sealed: Vec<u8>) -> Result<i64, StoreError> {
        let id = self.next_id()?;
        self.unit
            .borrow_mut()
            .pages
            .push((id, site, previous, sealed));
        Ok(id)
    }

    fn pages_block(&self, id: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        self.write_pages()?;
        let sql = "SELECT previous, records FROM pages WHERE id = $1";
        let Some(row) = self.connection.first(sql, &[&id])? else {
            return Ok(None);
        };
        Ok(Some((row.try_get(0)?, row.try_get(1)?)))
    }

    fn keys_insert(&self, site: i64, previous: i64, bytes: Vec<u8>) -> Result<i64, StoreError> {
        let id = self.next_id()?;
        let block = ChainBlock {
            previous,
            count: 0,
            bytes,
        };
        self.unit.borrow_mut().keys.insert(id, site, block);
        Ok(id)
    }

    fn keys_take(&self, _site: i64, id: i64) -> Result<(i64, Vec<u8>), StoreError> {
        let block = self.chain_block(Chain::Keys, id)?;
        let block = block.ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
        self.unit.borrow_mut().keys.delete(id);
        Ok((block.previous, block.bytes))
    }

    fn keys_walk(
        &self,
        site: &SiteRow,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let mut id = site.keys;
        for _ in 0..=site.key_blocks {
            if id == 0 {
                return Ok(());
            }
            self.read_chains(Chain::Keys, &[id], WHOLE)?;
            let unit = self.unit.borrow();
            let block = unit.keys.known.get(&id);
            let block = block.ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
            if !visit(&block.bytes) {
                return Err(StoreError::damaged("block of keys", id));
            }
            id = block.previous;
        }
        Err(StoreError::damaged("chain of keys at", id))
    }

    fn window_insert(
        &self,
        site: i64,
        previous: i64,
        count: i64,
        sealed: Vec<u8>,
    ) -> Result<i64, StoreError> {
        let id = self.next_id()?;
        let block = ChainBlock {
            previous,
            count,
            bytes: sealed,
        };
        self.unit.borrow_mut().held.insert(id, site, block);
        Ok(id)
    }

    fn window_block(&self, _site: i64, id: i64) -> Result<Option<WindowBlockRow>, StoreError> {
        let block = self.chain_block(Chain::Window, id)?;
        Ok(block.map(|block| (block.previous, block.count, block.bytes)))
    }

    fn window_previous(&self, _site: i64, id: i64) -> Result<Option<i64>, StoreError> {
        let block = self.chain_block(Chain::Window, id)?;
        Ok(block.map(|block| block.previous))
    }

    /// If the block is missing, the write of the transaction fails.
    fn window_delete(&self, _site: i64, id: i64) -> Result<bool, StoreError> {
        self.unit.borrow_mut().held.delete(id);
        Ok(true)
    }

    fn queue_insert(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        unit.new_queues += sealed.len();
        let is_full = unit.new_queues > MAX_NEW_QUEUES;
        let queue = unit.queues.entry(site).or_default();
        let id = queue.new.back().map_or(-1, |(id, _)| id - 1);
        queue.new.push_back((id, sealed));
        drop(unit);
        if is_full { self.write_queues() } else { Ok(()) }
    }

    fn queue_front(&self, site: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        self.read_queues(&[site])?;
        let unit = self.unit.borrow();
        let queue = unit.queues.get(&site);
        Ok(queue.and_then(|queue| queue.front.front().or(queue.new.front()).cloned()))
    }

    fn queue_update(&self, site: i64, id: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let queue = unit.queues.entry(site).or_default();
        let block = queue.front.front_mut().or(queue.new.front_mut());
        let block = block.ok_or_else(|| StoreError::damaged("queue of site", site))?;
        block.1 = sealed;
        if id > 0 {
            queue.updated = Some(id);
        }
        Ok(())
    }

    fn queue_delete(&self, site: i64, id: i64) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let queue = unit.queues.entry(site).or_default();
        if id > 0 {
            queue.front.pop_front();
            queue.updated = queue.updated.filter(|updated| *updated != id);
            queue.deleted.push(id);
        } else {
            queue.new.pop_front();
        }
        Ok(())
    }

    fn queue_walk(&self, site: i64, visit: &mut QueueVisitor<'_>) -> Result<(), StoreError> {
        self.write_queues()?;
        let mut after = 0i64;
        let sql = "SELECT id, pages FROM pending WHERE site = $1 AND id > $2 ORDER BY id LIMIT $3";
        loop {
            let rows = self
                .connection
                .query(sql, &[&site, &after, &QUEUE_BLOCKS])?;
            for row in &rows {
                after = row.try_get(0)?;
                if !visit(after, row.try_get(1)?)? {
                    return Ok(());
                }
            }
            if (rows.len() as i64) < QUEUE_BLOCKS {
                return Ok(());
            }
        }
    }

    fn later_insert(
        &self,
        site: i64,
        kind: WaitKind,
        due: i64,
        sealed: Vec<u8>,
    ) -> Result<(), StoreError> {
        let id = self.next_id()?;
        let mut unit = self.unit.borrow_mut();
        unit.later.push((id, site, kind as i16, due, sealed));
        Ok(())
    }

    fn later_first(&self, site: i64, kind: WaitKind) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        if let Some(first) = self.known_later_first(site, kind) {
            return Ok(Some(first));
        }
        self.write_later()?;
        let sql = "SELECT id, pages FROM later WHERE site = $1 AND again = $2 ORDER BY site, again, due LIMIT 1";
        let Some(row) = self.connection.first(sql, &[&site, &(kind as i16)])? else {
            return Ok(None);
        };
        Ok(Some((row.try_get(0)?, row.try_get(1)?)))
    }

    fn later_due(&self, site: i64, kind: WaitKind) -> Result<Option<i64>, StoreError> {
        if let Ok(due) = self.known_later_due(site, kind) {
            return Ok(due);
        }
        self.write_later()?;
        let sql = "SELECT min(due) FROM later WHERE site = $1 AND again = $2";
        let row = self.connection.first(sql, &[&site, &(kind as i16)])?;
        Ok(row.and_then(|row| row.try_get(0).ok()))
    }

    fn later_ids(&self, site: i64, kind: WaitKind) -> Result<Vec<i64>, StoreError> {
        self.write_later()?;
        let sql = "SELECT id FROM later WHERE site = $1 AND again = $2 ORDER BY due, id";
        let rows = self.connection.query(sql, &[&site, &(kind as i16)])?;
        let ids = rows.iter().map(|row| row.try_get(0));
        Ok(ids.collect::<Result<_, _>>()?)
    }

    fn later_block(&self, _site: i64, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT pages FROM later WHERE id = $1";
        let row = self.connection.first(sql, &[&id])?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    fn later_delete(&self, site: i64, id: i64) -> Result<(), StoreError> {
        self.forget_later(site, id);
        self.unit.borrow_mut().deleted_later.push(id);
        Ok(())
    }

    fn node(&self) -> i64 {
        self.node.get()
    }

    fn lease_insert(&self, site: i64, now: i64, expires: i64) -> Result<i64, StoreError> {
        let id = self.next_id()?;
        let lease = OwnLease {
            site,
            since: now,
            expires,
            gate: self.gate(site),
        };
        self.leases.borrow_mut().set(id, Some(lease));
        Ok(id)
    }

    fn lease_site(&self, id: i64) -> Result<Option<i64>, StoreError> {
        Ok(self.leases.borrow().site(id))
    }

    fn lease_renew(&self, id: i64, expires: i64) -> Result<bool, StoreError> {
        Ok(self.leases.borrow_mut().renew(id, expires))
    }

    fn lease_delete(&self, id: i64) -> Result<(), StoreError> {
        self.leases.borrow_mut().set(id, None);
        Ok(())
    }

    fn lease_entry(&self, site: &SiteRow) -> Result<Option<LeaseEntry>, StoreError> {
        let sql = "SELECT s.lease, n.name, s.since, n.expires FROM sites s JOIN nodes n ON n.node = s.node WHERE s.key = $1";
        let Some(row) = self.connection.first(sql, &[&site.key])? else {
            return Ok(None);
        };
        Ok(Some(LeaseEntry {
            id: row.try_get::<_, i64>(0)? as u64,
            node: row.try_get(1)?,
            since: row.try_get(2)?,
            expires: row.try_get(3)?,
        }))
    }

    fn problem_write(&self, site: i64, now: i64, problem: &str) -> Result<(), StoreError> {
        // PostgreSQL stores no NUL in a text.
        let problem = problem.replace('\0', "\u{fffd}");
        self.connection.run(
            "INSERT INTO problems VALUES ($1, 1, $2, $3) ON CONFLICT (site) DO UPDATE SET faults = problems.faults + 1, \
             time = excluded.time, problem = excluded.problem",
            &[&site, &now, &problem],
        )?;
        Ok(())
    }

    fn problem_end(&self, site: i64) -> Result<(), StoreError> {
        self.unit.borrow_mut().ended.push(site);
        Ok(())
    }

    fn problems(&self) -> Result<Vec<ProblemSite>, StoreError> {
        let rows = self.connection.query(
            "SELECT key, name, faults, time, problem FROM problems JOIN sites ON key = site ORDER BY time DESC, key",
            &[],
        )?;
        let sites = rows.iter().map(|row| {
            Ok(ProblemSite {
                key: SiteKey(row.try_get::<_, i64>(0)? as u64),
                site: row.try_get(1)?,
                faults: row.try_get::<_, i32>(2)? as u32,
                time: row.try_get(3)?,
                problem: row.try_get(4)?,
            })
        });
        sites.collect()
    }

    /// All seeds were inserted before, by one statement.
    fn seed_insert(&self, _now: i64, seed: &Seed) -> Result<bool, StoreError> {
        let key = (seed.site_key.0 as i64, seed.path_key.0 as i64);
        Ok(self.unit.borrow_mut().new_seeds.remove(&key))
    }

    fn seeds(&self) -> Result<Vec<String>, StoreError> {
        let rows = self
            .connection
            .query("SELECT url FROM seeds ORDER BY id", &[])?;
        let urls = rows.iter().map(|row| row.try_get(0));
        Ok(urls.collect::<Result<_, _>>()?)
    }

    fn seeds_has(&self, site: i64, path: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM seeds WHERE site = $1 AND path = $2";
        Ok(self.connection.first(sql, &[&site, &path])?.is_some())
    }

    fn seed_settings_write(&self, site: i64, settings: &SeedSettings) -> Result<(), StoreError> {
        let sql = "DELETE FROM seed_settings WHERE site = $1";
        self.connection.run(sql, &[&site])?;
        if !settings.is_empty() {
            let [depth, every, max_every] = settings.columns();
            let sql = "INSERT INTO seed_settings VALUES ($1, $2, $3, $4)";
            self.connection
                .run(sql, &[&site, &depth, &every, &max_every])?;
        }
        Ok(())
    }

    fn seed_settings(&self, site: Option<i64>) -> Result<Vec<SiteSettings>, StoreError> {
        let sql = "SELECT site, depth, every, max_every FROM seed_settings \
                   WHERE $1::int8 IS NULL OR site = $1 ORDER BY site";
        let rows = self.connection.query(sql, &[&site])?;
        let settings = rows.iter().map(|row| {
            let columns = [row.try_get(1)?, row.try_get(2)?, row.try_get(3)?];
            let site = SiteKey(row.try_get::<_, i64>(0)? as u64);
            Ok((site, SeedSettings::of_columns(columns)))
        });
        settings.collect()
    }

    fn value(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT value FROM named_values WHERE name = $1";
        let row = self.connection.first(sql, &[&name])?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    fn set_value(&self, name: &str, value: Option<i64>) -> Result<(), StoreError> {
        match value {
            Some(value) => self.connection.run(
                "INSERT INTO named_values VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                &[&name, &value],
            )?,
            None => self
                .connection
                .run("DELETE FROM named_values WHERE name = $1", &[&name])?,
        };
        Ok(())
    }

    fn unread_links(
        store: &Store<PostgresTables>,
        site: &SiteRow,
        visit: &mut dyn FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        store.inbox_walk(site.key, site.consumed, visit)?;
        Ok(())
    }

    fn is_gathered(
        store: &Store<PostgresTables>,
        site: i64,
        path: u64,
    ) -> Result<bool, StoreError> {
        for journal in super::journal::JOURNALS {
            let gather = store.journal_read(journal)?;
            let mut links = gather.links.iter();
            if links.any(|link| link.site == site && link.key == path) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
