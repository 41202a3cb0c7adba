//! What all visits of a node share: the web, the archive, the scope, the limits; and what is decided for all of them at
//! once.
//!
//! **The scope is changed only here**, under its lock: by redirects of seeds, by traps, by the user's black list, and by
//! what the user wants now.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use aranha_fetch::Fetcher;
use aranha_frontier::{Hop, Pending, Seed};
use aranha_revisit::Schedule;
use aranha_url::{CanonUrl, Canonicaliser, Scope};
use aranha_volume::{Archive, VolumeError};
use tokio::time::Instant;

use crate::blocking::blacklist_watch::{BlacklistWatch, BlacklistWatchError};
use crate::clock::Clock;
use crate::collect::deeper;
use crate::commit::Submissions;
use crate::config::Config;
use crate::courtesy::address_gate::AddressGates;
use crate::limits::load::LoadManager;
use crate::limits::page_budget::PageBudget;
use crate::limits::rate::RateLimit;
use crate::links::link_cache::Repeats;
use crate::node::stop::{Reason, Stop};
use crate::status::notice::{Notice, Notices};
use crate::status::tally::{LiveCounters, add};
use crate::traps::site_share::Dominance;
use crate::traps::wildcard_domains::{self, Domains};

/// What all visits share.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) web: Fetcher,
    pub(crate) archive: Archive,
    pub(crate) canon: Canonicaliser,
    /// For redirects to a page's own key: they are asked for as the server wrote them.
    pub(crate) literal: Canonicaliser,
    pub(crate) scope: RwLock<Scope>,
    pub(crate) gates: AddressGates,
    pub(crate) schedule: Schedule,
    pub(crate) signals: PathBuf,
    pub(super) census: PathBuf,
    pub(crate) rate: RateLimit,
    pub(crate) load: Arc<LoadManager>,
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) counters: Arc<LiveCounters>,
    pub(crate) submissions: Submissions,
    pub(crate) budget: PageBudget,
    pub(crate) domains: Domains,
    pub(crate) repeats: Repeats,
    pub(crate) dominance: Dominance,
    pub(crate) blacklist: BlacklistWatch,
    pub(crate) notices: Notices,
    /// The name robots.txt files know us by.
    pub(crate) product: String,
    /// When this process began, if an earlier one worked on the collection.
    pub(crate) resumed: Option<Instant>,
    pub(super) others_wait: AtomicBool,
}

impl Context {
    /// Whether sites are waiting for a slot.
    pub(crate) fn others_wait(&self) -> bool {
        self.others_wait.load(Relaxed)
    }

    /// The archive cannot take any more: ask everybody to stop.
    pub(crate) fn give_up(&self, error: &VolumeError) {
        self.stop.ask(reason_of(error));
    }

    /// Whether a redirect is followed. Where a seed leads is wanted like the seed, and becomes one: a user
    /// who asks for a site under its old name means the new one.
    pub(crate) fn wants_redirect(&self, target: &CanonUrl, from: &Pending) -> (bool, Option<Seed>) {
        let depth = deeper(from, Hop::Redirect);
        let inside = {
            let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
            scope.judge(target, depth).inside
        };
        if inside || from.hop != Hop::Seed {
            return (inside, None);
        }
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope.add_seed(target);
        let inside = scope.judge(target, depth).inside;
        (inside, inside.then(|| Seed::of(target)))
    }

    /// Whether a link found at this depth is followed.
    pub(crate) fn wants(&self, url: &CanonUrl, depth: u16) -> bool {
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        scope.judge(url, depth).inside
    }

    /// Whether the black list names this URL, its site, or the address it is written with.
    pub(crate) fn is_blocked(&self, url: &CanonUrl) -> bool {
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        scope.is_blocked(url)
    }

    /// Whether the black list names the whole site of this URL.
    pub(crate) fn blocks_site_of(&self, url: &CanonUrl) -> bool {
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        scope.blocking_entry(url).is_some()
    }

    /// The entry of the black list that names a whole site, if there is one.
    pub(crate) fn blocking_entry(&self, origin: &str) -> Option<String> {
        let url = self.canon.rebuild(origin, "/").ok()?;
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        scope.blocking_entry(&url).map(str::to_owned)
    }

    /// A place to begin, from now on.
    pub(crate) fn add_seed(&self, url: &CanonUrl) -> Seed {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope.add_seed(url);
        Seed::of(url)
    }

    /// All hosts below this one's domain prove to be one trap.
    pub(crate) fn block_domain(&self, host: &str, reason: &str) {
        let Some(domain) = wildcard_domains::above(host) else {
            return;
        };
        let entry = format!("*.{domain}");
        {
            let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
            if scope.block(&entry).is_err() {
                return;
            }
            self.blacklist.move_on();
        }
        if let Err(error) = self.blacklist.add(&entry, reason) {
            let problem = error.to_string();
            self.notices.send(Notice::BlacklistError { problem });
        }
        add(&self.counters.traps, 1);
        let reason = reason.to_owned();
        self.notices.send(Notice::DomainTrap { entry, reason });
    }

    /// Reads the collection's black list when it has changed. True: there were new lines.
    pub(super) fn read_black_list(&self) -> Result<bool, BlacklistWatchError> {
        let Some(lines) = self.blacklist.news()? else {
            return Ok(false);
        };
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope
            .block(&lines)
            .and_then(|()| self.web.extend_blacklist(&lines))
            .map_err(|error| self.blacklist.entry_error(error))?;
        self.blacklist.move_on();
        Ok(true)
    }

    /// Counts towards the page limit.
    pub(crate) fn page_answered(&self) {
        if self.budget.answered() {
            self.stop.ask(Reason::Limit("pages"));
        }
    }
}

pub(super) fn reason_of(error: &VolumeError) -> Reason {
    if matches!(error, VolumeError::DiskFull { .. }) {
        Reason::DiskFull(error.to_string())
    } else {
        Reason::Failed(error.to_string())
    }
}
