//! How many connections may be open at once: as many as the system lets this process have files, but for a few.
//!
//! Twenty thousand visits would each keep a connection over the pause, and the twenty thousand and first would be told that
//! its server is down when it is us who ran out. So every connection holds one of a number of places; who finds none waits
//! for one, outside of the time that its server is given. A connection is kept for the next request only while a good part
//! of the places is free: those who wait are never kept waiting by those who rest.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where there is no limit.
const MOST: u64 = 1 << 20;
/// Files left for everything else: volumes, frontier, log, resolver.
const RESERVE: u64 = 512;

/// A place for one connection; given back when dropped.
pub(crate) type Socket = OwnedSemaphorePermit;

/// The places.
#[derive(Debug)]
pub(crate) struct Sockets {
    places: Arc<Semaphore>,
    /// With no more than these left, nobody rests.
    spare: usize,
}

impl Sockets {
    /// By the limit that is in force now.
    pub(crate) fn of_this_process() -> Sockets {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(MOST);
        let reserve = RESERVE.min(files / 2);
        Sockets::new(files.min(MOST).saturating_sub(reserve).max(1) as usize)
    }

    /// For connections that are no files.
    pub(crate) fn boundless() -> Sockets {
        Sockets::new(MOST as usize)
    }

    fn new(places: usize) -> Sockets {
        Sockets {
            places: Arc::new(Semaphore::new(places)),
            spare: places / 4,
        }
    }

    /// A place, when one is free. In the order of arrival; may be cancelled.
    pub(crate) async fn enter(&self) -> Socket {
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.expect("the semaphore is never closed")
    }

    /// Whether a connection may be kept for a later request.
    pub(crate) fn may_rest(&self) -> bool {
        self.places.available_permits() > self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_rests_leaves_room_for_who_comes() {
        let sockets = Sockets::new(8);
        let mut kept = Vec::new();
        for _ in 0..5 {
            kept.push(sockets.enter().await);
            assert!(sockets.may_rest());
        }
        let working = [sockets.enter().await, sockets.enter().await];
        assert!(!sockets.may_rest(), "one of eight is left");
        drop(working);
        assert!(sockets.may_rest());
    }

    #[tokio::test]
    async fn nobody_is_refused() {
        let sockets = Arc::new(Sockets::new(2));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let sockets = Arc::clone(&sockets);
            tasks.spawn(async move {
                let _socket = sockets.enter().await;
                tokio::task::yield_now().await;
            });
        }
        assert_eq!(tasks.join_all().await.len(), 50);
        assert_eq!(sockets.places.available_permits(), 2);
    }

    #[test]
    fn the_limit_of_the_system_is_never_exceeded() {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(MOST);
        let places = Sockets::of_this_process().places.available_permits() as u64;
        assert!(places >= 1 && places < files, "{places} of {files}");
    }
}
