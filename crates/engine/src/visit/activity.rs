//! The activity of a visit, which the watchdog reads (`node/watchdog.rs`).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counters that the visit, its collectors and the watchdog share: the steps of the visit, and its current waits for
/// something outside the visit.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// The node that holds the lease of the visit ([`aranha_frontier::Lease::node`]).
    node: u64,
    steps: AtomicU32,
    waits: AtomicU32,
}

impl Activity {
    pub(crate) fn new(node: u64) -> Self {
        Self {
            node,
            ..Self::default()
        }
    }

    pub(crate) fn node(&self) -> u64 {
        self.node
    }

    /// Counts a step, which is the start or the end of a fetch.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    /// The number of steps so far, modulo 2^32.
    pub(crate) fn steps(&self) -> u32 {
        self.steps.load(Relaxed)
    }

    /// Begins a wait for something outside the visit: DNS, the gate of an address, the load limit. The end of the wait
    /// counts as a step.
    pub(crate) fn wait(&self) -> Wait<'_> {
        self.waits.fetch_add(1, Relaxed);
        Wait(self)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waits.load(Relaxed) > 0
    }
}

/// A wait, which ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Wait<'a>(&'a Activity);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Relaxed);
        self.0.step();
    }
}
