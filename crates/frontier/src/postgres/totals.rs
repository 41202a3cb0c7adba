//! The totals (tables `totals` and `outcomes`): each node adds to rows of its own, and the status is the sum.

use std::time::{Duration, Instant};

use super::tables::PostgresTables;
use crate::FrontierStatus;
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED};
use crate::sites::totals::{Count, Totals};
use crate::store_error::StoreError;

/// Names of the rows with the number of links in each journal.
pub(super) const JOURNAL_LINKS: [&str; 2] = ["journal_0", "journal_1"];
/// Time between two measurements of the size of the tables.
const DISK_INTERVAL: Duration = Duration::from_secs(10);

/// The status, and the work that is left for check-outs.
#[derive(Debug)]
pub(super) struct Overview {
    pub(super) status: FrontierStatus,
    /// Whether all link runs were announced to all their sites.
    pub(super) is_announced: bool,
    pub(super) others_hold_leases: bool,
}

impl PostgresTables {
    /// Add the changes of the counters to those of this node.
    pub(super) fn write_totals(&self, totals: &mut Totals) -> Result<(), StoreError> {
        let node = self.node.get();
        let mut changes = totals.take_changes();
        let journals = std::mem::take(&mut self.unit.borrow_mut().journals);
        for (name, links) in JOURNAL_LINKS.into_iter().zip(journals) {
            if links != 0 {
                changes.push((name, links, links));
            }
        }
        if !changes.is_empty() {
            let names: Vec<&str> = changes.iter().map(|(name, ..)| *name).collect();
            let numbers: Vec<i64> = changes.iter().map(|(_, _, change)| *change).collect();
            self.connection.run(
                "INSERT INTO totals SELECT $1, name, change FROM unnest($2::text[], $3::int8[]) AS c (name, change) \
                 ON CONFLICT (node, name) DO UPDATE SET value = totals.value + excluded.value",
                &[&node, &names, &numbers],
            )?;
        }
        let (outcomes, numbers): (Vec<i64>, Vec<i64>) = totals.take_outcomes().into_iter().unzip();
        if !outcomes.is_empty() {
            self.connection.run(
                "INSERT INTO outcomes SELECT $1, outcome, change FROM unnest($2::int8[], $3::int8[]) AS c (outcome, change) \
                 ON CONFLICT (node, outcome) DO UPDATE SET count = outcomes.count + excluded.count",
                &[&node, &outcomes, &numbers],
            )?;
        }
        Ok(())
    }

    /// Add the totals of a node that has ended to the totals of all ended nodes (node 0).
    pub(super) fn fold_totals(&self, node: i64) -> Result<(), StoreError> {
        for (table, name, number) in [
            ("totals", "name", "value"),
            ("outcomes", "outcome", "count"),
        ] {
            let sql = format!(
                "WITH gone AS (DELETE FROM {table} WHERE node = $1 AND node <> 0 RETURNING {name}, {number}) \
                 INSERT INTO {table} SELECT 0, {name}, {number} FROM gone ORDER BY {name} \
                 ON CONFLICT (node, {name}) DO UPDATE SET {number} = {table}.{number} + excluded.{number}"
            );
            self.connection.run(&sql, &[&node])?;
        }
        Ok(())
    }

    /// The totals and the work that is left for check-outs, read from one snapshot.
    pub(super) fn read_status(&self, horizon: i64) -> Result<Overview, StoreError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.connection.batch(begin)?;
        let overview = self.read_overview(horizon);
        self.connection.batch("COMMIT")?;
        overview
    }

    fn read_overview(&self, horizon: i64) -> Result<Overview, StoreError> {
        let sql = "SELECT name, sum(value)::int8 FROM totals GROUP BY name";
        let rows = self.connection.query(sql, &[])?;
        let rows = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let mut totals = Totals::from_rows(rows.collect::<Result<Vec<_>, StoreError>>()?);
        let work = self.sort_work()?;
        totals.set(Count::Gathered, work.journals.iter().sum());
        totals.set(Count::Runs, self.number("SELECT count(*) FROM runs", &[])?);
        let sql =
            "SELECT outcome, sum(count)::int8 FROM outcomes GROUP BY outcome ORDER BY outcome";
        let rows = self.connection.query(sql, &[])?;
        let outcomes = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let outcomes = outcomes.collect::<Result<Vec<_>, StoreError>>()?;
        let mut status = totals.status(outcomes, self.next_due(horizon)?, self.disk()?);
        status.sites.problems = self.number("SELECT count(*) FROM problems", &[])? as u64;
        Ok(Overview {
            status,
            is_announced: work.is_announced,
            others_hold_leases: self.others_hold_leases()?,
        })
    }

    /// Whether another node that is alive holds leases.
    pub(super) fn others_hold_leases(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM nodes n WHERE alive AND node <> $1 \
                   AND EXISTS (SELECT 1 FROM sites s WHERE s.node = n.node) LIMIT 1";
        Ok(self.connection.first(sql, &[&self.node.get()])?.is_some())
    }

    /// Two times. The first is the earliest time at which a check-out can return a lease, because a site is due or a
    /// lease of this node expires. The second is the earliest due time of the sites that have only revisits to do.
    fn next_due(&self, horizon: i64) -> Result<(Option<i64>, Option<i64>), StoreError> {
        let sql = "SELECT c.class, d.due FROM unnest($1::int2[]) AS c (class) CROSS JOIN LATERAL \
                   (SELECT due FROM sites WHERE class = c.class AND due IS NOT NULL AND NOT in_line ORDER BY due LIMIT 1) d";
        let classes = [SEED_NEW, FOUND, SEED_VISITED, SEED_REVISIT, FOUND_REVISIT];
        let classes = classes.map(|class| class as i16).to_vec();
        let (mut work, mut revisit) = (None::<i64>, None::<i64>);
        for row in self.connection.query(sql, &[&classes])? {
            let (class, due): (i16, i64) = (row.try_get(0)?, row.try_get(1)?);
            let first = match class.into() {
                SEED_REVISIT | FOUND_REVISIT => &mut revisit,
                _ => &mut work,
            };
            *first = Some(first.map_or(due, |earlier| earlier.min(due)));
        }
        let first = [
            work,
            revisit.filter(|due| *due <= horizon),
            self.leases.borrow().next_expiry(),
            self.next_in_line()?,
        ];
        Ok((first.into_iter().flatten().min(), revisit))
    }

    /// Size of the tables and indexes of this frontier, in bytes. The size is measured at most every [`DISK_INTERVAL`],
    /// because measuring takes milliseconds.
    fn disk(&self) -> Result<u64, StoreError> {
        if let Some((measured, size)) = self.disk.get()
            && measured.elapsed() < DISK_INTERVAL
        {
            return Ok(size);
        }
        let sql = "SELECT coalesce(sum(pg_table_size(c.oid) + pg_indexes_size(c.oid)), 0)::int8 FROM pg_class c \
                   JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
        let size = self.number(sql, &[&self.connection.schema()])? as u64;
        self.disk.set(Some((Instant::now(), size)));
        Ok(size)
    }
}
