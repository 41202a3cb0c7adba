//! Counts of the links that are not followed, by reason (F13; `CoBWeb` 3).

use aranha_url::{Rejected, ScopeRule};

use crate::status::tally::{LiveCounters, add};

/// Counts of the links of one page that are not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RejectedLinks {
    pub(super) nofollow: u32,
    pub(super) out_of_scope: u32,
    pub(super) too_deep: u32,
    pub(super) filtered: u32,
    pub(super) blacklisted: u32,
    pub(super) other_scheme: u32,
    pub(super) growing: u32,
    pub(super) malformed: u32,
}

impl RejectedLinks {
    /// Counts a link that is rejected because it cannot be made a canonical URL.
    pub(super) fn add_rejected(&mut self, reason: &Rejected) {
        *match reason {
            Rejected::Scheme(_) => &mut self.other_scheme,
            Rejected::TooLong { .. }
            | Rejected::Repeats { .. }
            | Rejected::TooManySlashes { .. } => &mut self.growing,
            _ => &mut self.malformed,
        } += 1;
    }

    /// Counts a link that this rule of the scope excludes.
    pub(super) fn add_outside(&mut self, rule: &ScopeRule<'_>) {
        *match rule {
            ScopeRule::Blacklist(_) => &mut self.blacklisted,
            ScopeRule::Depth { .. } | ScopeRule::SiteDepth { .. } => &mut self.too_deep,
            ScopeRule::Reject(_) | ScopeRule::Filter(_) => &mut self.filtered,
            _ => &mut self.out_of_scope,
        } += 1;
    }

    /// Adds the counts to the counters of the crawl.
    pub(super) fn add_to(&self, counters: &LiveCounters) {
        for (count, counter) in [
            (self.nofollow, &counters.links_nofollow),
            (self.out_of_scope, &counters.links_out_of_scope),
            (self.too_deep, &counters.links_too_deep),
            (self.filtered, &counters.links_filtered),
            (self.blacklisted, &counters.links_blacklisted),
            (self.other_scheme, &counters.links_other_scheme),
            (self.growing, &counters.links_growing),
            (self.malformed, &counters.links_malformed),
        ] {
            if count > 0 {
                add(counter, u64::from(count));
            }
        }
    }
}
