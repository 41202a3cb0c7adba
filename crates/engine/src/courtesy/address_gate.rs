//! Courtesy per address (F8): one request at a time to one server, and a pause after it.
//!
//! A visit keeps its own site's pause by itself, because it is the only one that asks that
//! site. Many sites can share one address, so before each request a visit takes the address's
//! [`Permit`]; it is handed on in the order of arrival, the longest wait first (F7), and not
//! before the pause has passed since the end of the last answer.
//!
//! **Invariant 2** rests here: the permit is held until the answer has ended, and dropping it,
//! for whatever reason, starts the pause. Only who has sent nothing may give it back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// Addresses held in memory before the idle ones are forgotten.
const SWEEP_AT: usize = 4096;

/// The gate of every address this process has asked.
#[derive(Debug)]
pub(crate) struct AddressGates {
    pause: Duration,
    /// The end of the last answer assumed for an address not seen before: the start of the
    /// process when it continues an earlier one, whose last requests nobody wrote down.
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

/// The right to send one request to an address. Its drop is the end of the answer.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: OwnedMutexGuard<Gate>,
    used: bool,
}

impl Permit {
    /// Nothing was sent: whoever is next need not wait.
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
    /// `resumed` says that an earlier process worked on this collection: every address then
    /// counts as answered just now.
    pub(crate) fn new(pause: Duration, resumed: bool) -> Self {
        Self {
            pause,
            assumed_end: resumed.then(Instant::now),
            table: Mutex::new(Table {
                by_address: HashMap::new(),
                sweep_at: SWEEP_AT,
            }),
        }
    }

    /// Waits for the address; at once, and without a permit, where no pause is asked for.
    /// May be cancelled: the place in the queue is given up.
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<Permit> {
        if self.pause.is_zero() {
            return None;
        }
        // An IPv4 address written as IPv6 leads to the same server.
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
                // Held or awaited, or its pause still runs: it must be remembered.
                Arc::strong_count(gate) > 1
                    || gate.try_lock().map_or(true, |gate| {
                        gate.last_end.is_some_and(|end| end.elapsed() < pause)
                    })
            });
            table.sweep_at = (table.by_address.len() * 2).max(SWEEP_AT);
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
    async fn the_pause_counts_from_the_end_of_the_answer() {
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
    async fn one_server_has_one_gate_however_its_address_is_written() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        let begin = Instant::now();
        drop(gates.enter(ADDRESS).await);
        let mapped = "::ffff:127.0.0.9".parse().unwrap();
        let _permit = gates.enter(mapped).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_resumed_crawl_waits_first() {
        let gates = AddressGates::new(Duration::from_secs(2), true);
        let begin = Instant::now();
        let _permit = gates.enter(ADDRESS).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_are_served_in_order() {
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
    async fn idle_addresses_are_forgotten_and_busy_ones_are_not() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        for number in 0..SWEEP_AT as u32 {
            gates.enter(IpAddr::from(number.to_be_bytes())).await;
        }
        let _held = gates.enter(ADDRESS).await;
        tokio::time::advance(Duration::from_secs(3)).await;
        gates.table.lock().unwrap().sweep_at = 0;
        gates.enter(IpAddr::from([1, 2, 3, 4])).await;
        assert_eq!(gates.table.lock().unwrap().by_address.len(), 2);
    }
}
