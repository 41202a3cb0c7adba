//! Writes what a transaction has collected, with one statement for each table.

use std::net::IpAddr;

use tokio_postgres::types::{ToSql, Type};

use super::tables::{COLUMNS, PostgresTables};
use super::unit::{ChainBlocks, SiteState};
use crate::sites::site_row::{SiteRow, short_origin};
use crate::store_error::StoreError;

impl PostgresTables {
    /// Write everything that the transaction has collected.
    pub(super) fn write(&self) -> Result<(), StoreError> {
        self.write_pages()?;
        self.write_keys()?;
        self.write_windows()?;
        self.write_queues()?;
        self.write_later()?;
        self.write_facts()?;
        self.write_problems()?;
        self.write_sites()
    }

    pub(super) fn write_pages(&self) -> Result<(), StoreError> {
        let pages = std::mem::take(&mut self.unit.borrow_mut().pages);
        if pages.is_empty() {
            return Ok(());
        }
        let (mut ids, mut sites, mut previous, mut blocks) = lists(pages.len());
        for (id, site, before, block) in pages {
            ids.push(id);
            sites.push(site);
            previous.push(before);
            blocks.push(block);
        }
        self.connection.run(
            "INSERT INTO pages SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[])",
            &[&ids, &sites, &previous, &blocks],
        )?;
        Ok(())
    }

    fn write_keys(&self) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let (ids, sites, previous, _, blocks) = take_new(&mut unit.keys);
        if !ids.is_empty() {
            self.connection.run(
                "INSERT INTO keys SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[])",
                &[&ids, &sites, &previous, &blocks],
            )?;
        }
        let deleted = std::mem::take(&mut unit.keys.deleted);
        self.delete("DELETE FROM keys WHERE id = ANY($1)", &deleted, "keys")
    }

    fn write_windows(&self) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let (ids, sites, previous, counts, blocks) = take_new(&mut unit.held);
        if !ids.is_empty() {
            self.connection.run(
                "INSERT INTO held SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[])",
                &[&ids, &sites, &previous, &counts, &blocks],
            )?;
        }
        let deleted = std::mem::take(&mut unit.held.deleted);
        self.delete("DELETE FROM held WHERE id = ANY($1)", &deleted, "window")
    }

    /// Delete blocks, each of which must exist.
    fn delete(&self, sql: &str, ids: &[i64], what: &str) -> Result<(), StoreError> {
        if ids.is_empty() || self.connection.run(sql, &[&ids])? == ids.len() as u64 {
            return Ok(());
        }
        Err(StoreError::damaged(what, ids[0]))
    }

    /// Write the changes of queues. The blocks of queues in memory are dropped, so that the next access reads them from the
    /// database again.
    pub(super) fn write_queues(&self) -> Result<(), StoreError> {
        let queues = std::mem::take(&mut self.unit.borrow_mut().queues);
        self.unit.borrow_mut().new_queues = 0;
        let (mut sites, mut blocks) = (Vec::new(), Vec::new());
        let (mut deleted_sites, mut deleted) = (Vec::new(), Vec::new());
        for (site, queue) in queues {
            if let Some(id) = queue.updated {
                let front = queue.front.front().filter(|(front, _)| *front == id);
                let (_, block) = front.ok_or_else(|| StoreError::damaged("queue of site", site))?;
                let sql = "UPDATE pending SET pages = $3 WHERE site = $1 AND id = $2";
                self.connection.run(sql, &[&site, &id, block])?;
            }
            for (_, block) in queue.new {
                sites.push(site);
                blocks.push(block);
            }
            for id in queue.deleted {
                deleted_sites.push(site);
                deleted.push(id);
            }
        }
        if !deleted.is_empty() {
            let sql = "DELETE FROM pending p USING unnest($1::int8[], $2::int8[]) AS d (site, id) \
                       WHERE p.site = d.site AND p.id = d.id";
            if self.connection.run(sql, &[&deleted_sites, &deleted])? != deleted.len() as u64 {
                return Err(StoreError::damaged("queue of site", deleted_sites[0]));
            }
        }
        if !sites.is_empty() {
            self.connection.run(
                "INSERT INTO pending SELECT site, nextval('queue_ids'), pages \
                 FROM unnest($1::int8[], $2::bytea[]) WITH ORDINALITY AS b (site, pages, number) ORDER BY number",
                &[&sites, &blocks],
            )?;
        }
        Ok(())
    }

    pub(super) fn write_later(&self) -> Result<(), StoreError> {
        let (rows, deleted) = {
            let mut unit = self.unit.borrow_mut();
            // The blocks of `first_later` are dropped, because they were read before this write.
            unit.first_later.clear();
            (
                std::mem::take(&mut unit.later),
                std::mem::take(&mut unit.deleted_later),
            )
        };
        if !rows.is_empty() {
            let (mut ids, mut sites, mut dues, mut blocks) = lists(rows.len());
            let mut kinds = Vec::with_capacity(rows.len());
            for (id, site, kind, due, block) in rows {
                ids.push(id);
                sites.push(site);
                kinds.push(kind);
                dues.push(due);
                blocks.push(block);
            }
            self.connection.run(
                "INSERT INTO later SELECT * FROM unnest($1::int8[], $2::int8[], $3::int2[], $4::int8[], $5::bytea[])",
                &[&ids, &sites, &kinds, &dues, &blocks],
            )?;
        }
        let sql = "DELETE FROM later WHERE id = ANY($1)";
        self.delete(sql, &deleted, "waiting pages")
    }

    fn write_facts(&self) -> Result<(), StoreError> {
        let mut unit = self.unit.borrow_mut();
        let sites: Vec<i64> = std::mem::take(&mut unit.new_facts).into_iter().collect();
        if sites.is_empty() {
            return Ok(());
        }
        let facts = sites
            .iter()
            .map(|site| unit.facts.get(site).cloned().flatten());
        let facts: Vec<Option<Vec<u8>>> = facts.collect();
        self.connection.run(
            "INSERT INTO facts SELECT * FROM unnest($1::int8[], $2::bytea[]) \
             ON CONFLICT (site) DO UPDATE SET facts = excluded.facts",
            &[&sites, &facts],
        )?;
        Ok(())
    }

    fn write_problems(&self) -> Result<(), StoreError> {
        let ended = std::mem::take(&mut self.unit.borrow_mut().ended);
        if !ended.is_empty() {
            let sql = "DELETE FROM problems WHERE site = ANY($1)";
            self.connection.run(sql, &[&ended])?;
        }
        Ok(())
    }

    /// Write the rows of sites that were changed. The rows stay in memory.
    fn write_sites(&self) -> Result<(), StoreError> {
        let (mut new, mut changed) = (SiteColumns::default(), SiteColumns::default());
        let node = self.node.get();
        let mut unit = self.unit.borrow_mut();
        let leases = self.leases.borrow();
        for state in unit.sites.values_mut() {
            if !state.is_new && !state.is_changed {
                continue;
            }
            let Some(row) = &state.row else {
                continue;
            };
            if row.lease != state.lease {
                let own = row.lease.and_then(|lease| leases.held.get(&lease));
                state.node = own.map(|_| node);
                state.since = own.map(|own| own.since);
                state.lease = row.lease;
            }
            let columns = if state.is_new { &mut new } else { &mut changed };
            columns.push(row, state);
            (state.is_new, state.is_changed) = (false, false);
        }
        let new_rows = new.key.len();
        if new_rows > 0 {
            // An insertion of arrays takes four times as long.
            let columns = new.columns();
            let types = columns.each_ref().map(Column::kind);
            let rows = (0..new_rows).map(|row| columns.each_ref().map(|column| column.cell(row)));
            let table = format!("sites ({COLUMNS})");
            if self.connection.copy(&table, &types, rows)? != new_rows as u64 {
                return Err(StoreError::damaged("table of sites at", new.key[0]));
            }
        }
        if let Some(first) = changed.key.first() {
            let columns = changed.columns();
            let params = columns.each_ref().map(Column::array);
            if self.connection.run(UPDATE_SITES, &params)? != changed.key.len() as u64 {
                return Err(StoreError::damaged("table of sites at", *first));
            }
        }
        Ok(())
    }
}

