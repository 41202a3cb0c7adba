//! What a node shares with the other nodes of its crawl ([`aranha_frontier::shared`]): the black list, seeds, the horizon,
//! and the request to drain.
//!
//! About once per second the node asks the frontier for news with one SQL statement. A newer black list is copied into
//! the folder, where it is read by the same code as in a crawl on one machine.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aranha_frontier::shared::{BLACKLIST, SETTINGS};
use aranha_frontier::{Frontier, FrontierError, News, NodeReport, SharedCrawl};
use tokio::time::Instant;

use super::{Context, EngineError, Node, opening};
use crate::blocking::shared_blacklist::{SharedBlacklist, add_lines};
use crate::collection::Collection;
use crate::status::notice::Notice;
use crate::status::speed::Speed;

/// What this process does in a crawl of several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The process begins or continues the crawl, and ends when the whole crawl has nothing left to do. In a crawl on
    /// one machine, the process has this role.
    #[default]
    Crawl,
    /// The process joins a crawl that another process began, and waits for sites to visit.
    Node {
        /// Whether the process ends when the whole crawl has nothing left to do.
        ends_when_idle: bool,
    },
}

/// The part of a node that reads news from other nodes, and sends news to them.
pub(super) struct Sharing {
    /// The number of the folder. It is part of the names of the volumes in the folder.
    pub(super) folder: u32,
    report: Arc<NodeReport>,
    blacklist: SharedBlacklist,
    /// The settings of the crawl when this node started.
    settings: String,
    draining: AtomicBool,
    state: Mutex<SharingState>,
}

struct SharingState {
    seen: News,
    speed: Speed,
    began: Instant,
    /// Whether the operator was told that the settings have changed.
    has_told_settings: bool,
}

impl Sharing {
    /// Copies the shared state (such as the black list) into the folder. `None` if the frontier is not shared.
    pub(super) fn start(
        frontier: &mut dyn Frontier,
        collection: &Collection,
    ) -> Result<Option<Self>, EngineError> {
        let Some(shared) = frontier.shared() else {
            return Ok(None);
        };
        let seen = shared.news()?;
        let blacklist = SharedBlacklist::new(collection);
        let file_error = |source| EngineError::File {
            path: collection.blacklist().display().to_string(),
            source,
        };
        let additions = blacklist.additions().map_err(file_error)?;
        let list = shared.change_text(BLACKLIST, &mut |text| add_lines(text, &additions))?;
        blacklist.store(&list.text).map_err(file_error)?;
        let settings = shared.text(SETTINGS)?;
        Ok(Some(Self {
            folder: shared.folder(),
            report: shared.report(),
            blacklist,
            settings: settings.map(|settings| settings.text).unwrap_or_default(),
            draining: AtomicBool::new(seen.is_draining),
            state: Mutex::new(SharingState {
                seen,
                speed: Speed::default(),
                began: Instant::now(),
                has_told_settings: false,
            }),
        }))
    }

    /// Whether this node was asked to finish its visits and end.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// Sets the speed of this node for the report that the node writes with its next sign of life.
    pub(super) fn report(&self, context: &Context) {
        let pages = context.counters().tally().pages;
        let mut state = self.state();
        let elapsed = state.began.elapsed();
        let rate = state.speed.update(elapsed, pages);
        self.report.set(pages, rate);
    }

