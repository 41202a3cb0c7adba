//! The limit on open connections: the process's limit on open files, minus a reserve.
//!
//! A visit keeps its connection open during the courtesy pause. With thousands of visits, the process could run out of
//! file descriptors, and fetches would fail as if their servers were down. Therefore every connection holds a permit,
//! and a fetch waits until a permit is free. The wait does not count against the server's timeouts. Connections are
//! kept alive only while more than a quarter of the permits are free, so that idle connections do not block new ones.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of permits if the process has no limit on open files.
const MAX_SOCKETS: u64 = 1 << 20;
/// File descriptors reserved for everything else: volumes, frontier, logs, resolver.
const RESERVED_FILES: u64 = 512;

/// The permit for one open connection. Dropping it releases the permit.
pub(crate) type SocketPermit = OwnedSemaphorePermit;

/// Limits the number of open connections.
#[derive(Debug)]
pub(crate) struct SocketLimit {
    permits: Arc<Semaphore>,
    /// Connections are kept alive only while more permits than this are free.
    keep_alive_reserve: usize,
}

impl SocketLimit {
    /// The limit that follows from the process's current limit on open files.
    pub(crate) fn of_process() -> SocketLimit {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(MAX_SOCKETS);
        let reserve = RESERVED_FILES.min(files / 2);
        SocketLimit::new(files.min(MAX_SOCKETS).saturating_sub(reserve).max(1) as usize)
    }

    /// The limit for simulated connections, which use no file descriptors.
    pub(crate) fn unlimited() -> SocketLimit {
        SocketLimit::new(MAX_SOCKETS as usize)
    }

    fn new(permits: usize) -> SocketLimit {
        SocketLimit {
            permits: Arc::new(Semaphore::new(permits)),
            keep_alive_reserve: permits / 4,
        }
    }

    /// Waits for a permit, first come, first served. Cancel-safe.
    pub(crate) async fn acquire(&self) -> SocketPermit {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    /// Whether a connection may be kept alive for a later request.
    pub(crate) fn may_keep_alive(&self) -> bool {
        self.permits.available_permits() > self.keep_alive_reserve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_are_kept_alive_only_while_a_quarter_is_free() {
        let sockets = SocketLimit::new(8);
        let mut kept = Vec::new();
        for _ in 0..5 {
            kept.push(sockets.acquire().await);
            assert!(sockets.may_keep_alive());
        }
        let busy = [sockets.acquire().await, sockets.acquire().await];
        assert!(!sockets.may_keep_alive(), "one of eight permits is free");
        drop(busy);
        assert!(sockets.may_keep_alive());
    }

    #[tokio::test]
    async fn more_tasks_than_permits_all_get_a_turn() {
        let sockets = Arc::new(SocketLimit::new(2));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let sockets = Arc::clone(&sockets);
            tasks.spawn(async move {
                let _socket = sockets.acquire().await;
                tokio::task::yield_now().await;
            });
        }
        assert_eq!(tasks.join_all().await.len(), 50);
        assert_eq!(sockets.permits.available_permits(), 2);
    }

    #[test]
    fn the_limit_is_below_the_limit_on_open_files() {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(MAX_SOCKETS);
        let permits = SocketLimit::of_process().permits.available_permits() as u64;
        assert!(permits >= 1 && permits < files, "{permits} of {files}");
    }
}