type Lists = (Vec<i64>, Vec<i64>, Vec<i64>, Vec<Vec<u8>>);

fn lists(length: usize) -> Lists {
    (
        Vec::with_capacity(length),
        Vec::with_capacity(length),
        Vec::with_capacity(length),
        Vec::with_capacity(length),
    )
}

/// Blocks to insert: ids, sites, ids of the previous blocks, numbers of pages, bytes.
type NewBlocks = (Vec<i64>, Vec<i64>, Vec<i64>, Vec<i64>, Vec<Vec<u8>>);

fn take_new(blocks: &mut ChainBlocks) -> NewBlocks {
    let new = std::mem::take(&mut blocks.new);
    let (mut ids, mut sites, mut previous, mut bytes) = lists(new.len());
    let mut counts = Vec::with_capacity(new.len());
    for (id, site) in new {
        if let Some(block) = blocks.known.get(&id) {
            ids.push(id);
            sites.push(site);
            previous.push(block.previous);
            counts.push(block.count);
            bytes.push(block.bytes.clone());
        }
    }
    (ids, sites, previous, counts, bytes)
}

const UPDATE_SITES: &str = "UPDATE sites SET name = u.name, origin = u.origin, class = u.class, due = u.due, free = u.free, \
    lease = u.lease, blocked = u.blocked, inbox = u.inbox, consumed = u.consumed, held = u.held, queued = u.queued, \
    later = u.later, later_due = u.later_due, known = u.known, records = u.records, pages = u.pages, keys = u.keys, \
    key_blocks = u.key_blocks, again = u.again, again_due = u.again_due, win = u.win, win_blocks = u.win_blocks, \
    win_pages = u.win_pages, node = u.node, since = u.since, gate = u.gate, in_line = u.in_line \
    FROM unnest($1::int8[], $2::text[], $3::text[], $4::int2[], \
    $5::int8[], $6::int8[], $7::int8[], $8::bool[], $9::bool[], $10::int8[], $11::int8[], $12::int8[], $13::int8[], \
    $14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::int8[], $19::int8[], $20::int8[], $21::int8[], $22::int8[], \
    $23::int8[], $24::int8[], $25::int8[], $26::int8[], $27::inet[], $28::bool[]) AS u (key, name, origin, class, due, free, lease, blocked, inbox, \
    consumed, held, queued, later, later_due, known, records, pages, keys, key_blocks, again, again_due, win, win_blocks, \
    win_pages, node, since, gate, in_line) WHERE sites.key = u.key";

