//! The fence of a node in a crawl on many machines ([`Fence`]). After its deadline a node sends no request, because
//! other nodes may get its sites.
//!
//! Every request passes the fence directly before it is sent. At the deadline, requests that are under way are broken
//! off, so that no response is still arriving when another node visits the site. If the node renews its deadline before
//! it is declared dead, its visits go on. If the node was declared dead meanwhile, it gets a new number, and the visits
//! of the old number end.
//!
//! A crawl on one machine has no fence.

use std::io;
use std::sync::Arc;

use aranha_frontier::Fence;
use tokio::task::JoinSet;

use crate::collect::Unsent;
use crate::fault_injection::{self, FaultPoint};

/// The fence that all requests of a node pass.
#[derive(Debug)]
pub(crate) struct RequestFence(Arc<Fence>);

impl RequestFence {
    /// Starts the fence of this process. Adds a task to `tasks` that closes the fence after each deadline.
    pub(crate) fn start(fence: Arc<Fence>, tasks: &mut JoinSet<()>) -> io::Result<Option<Self>> {
        if fault_injection::is_off(FaultPoint::Fence) {
            return Ok(None);
        }
        fence.guard_process()?;
        tasks.spawn(close_after_deadlines(Arc::clone(&fence)));
        Ok(Some(Self(fence)))
    }

    /// Waits until the fence is open, and sends the request. Breaks the request off at the deadline. `node` is the node
    /// number that holds the lease of the visit.
    pub(crate) async fn send<T>(
        &self,
        node: u64,
        request: impl Future<Output = T>,
    ) -> Result<T, Unsent> {
        let fence = &*self.0;
        let mut changes = fence.watch();
        let _pass = loop {
            match fence.enter(node) {
                Ok(pass) => break pass,
                Err(term) if term.node != node => return Err(Unsent::LeaseLost),
                // This error does not occur, because the fence holds the sender.
                Err(_) => changes.changed().await.map_err(|_| Unsent::LeaseLost)?,
            }
        };
        tokio::select! {
            biased;
            result = request => Ok(result),
            () = self.deadline(node) => Err(Unsent::BrokenOff),
        }
    }

    /// Waits until the deadline has passed without a renewal.
    async fn deadline(&self, node: u64) {
        loop {
            let term = self.0.term();
            if term.node != node || self.0.remaining(term).is_zero() {
                return;
            }
            tokio::time::sleep(self.0.remaining(term)).await;
        }
    }
}

/// After each deadline, waits until no request is under way. Then clears the timer that would end the process.
async fn close_after_deadlines(fence: Arc<Fence>) {
    let mut changes = fence.watch();
    loop {
        let term = *changes.borrow_and_update();
        if !fence.remaining(term).is_zero() {
            tokio::time::sleep(fence.remaining(term)).await;
            continue;
        }
        match fence.close() {
            Ok(false) => {
                fence.idle().await;
                continue;
            }
            Ok(true) => {}
            // The timer then ends the process, which is safe.
            Err(error) => tracing::error!(%error, "the timer of the fence cannot be cleared"),
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
