//! What the nodes of a crawl in memory share beside sites and pages.

use std::sync::Arc;

use super::{MemoryNode, PLACE};
use crate::FrontierError;
use crate::shared::{News, NodeReport, SharedCrawl, SharedText};
use crate::sites::tables::Tables as _;

/// Name of the horizon among the values.
const HORIZON: &str = "horizon";

impl MemoryNode {
    /// Use the horizon that a crawl has set, if there is one.
    pub(super) fn adopt_horizon(&mut self) {
        if let Ok(Some(horizon)) = self.core.store.tables.value(HORIZON) {
            self.core.store.horizon = horizon;
            self.horizon_changed = false;
        }
    }
}

impl SharedCrawl for MemoryNode {
    /// The archive of a simulation has no folder.
    fn folder(&self) -> u32 {
        0
    }

    fn report(&self) -> Arc<NodeReport> {
        Arc::clone(&self.report)
    }

    fn news(&mut self) -> Result<News, FrontierError> {
        self.link
            .check()
            .map_err(|error| error.at(PLACE.as_ref()))?;
        let tables = &self.core.store.tables;
        let database = tables.lock();
        let node = database.nodes.get(&tables.node());
        Ok(News {
            is_draining: node.is_some_and(|node| node.is_draining),
            texts: database
                .texts
                .values()
                .map(|text| text.version)
                .max()
                .unwrap_or(0),
            seeds: database.seeds.len() as i64,
            horizon: database.value(HORIZON),
        })
    }

    fn set_horizon(&mut self, now: i64, horizon: i64) -> Result<(), FrontierError> {
        self.transact(now, |node| {
            node.core.store.tables.set_value(HORIZON, Some(horizon))?;
            node.core.store.horizon = horizon;
            node.reschedule(now)
        })
    }

    fn follow_horizon(&mut self, horizon: i64) {
        self.core.store.horizon = horizon;
        self.horizon_changed = false;
    }

    fn seeds_after(&mut self, after: i64) -> Result<(i64, Vec<String>), FrontierError> {
        let seeds = self.core.store.tables.lock().seeds.clone();
        let last = seeds.len() as i64;
        Ok((
            last,
            seeds.into_iter().skip(after.max(0) as usize).collect(),
        ))
    }

    fn text(&mut self, name: &str) -> Result<Option<SharedText>, FrontierError> {
        Ok(self.core.store.tables.lock().texts.get(name).cloned())
    }

    fn change_text(
        &mut self,
        name: &str,
        change: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<SharedText, FrontierError> {
        self.transact(self.last_now, |node| {
            let mut database = node.core.store.tables.lock();
            let newest = database.texts.values().map(|text| text.version).max();
            let before = database.texts.get(name).cloned().unwrap_or(SharedText {
                version: 0,
                text: String::new(),
            });
            let Some(text) = change(&before.text) else {
                return Ok(before);
            };
            let after = SharedText {
                version: newest.unwrap_or(0) + 1,
                text,
            };
            database.texts.insert(name.to_owned(), after.clone());
            Ok(after)
        })
    }
}
