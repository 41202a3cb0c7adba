//! A node: keeps as many visits going as it has room for, until nothing is left or it is told to stop.
//!
//! It pulls sites from the Global Frontier when it has room (F2), one task a site. It ends when no site
//! can be handed out and none will be soon; when a limit of the user's is reached; when it is asked to
//! stop; or when the disk or the frontier fails. In each case every visit checks in first, the open
//! volume is closed and indexed, and nothing that was checked in is lost.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aranha_fetch::{FetchSetupError, Web};
use aranha_frontier::{Claim, Frontier, FrontierError, Outside, Pending, Seed, Status};
use aranha_revisit::Schedule;
use aranha_url::{CanonUrl, Canonicaliser, Rules, Scope, ScopeRule};
use aranha_volume::{Archive, Repairs, VolumeError};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::census;
use crate::clock::Clock;
use crate::collect::{CACHE, SIGNAL, deeper};
use crate::collection::Collection;
use crate::commit::{Committer, Shared, Submissions, channel};
use crate::config::{Config, ConfigError};
use crate::courtesy::Gates;
use crate::crawllog::CrawlLog;
use crate::domains::{self, Domains};
use crate::dominance::Dominance;
use crate::load::Load;
use crate::notice::{Notice, Notices};
use crate::rate::Rate;
use crate::shutout::{ShutOut, ShutOutError};
use crate::signals::{self, Signal, Source, Taken};
use crate::stop::{Reason, Stop};
use crate::tally::{Snapshot, Tally, add};
use crate::visit::visit;
use crate::world::World;

/// The frontier is asked for sites at most this often.
const BREATH: Duration = Duration::from_millis(20);

/// Why a crawl could not begin or go on: aranha's own trouble, not the web's.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The frontier could not be opened or used.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The archive could not be opened or closed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The network side could not be set up.
    #[error(transparent)]
    Fetch(#[from] FetchSetupError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The collection's own black list cannot be used.
    #[error(transparent)]
    ShutOut(#[from] ShutOutError),
    /// A file of the collection could not be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What all visits share.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) web: Web,
    pub(crate) archive: Archive,
    pub(crate) canon: Canonicaliser,
    /// For redirects to a page's own key: they are asked for as the server wrote them.
    pub(crate) literal: Canonicaliser,
    pub(crate) scope: RwLock<Scope>,
    pub(crate) gates: Gates,
    pub(crate) schedule: Schedule,
    pub(crate) signals: PathBuf,
    census: PathBuf,
    pub(crate) rate: Rate,
    pub(crate) load: Arc<Load>,
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) tally: Arc<Tally>,
    pub(crate) submissions: Submissions,
    pub(crate) budget: Budget,
    pub(crate) domains: Domains,
    pub(crate) dominance: Dominance,
    pub(crate) shut_out: ShutOut,
    pub(crate) notices: Notices,
    /// The name robots.txt files know us by.
    pub(crate) product: String,
    /// When this process began, if an earlier one worked on the collection.
    pub(crate) resumed: Option<Instant>,
    others_wait: AtomicBool,
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
        let depth = deeper(from, 'R');
        let inside = {
            let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
            scope.judge(target, depth).inside
        };
        if inside || from.hop != '-' {
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

    /// The entry of the black list that names a whole site, if there is one.
    pub(crate) fn shuts_out(&self, origin: &str) -> Option<String> {
        let url = self.canon.rebuild(origin, "/").ok()?;
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        match scope.judge(&url, 0).rule {
            ScopeRule::Blacklist(entry) if !entry.contains("://") => Some(entry.to_owned()),
            _ => None,
        }
    }

    /// Signals as claims about pages in scope. What the user wants now is a seed, too.
    fn claims(&self, signals: &[Signal]) -> (Vec<(Outside, Claim)>, Vec<Seed>) {
        let (mut claims, mut seeds) = (Vec::new(), Vec::new());
        for signal in signals {
            let Ok(url) = self.canon.canon(&signal.url) else {
                continue;
            };
            if signal.source == Source::User {
                let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
                scope.add_seed(&url);
                seeds.push(Seed::of(&url));
            }
            if !self.wants(&url, 0) {
                continue;
            }
            let hop = match signal.source {
                Source::Proxy => CACHE,
                _ => SIGNAL,
            };
            let (delay, gap) = match signal.source {
                Source::Proxy => (self.config.parasite.delay, self.config.parasite.again),
                _ => (Duration::ZERO, Duration::ZERO),
            };
            let claim = Claim {
                key: url.path_key(),
                at: signal.at.saturating_add(delay.as_millis() as i64),
                source: signal.source as u8,
                weight: 0.0,
                gap: gap.as_millis() as i64,
            };
            claims.push((Outside::of(&url, 0, hop, ""), claim));
        }
        (claims, seeds)
    }

    /// All hosts below this one's domain prove to be one trap.
    pub(crate) fn shut_out_domain(&self, host: &str, reason: &str) {
        let Some(domain) = domains::above(host) else {
            return;
        };
        let entry = format!("*.{domain}");
        {
            let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
            if scope.shut_out(&entry).is_err() {
                return;
            }
        }
        self.shut_out.move_on();
        if let Err(error) = self.shut_out.add(&entry, reason) {
            let problem = error.to_string();
            self.notices.say(Notice::BlacklistWrong { problem });
        }
        add(&self.tally.traps, 1);
        let reason = reason.to_owned();
        self.notices.say(Notice::ShutOut { entry, reason });
    }

    /// Reads the collection's black list when it has changed. True: there were new lines.
    fn read_black_list(&self) -> Result<bool, ShutOutError> {
        let Some(lines) = self.shut_out.news()? else {
            return Ok(false);
        };
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope
            .shut_out(&lines)
            .map_err(|error| self.shut_out.entry_error(error))?;
        self.shut_out.move_on();
        Ok(true)
    }

    /// Counts towards the page limit.
    pub(crate) fn page_answered(&self) {
        if self.budget.answered() {
            self.stop.ask(Reason::Limit("pages"));
        }
    }
}

fn reason_of(error: &VolumeError) -> Reason {
    if matches!(error, VolumeError::Full { .. }) {
        Reason::DiskFull(error.to_string())
    } else {
        Reason::Failed(error.to_string())
    }
}

/// The page limit: how many pages this process may still ask for, and how many have come.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Option<u64>,
    left: AtomicI64,
    answered: AtomicU64,
    freed: Notify,
}

