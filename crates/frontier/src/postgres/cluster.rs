//! The statements behind the rules by which nodes share the frontier (`cluster/`): nodes, gates, lines, groups of check-ins.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::tables::{COLUMNS, Chain, PostgresTables, WHOLE};
use crate::cluster::own_leases::{OwnLease, OwnLeases};
use crate::cluster::tables::ClusterTables;
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED, SiteRow};
use crate::store_error::StoreError;

impl ClusterTables for PostgresTables {
    fn own_leases(&self) -> &RefCell<OwnLeases> {
        &self.leases
    }

    fn lock_sites(&self, keys: &[i64]) -> Result<(), StoreError> {
        PostgresTables::lock_sites(self, keys)
    }

    /// Sites that another transaction has locked are skipped.
    fn sites_due(&self, now: i64, horizon: i64, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let until = now.min(horizon);
        let part = |class: i64, until: &str| {
            format!(
                "(SELECT {COLUMNS} FROM sites WHERE class = {class} AND due <= {until} AND NOT in_line ORDER BY due LIMIT $2 \
                 FOR UPDATE SKIP LOCKED)"
            )
        };
        let count = count as i64;
        let rows = self
            .connection
            .query(&part(SEED_NEW, "$1"), &[&now, &count])?;
        let mut sites = self.keep_sites(&rows)?;
        if sites.is_empty() {
            for (class, until) in [
                (FOUND, now),
                (SEED_VISITED, now),
                (SEED_REVISIT, until),
                (FOUND_REVISIT, until),
            ] {
                let rows = self
                    .connection
                    .query(&part(class, "$1"), &[&until, &count])?;
                sites.append(&mut self.keep_sites(&rows)?);
            }
            sites.sort_by_key(|site| site.due);
            sites.truncate(count as usize);
        }
        Ok(sites)
    }

    /// Read what the check-out of these sites needs.
    fn prepare_check_out(
        &self,
        sites: &[SiteRow],
        now: i64,
        horizon: i64,
    ) -> Result<(), StoreError> {
        self.read_later(sites, now, horizon)?;
        if sites.is_empty() {
            return Ok(());
        }
        let keys: Vec<i64> = sites.iter().map(|site| site.keys).collect();
        self.read_chains(Chain::Keys, &keys, WHOLE)?;
        let windows: Vec<i64> = sites.iter().map(|site| site.window).collect();
        self.read_chains(Chain::Window, &windows, WHOLE)?;
        let all: Vec<i64> = sites.iter().map(|site| site.key).collect();
        self.read_facts(&all)?;
        let queued = sites.iter().filter(|site| site.queued > 0);
        self.read_queues(&queued.map(|site| site.key).collect::<Vec<_>>())?;
        let waiting = sites.iter().filter(|site| site.inbox);
        let waiting: Vec<_> = waiting.map(|site| (site.key, site.consumed)).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        self.read_links(&waiting)
    }

    fn gate(&self, site: i64) -> Option<IpAddr> {
        let unit = self.unit.borrow();
        unit.sites.get(&site).and_then(|state| state.gate)
    }

    fn claim_gates(
        &self,
        gates: &BTreeSet<IpAddr>,
        now: i64,
    ) -> Result<HashMap<IpAddr, Duration>, StoreError> {
        let node = self.node.get();
        let wanted: Vec<IpAddr> = gates.iter().copied().collect();
        let sql = "SELECT gate, free FROM gates WHERE gate = ANY($1) AND node = $2";
        let mut rows = self.connection.query(sql, &[&wanted, &node])?;
        let mut owned = HashMap::new();
        let mut own = |rows: &[tokio_postgres::Row]| {
            for row in rows {
                let free: i64 = row.try_get(1)?;
                let closed = Duration::from_millis((free - now).max(0) as u64);
                owned.insert(row.try_get(0)?, closed);
            }
            Ok::<_, StoreError>(owned.len())
        };
        if own(&rows)? < wanted.len() {
            let sql = "INSERT INTO gates SELECT gate, $2, 0, false FROM unnest($1::inet[]) AS g (gate) ORDER BY gate \
                       ON CONFLICT (gate) DO UPDATE SET node = $2 WHERE gates.node IS NULL RETURNING gate, free";
            rows = self.connection.query(sql, &[&wanted, &node])?;
            own(&rows)?;
        }
        Ok(owned)
    }

    fn release_gates(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let sql = "UPDATE gates SET node = NULL WHERE gate IN (SELECT gate FROM gates WHERE gate = ANY($1) AND node = $2 \
                   ORDER BY gate FOR UPDATE)";
        self.connection.run(sql, &[&gates, &self.node.get()])?;
        Ok(())
    }

    fn orphan_gates(&self, node: i64, free: i64) -> Result<(), StoreError> {
        let sql = "UPDATE gates SET node = NULL, free = greatest(free, $2) WHERE gate IN \
                   (SELECT gate FROM gates WHERE node = $1 ORDER BY gate FOR UPDATE)";
        self.connection.run(sql, &[&node, &free])?;
        Ok(())
    }

    fn delete_free_gates(&self, now: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM gates WHERE gate IN (SELECT gate FROM gates WHERE node IS NULL AND NOT line AND free <= $1 \
                   ORDER BY gate LIMIT 1000 FOR UPDATE SKIP LOCKED)";
        self.connection.run(sql, &[&now])?;
        Ok(())
    }