    fn state(&self) -> MutexGuard<'_, SharingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    /// Calls the shared part of the frontier. Returns `None` if the frontier is not shared.
    async fn with_shared<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn SharedCrawl) -> Result<T, FrontierError> + Send + 'static,
    ) -> Result<Option<T>, FrontierError> {
        self.frontier
            .persist(move |frontier| frontier.shared().map(&mut work).transpose())
            .await
    }

    /// Sets the horizon of all nodes. Only the process with [`Role::Crawl`] calls this.
    pub(super) async fn set_common_horizon(&self, horizon: i64) -> Result<(), FrontierError> {
        let now = self.context.now();
        self.with_shared(move |shared| shared.set_horizon(now, horizon))
            .await?;
        Ok(())
    }

    /// Reads what other nodes and commands have changed in the crawl, and applies it.
    pub(super) async fn take_in_news(&self) -> Result<(), FrontierError> {
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        sharing.report(&self.context);
        let seen = sharing.state().seen;
        let Some(mut news) = self.with_shared(|shared| shared.news()).await? else {
            return Ok(());
        };
        if news.is_draining && !sharing.draining.swap(true, Relaxed) {
            self.context.reports.notices.send(Notice::Draining);
        }
        if news.horizon != seen.horizon
            && let Some(horizon) = news.horizon
        {
            self.with_shared(move |shared| {
                shared.follow_horizon(horizon);
                Ok(())
            })
            .await?;
        }
        if news.seeds != seen.seeds {
            let after = seen.seeds;
            let seeds = self.with_shared(move |shared| shared.seeds_after(after));
            if let Some((last, seeds)) = seeds.await? {
                news.seeds = last;
                for seed in seeds {
                    if let Ok(url) = self.context.policy.canon.canon(&seed) {
                        self.context.scope.add_seed(&url);
                    }
                }
            }
        }
        self.exchange_blacklist(sharing, news.texts != seen.texts)
            .await?;
        if news.texts != seen.texts {
            self.compare_settings(sharing).await?;
        }
        sharing.state().seen = news;
        Ok(())
    }

    /// Sends the entries that were added to the black list in this folder. Copies a newer black list into the folder.
    async fn exchange_blacklist(
        &self,
        sharing: &Sharing,
        is_newer: bool,
    ) -> Result<(), FrontierError> {
        let additions = match sharing.blacklist.additions() {
            Ok(additions) => additions,
            Err(error) => {
                self.report_blacklist(format!(
                    "the black list was not exchanged with other nodes: {error}"
                ));
                return Ok(());
            }
        };
        if additions.is_empty() && !is_newer {
            return Ok(());
        }
        let list = self.with_shared(move |shared| {
            shared.change_text(BLACKLIST, &mut |text| add_lines(text, &additions))
        });
        let Some(list) = list.await? else {
            return Ok(());
        };
        match sharing.blacklist.store(&list.text) {
            Ok(false) => {}
            Ok(true) => self.rebuild_scope().await?,
            Err(error) => self.report_blacklist(format!(
                "the black list was not exchanged with other nodes: {error}"
            )),
        }
        Ok(())
    }

    fn report_blacklist(&self, problem: String) {
        let notices = &self.context.reports.notices;
        notices.send(Notice::BlacklistError { problem });
    }

    /// Builds the scope anew, because entries were removed from the black list.
    async fn rebuild_scope(&self) -> Result<(), FrontierError> {
        let (seeds, settings) = self
            .frontier
            .persist(|frontier| Ok((frontier.seeds()?, frontier.seed_settings()?)))
            .await?;
        let policy = &self.context.policy;
        let rebuilt = opening::scope(&policy.config, &policy.canon, &seeds, &settings)
            .map_err(|error| error.to_string())
            .and_then(|scope| {
                let replaced = self.context.scope.replace(scope);
                replaced.map_err(|error| error.to_string())
            });
        match rebuilt {
            Ok(()) => self.context.reports.notices.send(Notice::BlacklistReloaded),
            Err(problem) => self.report_blacklist(problem),
        }
        Ok(())
    }

    /// Tells the operator once that the settings of the crawl have changed.
    async fn compare_settings(&self, sharing: &Sharing) -> Result<(), FrontierError> {
        let settings = self.with_shared(|shared| shared.text(SETTINGS)).await?;
        let is_changed = settings
            .flatten()
            .is_some_and(|settings| settings.text != sharing.settings);
        if is_changed && !std::mem::replace(&mut sharing.state().has_told_settings, true) {
            self.context.reports.notices.send(Notice::SettingsChanged);
        }
        Ok(())
    }
}