/// The columns of rows of `sites`.
#[derive(Default)]
struct SiteColumns {
    key: Vec<i64>,
    name: Vec<String>,
    origin: Vec<String>,
    class: Vec<i16>,
    blocked: Vec<bool>,
    inbox: Vec<bool>,
    /// The columns that cannot be null: `free`, `consumed`, `held` and so on.
    numbers: [Vec<i64>; 13],
    window_pages: Vec<i64>,
    /// The columns that can be null: `due`, `lease`, `later_due`, `again_due`, `node`, `since`.
    options: [Vec<Option<i64>>; 6],
    gate: Vec<Option<IpAddr>>,
    in_line: Vec<bool>,
}

impl SiteColumns {
    fn push(&mut self, row: &SiteRow, state: &SiteState) {
        self.key.push(row.key);
        self.name.push(row.name.clone());
        self.origin
            .push(short_origin(&row.origin, &row.name).to_owned());
        self.class.push(state.class as i16);
        self.blocked.push(row.blocked);
        self.inbox.push(row.inbox);
        let numbers = [
            row.free,
            row.consumed,
            row.held,
            row.queued,
            row.later,
            row.known,
            row.records,
            row.pages,
            row.keys,
            row.key_blocks,
            row.again,
            row.window,
            row.window_blocks,
        ];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
        let options = [
            row.due,
            row.lease,
            row.later_due,
            row.again_due,
            state.node,
            state.since,
        ];
        for (column, option) in self.options.iter_mut().zip(options) {
            column.push(option);
        }
        self.window_pages.push(row.window_pages);
        self.gate.push(state.gate);
        // A site without a due time does not wait in line.
        self.in_line.push(state.in_line && row.due.is_some());
    }

    /// The columns in the order of [`COLUMNS`].
    fn columns(&self) -> [Column<'_>; 28] {
        use Column::{Address, Bool, Int, Nullable, Small, Text};
        let [
            free,
            consumed,
            held,
            queued,
            later,
            known,
            records,
            pages,
            keys,
            key_blocks,
            again,
            win,
            win_blocks,
        ] = self.numbers.each_ref().map(Int);
        let [due, lease, later_due, again_due, node, since] = self.options.each_ref().map(Nullable);
        [
            Int(&self.key),
            Text(&self.name),
            Text(&self.origin),
            Small(&self.class),
            due,
            free,
            lease,
            Bool(&self.blocked),
            Bool(&self.inbox),
            consumed,
            held,
            queued,
            later,
            later_due,
            known,
            records,
            pages,
            keys,
            key_blocks,
            again,
            again_due,
            win,
            win_blocks,
            Int(&self.window_pages),
            node,
            since,
            Address(&self.gate),
            Bool(&self.in_line),
        ]
    }
}

/// A column of rows of `sites`.
enum Column<'a> {
    Int(&'a Vec<i64>),
    Nullable(&'a Vec<Option<i64>>),
    Small(&'a Vec<i16>),
    Text(&'a Vec<String>),
    Bool(&'a Vec<bool>),
    Address(&'a Vec<Option<IpAddr>>),
}

impl<'a> Column<'a> {
    fn kind(&self) -> Type {
        match self {
            Column::Int(_) | Column::Nullable(_) => Type::INT8,
            Column::Small(_) => Type::INT2,
            Column::Text(_) => Type::TEXT,
            Column::Bool(_) => Type::BOOL,
            Column::Address(_) => Type::INET,
        }
    }

    /// All values, as an array.
    fn array(&self) -> &'a (dyn ToSql + Sync) {
        match *self {
            Column::Int(values) => values,
            Column::Nullable(values) => values,
            Column::Small(values) => values,
            Column::Text(values) => values,
            Column::Bool(values) => values,
            Column::Address(values) => values,
        }
    }

    /// The value in a row.
    fn cell(&self, row: usize) -> &'a (dyn ToSql + Sync) {
        match *self {
            Column::Int(values) => &values[row],
            Column::Nullable(values) => &values[row],
            Column::Small(values) => &values[row],
            Column::Text(values) => &values[row],
            Column::Bool(values) => &values[row],
            Column::Address(values) => &values[row],
        }
    }
}