    fn put_in_line(&self, site: i64) {
        if let Some(state) = self.unit.borrow_mut().sites.get_mut(&site) {
            (state.in_line, state.is_changed) = (true, true);
        }
    }

    fn mark_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let sql = "UPDATE gates SET line = true WHERE gate = ANY($1) AND NOT line";
        self.connection.run(sql, &[&gates])?;
        Ok(())
    }

    fn own_gates_with_line(&self) -> Result<Vec<IpAddr>, StoreError> {
        let sql = "SELECT gate FROM gates WHERE line AND node = $1";
        let rows = self.connection.query(sql, &[&self.node.get()])?;
        let gates = rows.iter().map(|row| row.try_get(0));
        Ok(gates.collect::<Result<_, _>>()?)
    }

    fn free_gates_with_line(&self, now: i64, count: i64) -> Result<Vec<IpAddr>, StoreError> {
        let sql = "SELECT gate FROM gates WHERE line AND node IS NULL AND free <= $1 ORDER BY gate LIMIT $2 FOR UPDATE SKIP LOCKED";
        let rows = self.connection.query(sql, &[&now, &count])?;
        let gates = rows.iter().map(|row| row.try_get(0));
        Ok(gates.collect::<Result<_, _>>()?)
    }

    fn sites_in_line(
        &self,
        lines: &[(IpAddr, i64)],
        now: i64,
        until: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let (gates, room): (Vec<IpAddr>, Vec<i64>) = lines.iter().copied().unzip();
        let sql = format!(
            "SELECT {COLUMNS} FROM unnest($1::inet[], $2::int8[]) AS g (of, room) CROSS JOIN LATERAL (SELECT * FROM sites \
             WHERE in_line AND gate = g.of AND due <= CASE WHEN class IN ({SEED_REVISIT}, {FOUND_REVISIT}) THEN $4::int8 ELSE $3::int8 END \
             ORDER BY due LIMIT g.room FOR UPDATE SKIP LOCKED) s ORDER BY due LIMIT $5"
        );
        let rows = self
            .connection
            .query(&sql, &[&gates, &room, &now, &until, &(count as i64)])?;
        self.keep_sites(&rows)
    }

    fn leave_line(&self, gates: &[IpAddr], count: i64) -> Result<(), StoreError> {
        let sql = "UPDATE sites SET in_line = false WHERE key IN (SELECT key FROM unnest($1::inet[]) AS g (of) \
                   CROSS JOIN LATERAL (SELECT key FROM sites WHERE in_line AND gate = g.of ORDER BY due LIMIT $2 \
                   FOR UPDATE SKIP LOCKED) s)";
        self.connection.run(sql, &[&gates, &count])?;
        Ok(())
    }

    /// The gates are locked first, and then looked at by another statement, which sees the sites that other transactions
    /// have put in line before.
    fn end_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let sql = "SELECT gate FROM gates WHERE gate = ANY($1) ORDER BY gate FOR UPDATE";
        self.connection.query(sql, &[&gates])?;
        let sql = "UPDATE gates SET line = false WHERE gate = ANY($1) AND line \
                   AND NOT EXISTS (SELECT 1 FROM sites s WHERE s.in_line AND s.gate = gates.gate)";
        self.connection.run(sql, &[&gates])?;
        Ok(())
    }

    fn node_state(&self, node: i64) -> Result<Option<(Option<i64>, bool)>, StoreError> {
        let sql = "SELECT successor, alive FROM nodes WHERE node = $1 FOR UPDATE";
        let Some(row) = self.connection.first(sql, &[&node])? else {
            return Ok(None);
        };
        Ok(Some((row.try_get(0)?, row.try_get(1)?)))
    }

    fn end_node(&self, node: i64, successor: Option<i64>) -> Result<(), StoreError> {
        let sql = "UPDATE nodes SET alive = false, successor = $2 WHERE node = $1";
        self.connection.run(sql, &[&node, &successor])?;
        Ok(())
    }

    fn sites_of(&self, node: i64) -> Result<Vec<SiteRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sites WHERE node = $1 ORDER BY key FOR UPDATE");
        let rows = self.connection.query(&sql, &[&node])?;
        self.keep_sites(&rows)
    }

    fn move_leases(
        &self,
        from: i64,
        free: i64,
        expires: i64,
    ) -> Result<Vec<(i64, OwnLease)>, StoreError> {
        let sql = "UPDATE sites SET node = $2, free = greatest(free, $3) WHERE key IN \
                   (SELECT key FROM sites WHERE node = $1 ORDER BY key FOR UPDATE) RETURNING key, lease, since, gate";
        let rows = self
            .connection
            .query(sql, &[&from, &self.node.get(), &free])?;
        let lease = |row: &tokio_postgres::Row| {
            let lease = OwnLease {
                site: row.try_get(0)?,
                since: row.try_get(2)?,
                expires,
                gate: row.try_get(3)?,
            };
            Ok((row.try_get(1)?, lease))
        };
        rows.iter().map(lease).collect()
    }

    fn fold_totals(&self, node: i64) -> Result<(), StoreError> {
        PostgresTables::fold_totals(self, node)
    }

    fn take_number(&self, number: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE taken SET number = $2 WHERE node = $1 AND number < $2";
        Ok(self.connection.run(sql, &[&self.node.get(), &number])? > 0)
    }

    fn newest_number(&self, node: i64) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM taken WHERE node = $1";
        self.number(sql, &[&node])
    }
}
