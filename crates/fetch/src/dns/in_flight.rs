//! The look-ups in flight. Concurrent look-ups of the same name share one query.
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

/// A task's handle to the look-up of a name. When the last handle is dropped, the name is removed from the map.
pub(super) struct InFlightLookup {
    lookups: Arc<InFlightLookups>,
    name: Box<str>,
    pub(super) cell: Arc<OnceCell<ResolveResult>>,
}

impl InFlightLookup {
    /// Joins the look-up of a name that is in flight, or starts one.
    pub(super) fn join(lookups: &Arc<InFlightLookups>, name: &str) -> InFlightLookup {
        let mut map = lock(&lookups.0);
        let cell = match map.get(name) {
            Some(cell) => cell.clone(),
            None => map.entry(name.into()).or_default().clone(),
        };
        InFlightLookup::new(lookups, name, cell)
    }

    /// Starts the look-up of a name. `None` if it is already in flight.
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
        // The map and this handle each have a reference to the cell. More than two references mean that another task
        // waits. References are added and dropped only under this lock, so of two concurrent drops exactly one is last.
        let cell = std::mem::take(&mut self.cell);
        if Arc::strong_count(&cell) <= 2 {
            map.remove(&self.name);
        }
        drop(cell);
    }
}
