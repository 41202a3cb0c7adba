//! The courtesy pause per address (F8): one request at a time to an IP address, and a pause after each response.
//!
//! A site's pause is kept by its visit, the only task that sends requests to the site. Many sites can share one
//! address, so a visit takes the [`Permit`] of the address before each request. Permits are issued in order of arrival
//! (F7). The next permit is issued when the pause after the last response is over.
//!
//! **Invariant 2**: a permit is held until the response has ended, and dropping it starts the pause.
//! [`Permit::give_back`], which starts no pause, is only for a request that was not sent.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// Minimum number of addresses in memory before idle ones are removed.
const MIN_SWEEP: usize = 4096;

/// One gate for each IP address. A gate issues the permits of its address, one at a time.
#[derive(Debug)]
pub(crate) struct AddressGates {
    pause: Duration,
    /// Assumed end of the last response from an address that this crawl has not contacted. A resumed crawl does not
    /// know when the earlier crawl sent its last requests, so it assumes the time of its own start.
    assumed_end: Option<Instant>,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    by_address: HashMap<IpAddr, Arc<tokio::sync::Mutex<Gate>>>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Gate {
    last_end: Option<Instant>,
}

/// The right to send one request to an address. Dropping it starts the pause, so it must be dropped at the end of the
/// response.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: OwnedMutexGuard<Gate>,
    used: bool,
}

impl Permit {
    /// Returns the permit without starting a pause, because no request was sent.
    pub(crate) fn give_back(mut self) {
        self.used = false;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.used {
            self.gate.last_end = Some(Instant::now());
        }
    }
}

impl AddressGates {
    /// `resumed`: the collection was crawled before, so every address is treated as if it had just responded.
    pub(crate) fn new(pause: Duration, resumed: bool) -> Self {
        Self {
            pause,
            assumed_end: resumed.then(Instant::now),
            table: Mutex::new(Table {
                by_address: HashMap::new(),
                sweep_at: MIN_SWEEP,
            }),
        }
    }

    /// Waits for the permit of an address. Returns `None` at once if the configured pause is 0. Cancelling the wait
    /// gives up the position in the queue.
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<Permit> {
        if self.pause.is_zero() {
            return None;
        }
        // An IPv4-mapped IPv6 address leads to the same server as the IPv4 address.
        let gate = self.gate(address.to_canonical()).lock_owned().await;
        if let Some(end) = gate.last_end.or(self.assumed_end) {
            tokio::time::sleep_until(end + self.pause).await;
        }
        Some(Permit { gate, used: true })
    }

    fn gate(&self, address: IpAddr) -> Arc<tokio::sync::Mutex<Gate>> {
        let mut table = self
            .table
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if table.by_address.len() >= table.sweep_at {
            let pause = self.pause;
            table.by_address.retain(|_, gate| {
                // Keep gates that are held or awaited, or whose pause is not over.
                Arc::strong_count(gate) > 1
                    || gate.try_lock().map_or(true, |gate| {
                        gate.last_end.is_some_and(|end| end.elapsed() < pause)
                    })
            });
            table.sweep_at = (table.by_address.len() * 2).max(MIN_SWEEP);
        }
        Arc::clone(
            table
                .by_address
                .entry(address)
                .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(Gate { last_end: None }))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

    #[tokio::test(start_paused = true)]
    async fn the_pause_starts_at_the_end_of_the_response() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        let begin = Instant::now();
        let permit = gates.enter(ADDRESS).await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(permit);
        let _permit = gates.enter(ADDRESS).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ipv4_mapped_address_has_the_gate_of_its_ipv4_address() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        let begin = Instant::now();
        drop(gates.enter(ADDRESS).await);
        let mapped = "::ffff:127.0.0.9".parse().unwrap();
        let _permit = gates.enter(mapped).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_resumed_crawl_pauses_before_its_first_request() {
        let gates = AddressGates::new(Duration::from_secs(2), true);
        let begin = Instant::now();
        let _permit = gates.enter(ADDRESS).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn permits_are_issued_in_order_of_arrival() {
        let gates = Arc::new(AddressGates::new(Duration::from_secs(1), false));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (gates, order) = (Arc::clone(&gates), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _permit = gates.enter(ADDRESS).await;
                order.lock().unwrap().push((number, Instant::now()));
            }));
            tokio::task::yield_now().await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap();
        assert!(
            order.windows(2).all(
                |pair| pair[0].0 < pair[1].0 && pair[1].1 - pair[0].1 >= Duration::from_secs(1)
            )
        );
    }

    #[tokio::test(start_paused = true)]
    async fn only_idle_addresses_are_removed() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        for number in 0..MIN_SWEEP as u32 {
            gates.enter(IpAddr::from(number.to_be_bytes())).await;
        }
        let _held = gates.enter(ADDRESS).await;
        tokio::time::advance(Duration::from_secs(3)).await;
        gates.table.lock().unwrap().sweep_at = 0;
        gates.enter(IpAddr::from([1, 2, 3, 4])).await;
        assert_eq!(gates.table.lock().unwrap().by_address.len(), 2);
    }
}
