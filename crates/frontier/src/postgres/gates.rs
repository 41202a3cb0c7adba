//! The gates of addresses (table `gates`): an address has one owner among the nodes (F8; invariant 2 in a cluster). The
//! rules are in `cluster/gates.rs`.

use std::net::IpAddr;

use super::Postgres;
use super::tables::PostgresTables;
use crate::cluster::gates::lines_with_room;
use crate::cluster::tables::ClusterTables as _;
use crate::store_error::StoreError;
use crate::{FrontierError, GateClaim};

impl Postgres {
    /// Whether the pause per address is kept across nodes.
    pub(super) fn has_gates(&self) -> bool {
        !self.settings.pause.is_zero()
    }

    pub(super) fn claim_one_gate(
        &mut self,
        now: i64,
        address: IpAddr,
    ) -> Result<GateClaim, FrontierError> {
        self.transact(now, |engine, now| engine.core.claim_gate(now, address))
    }

    pub(super) fn give_gates_back(
        &mut self,
        now: i64,
        addresses: &[IpAddr],
    ) -> Result<(), FrontierError> {
        let gates: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).collect();
        self.transact(now, |engine, _| {
            engine.core.store.tables.release_gates(&gates)
        })
    }
}

impl PostgresTables {
    /// The earliest due time of the sites that this node could take from a line.
    pub(super) fn next_in_line(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT free FROM gates WHERE line AND node IS NULL ORDER BY free LIMIT 1";
        let row = self.connection.first(sql, &[])?;
        let orphan: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        let held = self.leases.borrow().per_gate();
        let lines = lines_with_room(self.own_gates_with_line()?, &held);
        if lines.is_empty() {
            return Ok(orphan);
        }
        let gates: Vec<IpAddr> = lines.into_iter().map(|(gate, _)| gate).collect();
        let sql = "SELECT min(s.due) FROM unnest($1::inet[]) AS g (of) CROSS JOIN LATERAL \
                   (SELECT due FROM sites WHERE in_line AND gate = g.of ORDER BY due LIMIT 1) s";
        let row = self.connection.first(sql, &[&gates])?;
        let own: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        Ok([orphan, own].into_iter().flatten().min())
    }
}
