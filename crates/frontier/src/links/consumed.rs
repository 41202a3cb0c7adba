//! For a merge of link runs: reads, for each site, the number of the newest link run that the site has consumed
//! (`embedded/link_runs.rs`). The sites are read in order of their keys.

use std::collections::VecDeque;

use crate::store_error::StoreError;

/// Reads the newest consumed link run of each site, many sites at a time.
#[derive(Debug, Default)]
pub(crate) struct Consumed {
    /// The sites of the last query that the caller has not reached yet, each with the newest link run that it has
    /// consumed.
    sites: VecDeque<(i64, i64)>,
    /// The last site of the last query.
    last: Option<i64>,
}

impl Consumed {
    /// The newest link run that the site has consumed; 0 for an unknown site. The caller must ask for sites in
    /// ascending order of their keys. `read` returns the next sites, in order of their keys, from a given key on.
    pub(crate) fn of(
        &mut self,
        site: i64,
        read: impl FnOnce(i64) -> Result<Vec<(i64, i64)>, StoreError>,
    ) -> Result<i64, StoreError> {
        if self.last.is_none_or(|last| last < site) {
            self.sites = read(site)?.into();
            self.last = Some(self.sites.back().map_or(i64::MAX, |(key, _)| *key));
        }
        while self.sites.front().is_some_and(|(key, _)| *key < site) {
            self.sites.pop_front();
        }
        let found = self.sites.front().filter(|(key, _)| *key == site);
        Ok(found.map_or(0, |(_, consumed)| *consumed))
    }
}