impl Budget {
    fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            left: AtomicI64::new(limit.map_or(i64::MAX, |limit| limit.min(i64::MAX as u64) as i64)),
            answered: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }

    /// Takes one page; false when all are taken by fetches under way.
    pub(crate) fn take(&self) -> bool {
        let taken = self.limit.is_none() || self.left.fetch_sub(1, Relaxed) > 0;
        if !taken {
            self.left.fetch_add(1, Relaxed);
        }
        taken
    }

    /// A fetch that brought no page does not count.
    pub(crate) fn give_back(&self) {
        if self.limit.is_some() {
            self.left.fetch_add(1, Relaxed);
            self.freed.notify_one();
        }
    }

    /// Waits until a page may have been given back.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// One page has come; true when it was the last.
    fn answered(&self) -> bool {
        let count = self.answered.fetch_add(1, Relaxed) + 1;
        self.limit.is_some_and(|limit| count >= limit)
    }
}

/// How a crawl ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Why.
    pub reason: Reason,
    /// What this process did.
    pub tally: Snapshot,
    /// Where the collection stands.
    pub status: Status,
    /// How long it took.
    pub took: Duration,
}

/// One process at work on a collection.
pub struct Node {
    context: Arc<Context>,
    frontier: Shared,
    committer: tokio::task::JoinHandle<()>,
    news: Arc<Notify>,
    /// How often the user's wishes are looked at, and the frontier is asked whatever happened.
    glance: Duration,
    repairs: Repairs,
    heard: Option<mpsc::Receiver<Notice>>,
    /// Ended when the node is dropped.
    _watchers: JoinSet<()>,
}

