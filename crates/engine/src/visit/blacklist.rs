//! Checks the black list during a visit. A site that the black list names is blocked, together with its pages.

use aranha_frontier::Blocked;

use super::{Ending, Visit};
use crate::status::notice::Notice;

impl Visit {
    /// Blocks the site if the black list has changed and now names the site.
    pub(super) fn check_blacklist(&mut self) {
        let generation = self.context.scope.blacklist.generation();
        if generation == self.site.blacklist_generation {
            return;
        }
        self.site.blacklist_generation = generation;
        if let Some(entry) = self.context.blocking_entry(&self.site.facts().origin) {
            self.block_by_user(&entry);
        }
    }

    pub(super) fn block_by_user(&mut self, entry: &str) {
        if !self.site.is_blocked() {
            self.context.reports.notices.send(Notice::SiteBlocked {
                site: self.site.name().to_owned(),
                entry: entry.to_owned(),
            });
        }
        self.site.block(Blocked::by_user(entry));
        self.ending.get_or_insert(Ending::Block);
    }
}
