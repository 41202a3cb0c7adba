//! The contact of a node with the database: signs of life, the deadline for requests, and whether the node may declare
//! others dead.
//!
//! **An outage of the database kills no node.** A node declares others dead only after it was in contact with the
//! database for a while without interruption. This gives the other nodes time to renew their expiry.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

use crate::fence::Fence;
use crate::store_error::StoreError;

/// A node may declare others dead when its contact with the database has lasted for the time to live divided by this
/// number. The others try to renew at least twice in that time.
const CONTACT: u32 = 3;
/// Number of signs of life in a time to live.
pub(crate) const RENEWALS: u32 = 8;

/// The contact of one node.
#[derive(Debug)]
pub(crate) struct Contact {
    node: AtomicI64,
    fence: Arc<Fence>,
    /// When the uninterrupted contact with the database began, on the clock of the fence.
    since: AtomicI64,
}

impl Contact {
    /// The contact begins now.
    pub(crate) fn new(fence: Fence) -> Contact {
        Contact {
            node: AtomicI64::new(0),
            since: AtomicI64::new(fence.now()),
            fence: Arc::new(fence),
        }
    }

    pub(crate) fn fence(&self) -> &Arc<Fence> {
        &self.fence
    }

    /// Record that the node was registered. `asked` is a time before the request to the database, on the clock of the
    /// fence.
    pub(crate) fn registered(
        &self,
        node: i64,
        asked: i64,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        self.node.store(node, SeqCst);
        self.renewed(node, asked, ttl)
    }

    /// Whether this node may declare others dead.
    pub(crate) fn may_judge(&self, ttl: Duration) -> bool {
        let contact = self.fence.now() - self.since.load(SeqCst);
        contact >= (ttl / CONTACT).as_millis() as i64
    }

    /// Pretend that the contact with the database began long ago.
    #[cfg(test)]
    pub(crate) fn assume(&self) {
        self.since.store(i64::MIN / 2, SeqCst);
    }

    /// Gives a sign of life. `renew` moves the expiry of the node with this number forward, and returns false if the node
    /// was declared dead. Returns false if `renew` fails, because the database is away.
    pub(crate) fn beat(
        &self,
        ttl: Duration,
        renew: impl FnOnce(i64) -> Result<bool, StoreError>,
    ) -> bool {
        let (node, asked) = (self.node.load(SeqCst), self.fence.now());
        let renewed = renew(node).and_then(|is_alive| {
            if is_alive {
                return self.renewed(node, asked, ttl);
            }
            // The next transaction finds out that the node was declared dead.
            Ok(())
        });
        if let Err(error) = renewed {
            self.since.store(i64::MAX, SeqCst);
            tracing::warn!(node, ?error, "the node was not renewed");
            return false;
        }
        self.since.fetch_min(self.fence.now(), SeqCst);
        true
    }

    fn renewed(&self, node: i64, asked: i64, ttl: Duration) -> Result<(), StoreError> {
        let renewed = self.fence.renew(node as u64, asked, ttl);
        renewed.map_err(StoreError::at_file(std::path::Path::new("timer")))
    }
}