impl Node {
    /// Opens everything a crawl needs; an earlier crash is repaired here. `frontier` is open already,
    /// which is also the lock on the collection. Must be called within a tokio runtime.
    pub fn open(
        collection: &Collection,
        config: Config,
        frontier: Box<dyn Frontier>,
        resumed: bool,
        stop: Stop,
    ) -> Result<Self, EngineError> {
        Self::open_in(&World::real(), collection, config, frontier, resumed, stop)
    }

    /// As [`Node::open`], in this world.
    pub fn open_in(
        world: &World,
        collection: &Collection,
        config: Config,
        frontier: Box<dyn Frontier>,
        resumed: bool,
        stop: Stop,
    ) -> Result<Self, EngineError> {
        let clock = world.clock;
        let tally = Arc::new(Tally::default());
        let canon = Canonicaliser::new(config.url.clone());
        let blacklist = config.blacklist()?;
        let scope = scope(&config, &canon, &frontier.seeds()?)?;
        let mut volume = config.volume.clone();
        volume.warcinfo = warcinfo(&config);
        let (archive, repairs) = world.archive(collection.root(), volume)?;
        let log = CrawlLog::open(&collection.crawl_log()).map_err(|source| EngineError::File {
            path: collection.crawl_log().display().to_string(),
            source,
        })?;
        let frontier = world.frontier(frontier);
        let news = Arc::new(Notify::new());
        let (submissions, receiver) = channel();
        let (notices, heard) = Notices::new();
        let committer = Committer {
            frontier: frontier.clone(),
            archive: archive.clone(),
            log: config.log.crawl.then_some(log),
            clock,
            tidy_budget: world.tidy_budget(),
            tally: Arc::clone(&tally),
            stop: stop.clone(),
            news: Arc::clone(&news),
        };
        let context = Context {
            web: world.web(config.fetch.clone(), blacklist)?,
            gates: Gates::new(config.crawl.pause, resumed),
            schedule: Schedule::new(&config.revisit),
            signals: collection.signals(),
            census: collection.census(),
            rate: Rate::new(config.crawl.rate),
            load: Arc::new(Load::new(config.load.clone())),
            budget: Budget::new(config.crawl.pages),
            product: config.crawl.product.clone(),
            archive,
            literal: Canonicaliser::new(Rules {
                drop_index: false,
                drop_sessions: false,
                trim_listings: false,
                ..config.url.clone()
            }),
            canon,
            scope: RwLock::new(scope),
            clock,
            stop,
            tally,
            submissions,
            resumed: resumed.then(Instant::now),
            others_wait: AtomicBool::new(false),
            domains: Domains::default(),
            dominance: Dominance::default(),
            shut_out: ShutOut::new(collection.blacklist()),
            notices,
            config,
        };
        context.read_black_list()?;
        census::restore(&context.schedule, &context.census);
        let mut watchers = JoinSet::new();
        watchers.spawn(watch_names(&context));
        watchers.spawn(Arc::clone(&context.load).watch(Arc::clone(&context.tally)));
        Ok(Self {
            context: Arc::new(context),
            frontier,
            committer: tokio::spawn(committer.run(receiver)),
            news,
            glance: world.glance(),
            repairs,
            heard: Some(heard),
            _watchers: watchers,
        })
    }

    /// What an earlier crash made necessary.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// What is worth hearing while the crawl runs; can be had once.
    pub fn notices(&mut self) -> mpsc::Receiver<Notice> {
        let (_, nothing) = mpsc::channel(1);
        self.heard.take().unwrap_or(nothing)
    }

