//! The scope of the crawl, shared by all visits: which URLs are wanted, and which the black list blocks.
//!
//! Visits check the scope before they admit a link and before they fetch a page. **The scope changes only here**: by
//! redirects of seeds, by traps, by the black list, and by seeds that the user adds while the crawl runs.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use aranha_fetch::Fetcher;
use aranha_frontier::{Hop, Outcome, Pending, Seed};
use aranha_url::{BlacklistError, CanonUrl, Judgement, PageKey, Scope, ScopeRule};

use crate::blocking::blacklist_watch::{BlacklistWatch, BlacklistWatchError};
use crate::links::link_depth;

/// Maximum link depth at which the target of a seed's redirects becomes a seed: after five redirects, because the first one
/// does not add to the depth.
const MAX_SEED_DEPTH: u16 = 4;

/// The scope, and the black list file whose entries are added to it.
#[derive(Debug)]
pub(crate) struct SharedScope {
    scope: RwLock<Scope>,
    pub(crate) blacklist: BlacklistWatch,
}

/// Judges a URL by the kind of link that leads to it. With `page.assets`, a file that a page loads is wanted even if it
/// is out of scope.
pub(crate) fn judge_hop<'a>(
    scope: &'a Scope,
    url: &'a CanonUrl,
    key: PageKey,
    depth: u16,
    hop: Hop,
) -> Judgement<'a> {
    if hop.embeds() > 0 {
        scope.judge_requisite(url, key, depth)
    } else {
        scope.judge_page(url, key, depth)
    }
}

impl SharedScope {
    pub(crate) fn new(scope: Scope, blacklist: BlacklistWatch) -> Self {
        Self {
            scope: RwLock::new(scope),
            blacklist,
        }
    }

    /// Locks the scope for several checks, such as all links of a page.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Scope> {
        self.scope.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Scope> {
        self.scope.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a link to `url` is followed. `depth`: link depth of its target.
    pub(crate) fn wants(&self, url: &CanonUrl, depth: u16) -> bool {
        self.read().judge(url, depth).inside
    }

    /// Checks a page before its fetch. The scope may have changed since its link was found.
    pub(crate) fn check_page(&self, url: &CanonUrl, page: &Pending) -> Result<(), Outcome> {
        let scope = self.read();
        let judgement = judge_hop(&scope, url, url.key(), page.depth, page.hop);
        match judgement.rule {
            _ if judgement.inside => Ok(()),
            ScopeRule::Blacklist(_) => Err(Outcome::Blocked),
            _ => Err(Outcome::OutOfScope),
        }
    }

    /// Decides whether a redirect of the page `from` is followed. Returns the hop of `target` (`None` if the redirect
    /// is not followed) and the seed that the redirect adds, if any. If a seed redirects out of scope, also by several
    /// redirects, the target becomes a seed, because the user may know only the old address of a site. `is_seed`:
    /// `from` is a seed, or a seed redirects to it. If `from` is a requisite (a file that a page loads), `target` is
    /// also a requisite.
    pub(crate) fn wants_redirect(
        &self,
        target: &CanonUrl,
        from: &Pending,
        is_seed: bool,
    ) -> (Option<Hop>, Option<Seed>) {
        let requisite = self.requisite_redirect(target, from);
        if requisite.is_some() {
            return (requisite, None);
        }
        let depth = link_depth(from, Hop::Redirect);
        let inside = self.wants(target, depth);
        if inside || !is_seed || depth > MAX_SEED_DEPTH {
            return (inside.then_some(Hop::Redirect), None);
        }
        let mut scope = self.write();
        scope.add_seed(target);
        let inside = scope.judge(target, depth).inside;
        (
            inside.then_some(Hop::Redirect),
            inside.then(|| Seed::of(target)),
        )
    }

    /// The hop of `target` if the requisite `from` redirects to it. `None` if `from` is not a requisite, or if `target`
    /// is not wanted as a requisite.
    fn requisite_redirect(&self, target: &CanonUrl, from: &Pending) -> Option<Hop> {
        let hop = from.hop.embed_redirect()?;
        let scope = self.read();
        let depth = link_depth(from, hop);
        let is_wanted =
            scope.takes_requisites() && scope.judge_requisite(target, target.key(), depth).inside;
        is_wanted.then_some(hop)
    }

    /// Adds a seed while the crawl runs.
    pub(crate) fn add_seed(&self, url: &CanonUrl) -> Seed {
        self.write().add_seed(url);
        Seed::of(url)
    }

    /// Whether the black list names this URL, its domain, or the IP address that is its host.
    pub(crate) fn is_blocked(&self, url: &CanonUrl) -> bool {
        self.read().is_blocked(url)
    }

    /// Whether the black list names the whole site of this URL.
    pub(crate) fn blocks_site_of(&self, url: &CanonUrl) -> bool {
        self.read().blocking_entry(url).is_some()
    }

    /// The entry of the black list that names the whole site of this URL.
    pub(crate) fn blocking_entry(&self, url: &CanonUrl) -> Option<String> {
        self.read().blocking_entry(url).map(str::to_owned)
    }

    /// Adds black list entries while the crawl runs.
    pub(crate) fn block(&self, entries: &str) -> Result<(), BlacklistError> {
        let mut scope = self.write();
        scope.block(entries)?;
        // The scope is still locked here. So a visit that sees the new entries also sees the new generation.
        self.blacklist.raise_generation();
        Ok(())
    }

    /// Called after entries were removed from the collection's black list. Adds the remaining entries to `scope`, which
    /// becomes the scope of the crawl.
    pub(crate) fn replace(&self, mut scope: Scope) -> Result<(), BlacklistWatchError> {
        let entries = self.blacklist.read()?;
        let added = scope.block(&entries);
        added.map_err(|error| self.blacklist.entry_error(error))?;
        let mut present = self.write();
        *present = scope;
        self.blacklist.raise_generation();
        Ok(())
    }

    /// Reads the collection's black list if it has changed, and adds its entries to the scope and to the fetcher's
    /// address guard. Returns true if the file was read.
    pub(crate) fn reload_blacklist(&self, fetcher: &Fetcher) -> Result<bool, BlacklistWatchError> {
        let Some(entries) = self.blacklist.read_if_changed()? else {
            return Ok(false);
        };
        let mut scope = self.write();
        scope
            .block(&entries)
            .and_then(|()| fetcher.extend_blacklist(&entries))
            .map_err(|error| self.blacklist.entry_error(error))?;
        self.blacklist.raise_generation();
        Ok(true)
    }
}
