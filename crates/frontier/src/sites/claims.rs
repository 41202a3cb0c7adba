//! Claims from outside that pages have changed or are new (I5).

use std::collections::HashSet;

use super::core::Core;
use super::tables::{Inbox as _, Tables};
use crate::store_error::StoreError;
use crate::{Claim, Claimed, Outside, SiteFacts};

impl<T: Tables> Core<T> {
    pub(crate) fn apply_claims(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, StoreError> {
        let mut claimed = Claimed::default();
        // Claims are grouped by site, so that the keys and waiting pages of a site are read once.
        let mut order: Vec<&(Outside, Claim)> = claims.iter().collect();
        order.sort_by_key(|(link, _)| link.site_key.0 as i64);
        for group in order.chunk_by(|a, b| a.0.site_key == b.0.site_key) {
            let mut known = HashSet::new();
            if let Some(before) = self.store.tables.site(group[0].0.site_key.0 as i64)? {
                known.extend(self.store.keys_read(&before)?);
                let facts = self.store.facts_read(&before)?;
                let weighed: Vec<Claim> = group
                    .iter()
                    .map(|(_, claim)| Claim {
                        weight: weigh(&facts, claim.source),
                        ..*claim
                    })
                    .collect();
                let mut site = before.clone();
                claimed.brought_forward +=
                    self.store
                        .later_claim(&mut site, &weighed, now, true, &mut self.block)?;
                site.schedule(now, self.store.horizon);
                self.save(&before, &site)?;
            }
            for (link, _) in group {
                if known.insert(link.path_key) {
                    self.inbox.send_unfiltered(link);
                    claimed.new += 1;
                }
            }
        }
        Ok(claimed)
    }
}
