//! `selective`: the groups of pages of a site, and the decisions about its pages (I2, X6; Bouras 3.3).
//!
//! A page belongs to the group of the page on which it was first found, its *head*. This is the tree of links that Bouras
//! 3.3 describes. Links of a head to pages that were found elsewhere are not counted. Only the keys of heads are stored,
//! each with a [`GroupHistory`], at most [`MAX_HEADS`] for a site. Pages of further heads belong to the group of the whole
//! site.
//!
//! The engine calls [`Schedule::judge`] for each page that is due and [`Schedule::observe`] for each page visited, and
//! applies the returned [`SiteUpdate`] to the site's history.

use serde::{Deserialize, Serialize};

use crate::{
    GroupHistory, History, Pace, PageState, Policy, Schedule, SelectiveGroups, selective::Follow,
};

/// Maximum number of heads that are stored for a site. A head takes 40 bytes in memory and about 31 in the frontier.
const MAX_HEADS: usize = 512;
/// A head may be replaced by another one if its group had no round for more than this many rounds.
const STALE_ROUNDS: u32 = 64;

/// Stored state of one site between rounds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteHistory {
    /// All pages of the site except its entry pages.
    pub inner: GroupHistory,
    /// The groups by the page that links to them; empty unless `revisit.selective` is `all_pages` or `descend`.
    pub heads: Heads,
}

/// The heads of a site with the history of their groups, in order of key.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Heads(Vec<(u64, GroupHistory)>);

/// The place of a page in its site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagePlace {
    /// Key of the page.
    pub key: u64,
    /// Key of the page on which it was first found; `None` for an entry page of the site.
    pub head: Option<u64>,
}

/// The changes that one page makes to a [`SiteHistory`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteUpdate {
    /// The new history of the group of all inner pages.
    pub inner: GroupHistory,
    /// The group of the page's head.
    of_head: Option<(u64, GroupHistory)>,
    /// The group of which the page is the head.
    own: Option<(u64, GroupHistory)>,
    /// See [`SiteUpdate::share`].
    share: Option<f32>,
}

impl SiteUpdate {
    /// Of the pages below this page, the share that changes from one round to the next. The pages below a page are
    /// those first found on it. With `revisit.selective = "entry_pages"`, the pages below an entry page are all inner
    /// pages. `None` if the share is unknown.
    pub fn share(&self) -> Option<f32> {
        self.share
    }
}

impl SiteHistory {
    /// Applies the changes by one page. Returns false if they change nothing.
    pub fn apply(&mut self, update: SiteUpdate) -> bool {
        let mut changed = self.inner != update.inner;
        self.inner = update.inner;
        for (key, group) in update.of_head.into_iter().chain(update.own) {
            changed |= self.heads.set(key, group);
        }
        changed
    }
}

impl Heads {
    /// Number of heads.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no heads.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, key: u64) -> Option<&GroupHistory> {
        let found = self.0.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|index| &self.0[index].1)
    }

    /// The group of a head: a new one if the head is unknown and there is room for it.
    fn get_or_new(&self, key: u64, round: u32) -> Option<GroupHistory> {
        let has_room = || self.0.len() < MAX_HEADS || self.stale(round).is_some();
        match self.get(key) {
            Some(group) => Some(group.clone()),
            None => has_room().then(GroupHistory::default),
        }
    }

    /// The position of the head whose group has waited longest for a round, if this head may be replaced.
    fn stale(&self, round: u32) -> Option<usize> {
        let rounds = self.0.iter().map(|(_, group)| group.current_round());
        let (index, oldest) = rounds.enumerate().min_by_key(|(_, round)| *round)?;
        (oldest.saturating_add(STALE_ROUNDS) < round).then_some(index)
    }

    /// Stores the group of a head. Returns false if the same group was stored already.
    fn set(&mut self, key: u64, group: GroupHistory) -> bool {
        match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(index) if self.0[index].1 == group => return false,
            Ok(index) => self.0[index].1 = group,
            Err(_) => {
                if self.0.len() >= MAX_HEADS
                    && let Some(index) = self.stale(group.current_round())
                {
                    self.0.remove(index);
                }
                let index = self.0.partition_point(|(other, _)| *other < key);
                self.0.insert(index, (key, group));
            }
        }
        true
    }
}

impl Schedule {
    /// `selective`: decides whether a page that is due is visited in this round, and begins the round of its groups.
    /// With the other policies the page is always visited. If false, the page is due again at
    /// [`Schedule::in_next_round`].
    pub fn judge(
        &self,
        site: &SiteHistory,
        page: PagePlace,
        history: &History,
        pace: Pace,
        at: i64,
    ) -> (bool, SiteUpdate) {
        let mut update = self.begin(site, page, None, at);
        if page.head.is_none() || self.policy() != Policy::Selective {
            return (true, update);
        }
        // If no entry page was due, the round begins with this page.
        update.inner.open(self.round(at), None, self.follow());
        let group = update.of_head.as_ref().map(|(_, group)| group);
        let visited = match self.groups() {
            SelectiveGroups::EntryPages => update.inner.visits(page.key),
            SelectiveGroups::AllPages => {
                let own = update.own.as_ref();
                group.unwrap_or(&update.inner).visits(page.key)
                    || own.is_some_and(|(_, group)| group.descending())
            }
            SelectiveGroups::Descend => {
                self.is_turn(history, pace, at) || group.is_some_and(GroupHistory::descending)
            }
        };
        (visited || self.is_overdue(history, pace, at), update)
    }

    /// `selective`: adds a visit of a page to the histories of its groups. The other policies use
    /// [`Schedule::count_visit`].
    pub fn observe(
        &self,
        site: &SiteHistory,
        page: PagePlace,
        seen: PageState,
        at: i64,
    ) -> SiteUpdate {
        let round = self.round(at);
        let mut update = self.begin(site, page, Some(seen), at);
        if page.head.is_none() {
            update.inner.open(round, Some(seen), self.follow());
        } else {
            update.inner.count_page(seen);
        }
        if let Some((_, group)) = &mut update.of_head {
            group.count_page(seen);
        }
        update.share = match (&update.own, self.groups()) {
            (Some((_, own)), _) => own.share(),
            (None, SelectiveGroups::EntryPages) if page.head.is_none() => update.inner.share(),
            (None, _) => None,
        };
        update
    }

    /// Begins the round of the groups of a page, whose state is `seen` if it was visited.
    fn begin(
        &self,
        site: &SiteHistory,
        page: PagePlace,
        seen: Option<PageState>,
        at: i64,
    ) -> SiteUpdate {
        let (round, follow) = (self.round(at), self.follow());
        let mut update = SiteUpdate {
            inner: site.inner.clone(),
            ..SiteUpdate::default()
        };
        if self.groups() == SelectiveGroups::EntryPages {
            return update;
        }
        if let Some(own) = site.heads.get(page.key) {
            let mut own = own.clone();
            own.open(round, seen, follow);
            update.own = Some((page.key, own));
        }
        // A page that links to itself is not in its own group.
        let head = page.head.filter(|head| *head != page.key);
        if let Some(head) = head
            && let Some(mut group) = site.heads.get_or_new(head, round)
        {
            group.open(round, None, follow);
            update.of_head = Some((head, group));
        }
        update
    }

    fn follow(&self) -> Follow {
        match self.groups() {
            SelectiveGroups::Descend => Follow::Unchanged,
            _ => Follow::Changed(self.min_changed_share()),
        }
    }
}

#[cfg(test)]
mod tests;
