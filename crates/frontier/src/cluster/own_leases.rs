//! The leases that a node holds. The database also has the leases, but not their expiry. Only the node needs the expiry,
//! because its leases end with it.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::sites::checkout::AbandonedLease;

/// A lease that this node holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnLease {
    pub(crate) site: i64,
    pub(crate) since: i64,
    pub(crate) expires: i64,
    /// The gate of the site at the check-out.
    pub(crate) gate: Option<IpAddr>,
}

/// The leases of this node, and how to undo the changes of a transaction.
#[derive(Debug, Default)]
pub(crate) struct OwnLeases {
    pub(crate) held: HashMap<i64, OwnLease>,
    /// The leases as they were before this transaction.
    undo: Vec<(i64, Option<OwnLease>)>,
}

impl OwnLeases {
    pub(crate) fn set(&mut self, id: i64, lease: Option<OwnLease>) {
        let before = match lease {
            Some(lease) => self.held.insert(id, lease),
            None => self.held.remove(&id),
        };
        self.undo.push((id, before));
    }

    /// The site of a lease; `None` if the lease is lost.
    pub(crate) fn site(&self, id: i64) -> Option<i64> {
        self.held.get(&id).map(|own| own.site)
    }

    /// Sets the expiry. Returns false if the lease is lost.
    pub(crate) fn renew(&mut self, id: i64, expires: i64) -> bool {
        let Some(own) = self.held.get(&id).copied() else {
            return false;
        };
        self.set(id, Some(OwnLease { expires, ..own }));
        true
    }

    /// The number of leases for each gate.
    pub(crate) fn per_gate(&self) -> HashMap<IpAddr, usize> {
        let mut count = HashMap::new();
        for gate in self.held.values().filter_map(|own| own.gate) {
            *count.entry(gate).or_default() += 1;
        }
        count
    }

    /// Let no lease expire before `expires`.
    pub(crate) fn extend(&mut self, expires: i64) {
        for own in self.held.values_mut() {
            own.expires = own.expires.max(expires);
        }
    }

    /// Up to `count` leases that have expired, the earliest expiry first.
    pub(crate) fn expired(&self, now: i64, count: usize) -> Vec<AbandonedLease> {
        let expired = self.held.iter().filter(|(_, own)| own.expires <= now);
        let mut expired: Vec<_> = expired.collect();
        expired.sort_by_key(|(id, own)| (own.expires, **id));
        let abandoned = expired.into_iter().map(|(id, own)| AbandonedLease {
            id: *id,
            site: own.site,
            since: own.since,
        });
        abandoned.take(count).collect()
    }

    /// The earliest expiry.
    pub(crate) fn next_expiry(&self) -> Option<i64> {
        self.held.values().map(|own| own.expires).min()
    }

    pub(crate) fn commit(&mut self) {
        self.undo.clear();
    }

    pub(crate) fn roll_back(&mut self) {
        for (id, before) in self.undo.drain(..).rev() {
            match before {
                Some(lease) => self.held.insert(id, lease),
                None => self.held.remove(&id),
            };
        }
    }
}
