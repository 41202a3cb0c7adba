//! The look-ups in flight. Concurrent look-ups of one name share one query.
//!
//! The first task to look up a name sends the query. If that task is cancelled, another waiting task sends it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::OnceCell;

use super::resolver::{ResolveResult, lock};

/// The look-ups in flight, by name.
#[derive(Default)]
pub(super) struct InFlightLookups(Mutex<HashMap<Box<str>, Arc<OnceCell<ResolveResult>>>>);

/// One task's participation in the look-up of a name. When the last one is dropped, the name is removed from the map.
pub(super) struct InFlightLookup {
    lookups: Arc<InFlightLookups>,
    name: Box<str>,
    pub(super) cell: Arc<OnceCell<ResolveResult>>,
}

impl InFlightLookup {
    /// Joins the look-up of a name, or starts one.
    pub(super) fn join(lookups: &Arc<InFlightLookups>, name: &str) -> InFlightLookup {
        let mut map = lock(&lookups.0);
        let cell = match map.get(name) {
            Some(cell) => cell.clone(),
            None => map.entry(name.into()).or_default().clone(),
        };
        InFlightLookup::new(lookups, name, cell)
    }

    /// Starts the look-up of a name, unless it is in flight.
    pub(super) fn begin(lookups: &Arc<InFlightLookups>, name: &str) -> Option<InFlightLookup> {
        let mut map = lock(&lookups.0);
        if map.contains_key(name) {
            return None;
        }
        let cell = map.entry(name.into()).or_default().clone();
        Some(InFlightLookup::new(lookups, name, cell))
    }

    fn new(
        lookups: &Arc<InFlightLookups>,
        name: &str,
        cell: Arc<OnceCell<ResolveResult>>,
    ) -> InFlightLookup {
        InFlightLookup {
            lookups: lookups.clone(),
            name: name.into(),
            cell,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl InFlightLookups {
    pub(super) fn contains(&self, name: &str) -> bool {
        lock(&self.0).contains_key(name)
    }
}

impl Drop for InFlightLookup {
    fn drop(&mut self) {
        let mut map = lock(&self.lookups.0);
        // Two references are the map's and ours. References are added and dropped only under this lock, so that exactly
        // one of two tasks that leave at the same time is the last.
        let cell = std::mem::take(&mut self.cell);
        if Arc::strong_count(&cell) <= 2 {
            map.remove(&self.name);
        }
        drop(cell);
    }
}