    /// Live counters.
    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.context.tally)
    }

    /// A function that asks the frontier where it stands.
    pub fn status(&self) -> impl AsyncFn() -> Result<Status, FrontierError> + use<> {
        let (frontier, clock) = (self.frontier.clone(), self.context.clock);
        async move || {
            let now = clock.now();
            frontier.call(move |frontier| frontier.status(now)).await
        }
    }

    /// Crawls. Returns when every visit has checked in and the volume is closed.
    pub async fn run(self) -> Result<Summary, EngineError> {
        let began = Instant::now();
        let mut visits = JoinSet::new();
        let outcome = self.pull(&mut visits, began).await;
        if let Err(error) = &outcome {
            self.context
                .stop
                .ask(if matches!(error, FrontierError::Full { .. }) {
                    Reason::DiskFull(error.to_string())
                } else {
                    Reason::Failed(error.to_string())
                });
        }
        self.context.stop.ask(Reason::Finished);
        while let Some(ended) = visits.join_next().await {
            self.note(ended);
        }
        let Self {
            context,
            frontier,
            committer,
            ..
        } = self;
        let (archive, clock, stop, tally) = (
            context.archive.clone(),
            context.clock,
            context.stop.clone(),
            Arc::clone(&context.tally),
        );
        // Only an estimate: not worth failing for.
        let _ = census::keep(&context.schedule, &context.config, &context.census);
        // The last sender goes with the context, and with it the committer ends.
        drop(context);
        let _ = committer.await;
        if let Err(error) = archive.close().await {
            stop.ask(reason_of(&error));
        }
        let now = clock.now();
        let status = frontier
            .call(move |frontier| {
                frontier.flush(now)?;
                frontier.status(now)
            })
            .await?;
        Ok(Summary {
            reason: stop.reason().unwrap_or(Reason::Finished),
            tally: tally.snapshot(),
            status,
            took: began.elapsed(),
        })
    }

    /// Hands out sites until there are none or somebody asks to stop.
    async fn pull(&self, visits: &mut JoinSet<()>, began: Instant) -> Result<(), FrontierError> {
        let context = &self.context;
        let slots = context.config.crawl.sites.max(1);
        let deadline = context.config.crawl.time.map(|time| began + time);
        let mut looked = began;
        self.hear().await?;
        if !context.config.crawl.continuous {
            // A crawl that is to end must not run after its own revisits.
            let now = context.clock.now();
            self.frontier
                .call(move |frontier| frontier.revisit_until(now))
                .await;
        }
        loop {
            while let Some(ended) = visits.try_join_next() {
                self.note(ended);
            }
            self.check_limits(deadline);
            self.look_around(&mut looked).await?;
            if context.stop.asked() {
                return Ok(());
            }
            let room = slots.saturating_sub(visits.len());
            let now = context.clock.now();
            let (leases, next) = self
                .frontier
                .call(move |frontier| {
                    let leases = match room {
                        0 => Vec::new(),
                        room => frontier.check_out(now, "local", room)?,
                    };
                    Ok::<_, FrontierError>((leases, frontier.status(now)?.next_due))
                })
                .await?;
            for lease in leases {
                visits.spawn(visit(Arc::clone(context), lease));
            }
            context.tally.visits.store(visits.len() as u64, Relaxed);
            let full = visits.len() >= slots;
            let others_wait = full && next.is_some_and(|due| due <= now);
            context.others_wait.store(others_wait, Relaxed);
            if visits.is_empty() && self.is_over(next) {
                return Ok(());
            }
            self.wait(visits, others_wait, next, deadline).await;
        }
    }

    fn check_limits(&self, deadline: Option<Instant>) {
        let context = &self.context;
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            context.stop.ask(Reason::Limit("time"));
        }
        if let Some(size) = context.config.crawl.size
            && context.tally.written.load(Relaxed) >= size
        {
            context.stop.ask(Reason::Limit("size"));
        }
    }

    /// Now and then: has somebody changed the black list? Has anybody something to say?
    async fn look_around(&self, looked: &mut Instant) -> Result<(), FrontierError> {
        if looked.elapsed() < self.glance {
            return Ok(());
        }
        *looked = Instant::now();
        match self.context.read_black_list() {
            Ok(true) => self.context.notices.say(Notice::BlacklistRead),
            Ok(false) => {}
            Err(error) => {
                let problem = error.to_string();
                self.context.notices.say(Notice::BlacklistWrong { problem });
            }
        }
        let _ = census::keep(
            &self.context.schedule,
            &self.context.config,
            &self.context.census,
        );
        self.hear().await
    }

    /// Takes up the signals from outside. What cannot be read is told, and is no reason to stop.
    async fn hear(&self) -> Result<(), FrontierError> {
        let context = &self.context;
        let taken = match Taken::take(&context.signals) {
            Ok(Some(taken)) => taken,
            Ok(None) => return Ok(()),
            Err(error) => {
                let problem = format!("{}: {error}", context.signals.display());
                context.notices.say(Notice::SignalsWrong { problem });
                return Ok(());
            }
        };
        let (claims, seeds) = context.claims(&taken.signals);
        add(&context.tally.signals, (claims.len() + seeds.len()) as u64);
        let now = context.clock.now();
        let claimed = self
            .frontier
            .call(move |frontier| {
                if !seeds.is_empty() {
                    frontier.seed(now, &seeds)?;
                }
                frontier.claim(now, &claims, signals::weigh)
            })
            .await?;
        add(&context.tally.sooner, claimed.sooner);
        add(&context.tally.announced, claimed.new);
        let broken = taken.broken;
        let removed = taken.done();
        if broken > 0 || removed.is_err() {
            let problem = match removed {
                Err(error) => format!("{}: {error}", context.signals.display()),
                Ok(()) => format!(
                    "{}: {broken} lines are no signal",
                    context.signals.display()
                ),
            };
            context.notices.say(Notice::SignalsWrong { problem });
        }
        Ok(())
    }

    /// With no visit under way: nothing comes due within the time that the user would wait.
    fn is_over(&self, next: Option<i64>) -> bool {
        let crawl = &self.context.config.crawl;
        if crawl.continuous {
            return false;
        }
        let linger = crawl.linger.as_millis() as i64;
        next.is_none_or(|due| due - self.context.clock.now() > linger)
    }

    /// Until something happened that may bring a site, or at least a breath. While others wait, only a visit's end can.
    async fn wait(
        &self,
        visits: &mut JoinSet<()>,
        others_wait: bool,
        next: Option<i64>,
        deadline: Option<Instant>,
    ) {
        let context = &self.context;
        let soon = Instant::now() + BREATH;
        let glance = soon + self.glance;
        let due = next
            .filter(|_| !others_wait)
            .map_or(glance, |due| context.clock.instant(due).clamp(soon, glance));
        tokio::select! {
            biased;
            Some(ended) = visits.join_next() => self.note(ended),
            () = self.news.notified(), if !others_wait => {}
            () = tokio::time::sleep_until(due) => {}
            () = sleep_until(deadline) => {}
            () = context.stop.wait() => return,
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(soon) => {}
            () = context.stop.wait() => {}
        }
    }

    /// A visit that broke must not be taken for one that is done.
    fn note(&self, ended: Result<(), tokio::task::JoinError>) {
        if let Err(error) = ended {
            let detail = format!("a visit ended abnormally: {error}");
            self.context.stop.ask(Reason::Failed(detail));
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The configuration's scope around these seeds.
pub(crate) fn scope(
    config: &Config,
    canon: &Canonicaliser,
    seeds: &[String],
) -> Result<Scope, ConfigError> {
    let mut scope = config.scope()?;
    for seed in seeds {
        if let Ok(url) = canon.canon(seed) {
            scope.add_seed(&url);
        }
    }
    Ok(scope)
}

fn warcinfo(config: &Config) -> Vec<(String, String)> {
    let mut fields = vec![
        (
            "software".to_owned(),
            concat!("aranha/", env!("CARGO_PKG_VERSION")).to_owned(),
        ),
        ("robots".to_owned(), "obey".to_owned()),
        (
            "http-header-user-agent".to_owned(),
            config.fetch.user_agent.clone(),
        ),
    ];
    if !config.crawl.contact.is_empty() {
        fields.push(("operator".to_owned(), config.crawl.contact.clone()));
    }
    fields
}

/// Reports when names stop resolving and when they do again (N4).
fn watch_names(context: &Context) -> impl Future<Output = ()> + use<> {
    let (mut names, notices) = (context.web.watch_names(), context.notices.clone());
    async move {
        let mut down: Option<Instant> = None;
        while names.changed().await.is_ok() {
            let since = *names.borrow_and_update();
            match (since, down) {
                (Some(_), None) => notices.say(Notice::NamesDown),
                (None, Some(since)) => notices.say(Notice::NamesUp {
                    after: since.elapsed(),
                }),
                _ => {}
            }
            down = since;
        }
    }
}
