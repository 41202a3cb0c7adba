//! Check-out by one of several nodes: sites in line for gates of this node, then the queue of due sites.

use super::tables::ClusterTables;
use crate::sites::core::Core;
use crate::store_error::StoreError;
use crate::{Lease, LeaseGate};

impl<T: ClusterTables> Core<T> {
    /// Lease up to `count` due sites. `has_gates`: whether the pause per address is kept across nodes. Returns the number of
    /// sites that were examined too.
    pub(crate) fn lease_due_sites(
        &mut self,
        now: i64,
        count: usize,
        has_gates: bool,
    ) -> Result<(usize, Vec<Lease>), StoreError> {
        let horizon = self.store.horizon;
        let mut sites = if has_gates {
            self.sites_in_line(now, horizon, count)?
        } else {
            Vec::new()
        };
        let tables = &self.store.tables;
        sites.append(&mut tables.sites_due(now, horizon, count - sites.len())?);
        let examined = sites.len();
        let (sites, gates) = if has_gates {
            self.claim_for(now, sites)?
        } else {
            (sites, <_>::default())
        };
        self.store.tables.prepare_check_out(&sites, now, horizon)?;
        let mut leases = Vec::new();
        for site in &sites {
            let Some(mut lease) = self.lease_site(now, site)? else {
                continue;
            };
            let gate = self.store.tables.gate(site.key);
            lease.gate = gate.and_then(|address| {
                let closed = *gates.get(&address)?;
                Some(LeaseGate { address, closed })
            });
            leases.push(lease);
        }
        Ok((examined, leases))
    }
}
