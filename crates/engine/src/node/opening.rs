//! Opens everything that a crawl needs: archive, logs, scope, network, and the tasks that run beside the visits.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aranha_fetch::Fetcher;
use aranha_frontier::{Frontier, SiteSettings};
use aranha_revisit::{Pace, Schedule};
use aranha_url::{Canonicaliser, Scope, SiteKey};
use aranha_volume::ArchiveEvent;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::context::{Context, Control, CrawlPolicy, Network, Reports, Storage, Watchers};
use super::sharing::Sharing;
use super::{EngineError, Node, Role};
use crate::blocking::blacklist_watch::BlacklistWatch;
use crate::collection::Collection;
use crate::collection::{census, dns_cache};
use crate::commit::spool::{Spool, SpoolError};
use crate::commit::unrecorded::Unrecorded;
use crate::commit::{Committer, WaitingGroups, channel};
use crate::config::{Config, ConfigError};
use crate::courtesy::address_gate::{AddressGates, GateOwners};
use crate::courtesy::request_fence::RequestFence;
use crate::limits::load::LoadManager;
use crate::limits::page_budget::PageBudget;
use crate::limits::size_limit::SizeLimit;
use crate::links::link_cache::LinkCache;
use crate::links::sitemap_grants::SitemapGrants;
use crate::node::stop::Stop;
use crate::reread::Reread;
use crate::scope::SharedScope;
use crate::status::crawl_log::CrawlLog;
use crate::status::event_log::EventLog;
use crate::status::notice::{Notice, Notices};
use crate::status::tally::LiveCounters;
use crate::traps::site_share::SiteShare;
use crate::traps::tld_wildcards::TldWildcards;
use crate::traps::wildcard_domains::WildcardDomains;
use crate::world::World;

impl Node {
    /// Like [`Node::open`], in the given world, which is real or simulated.
    pub fn open_in(
        world: &World,
        collection: &Collection,
        config: Config,
        mut frontier: Box<dyn Frontier>,
        resumed: bool,
        stop: Stop,
    ) -> Result<Self, EngineError> {
        let clock = world.clock;
        let counters = Arc::new(LiveCounters::default());
        let canon = Canonicaliser::new(config.url.clone());
        let blacklist = config.blacklist()?;
        let sharing = Sharing::start(frontier.as_mut(), collection)?;
        let settings = frontier.seed_settings()?;
        let scope = scope(&config, &canon, &frontier.seeds()?, &settings)?;
        let fetch = aranha_fetch::Options {
            limit_rate: config.crawl.limit_rate,
            spool_folder: world.spool_folder(collection),
            ..config.fetch.clone()
        };
        let web = world.web(fetch, blacklist)?;
        let mut volume = config.volume.clone();
        volume.node = sharing.as_ref().map_or(0, |sharing| sharing.folder);
        volume.warcinfo = warcinfo(&config, &web);
        let (archive, repairs) = world.archive(collection.root(), volume)?;
        let log = CrawlLog::open(&collection.crawl_log())
            .map_err(|source| file_error(&collection.crawl_log(), source))?;
        let events = EventLog::open(&collection.event_log())
            .map_err(|source| file_error(&collection.event_log(), source))?;
        let mut watchers = JoinSet::new();
        let waiting = waiting_groups(collection, frontier.as_mut(), clock.now())?;
        let fence = match frontier.fence() {
            Some(fence) => {
                RequestFence::start(fence, &mut watchers).map_err(|source| EngineError::File {
                    path: "timer".to_owned(),
                    source,
                })?
            }
            None => None,
        };
        let is_shared = frontier.may_be_away();
        let frontier = world.frontier(frontier);
        let owners = is_shared.then(|| GateOwners {
            frontier: frontier.clone(),
            clock,
        });
        let sites_due = Arc::new(Notify::new());
        let visits_ended = Arc::new(Notify::new());
        let committing = Arc::new(AtomicBool::new(false));
        let (submissions, receiver) = channel();
        let (notices, notices_receiver) = Notices::new(events, clock);
        frontier.watch(notices.clone(), stop.clone());
        let committer = Committer {
            frontier: frontier.clone(),
            archive: archive.clone(),
            log: config.log.crawl.then_some(log),
            clock,
            tidy_budget: world.tidy_budget(),
            counters: Arc::clone(&counters),
            stop: stop.clone(),
            sites_due: Arc::clone(&sites_due),
            visits_ended: Arc::clone(&visits_ended),
            committing: Arc::clone(&committing),
            waiting,
        };
        let context = Context {
            scope: SharedScope::new(scope, BlacklistWatch::new(collection.blacklist())),
            network: Network {
                web,
                gates: AddressGates::new(config.crawl.pause, resumed).with_owners(owners),
                fence,
                load: Arc::new(LoadManager::new(config.load.clone())),
            },
            readers: world.readers(),
            storage: Storage {
                archive,
                submissions,
                committing,
                is_node: sharing.is_some(),
            },
            watchers: Watchers {
                wildcard_domains: WildcardDomains::default(),
                tld_wildcards: TldWildcards::default(),
                site_share: SiteShare::default(),
                source_accounts: Arc::default(),
                link_cache: LinkCache::new(),
                sitemap_grants: SitemapGrants::default(),
            },
            reports: Reports {
                counters,
                seed_failures: Arc::default(),
                notices,
            },
            control: Control {
                clock,
                stop,
                pages: PageBudget::new(config.crawl.pages),
                size: SizeLimit::new(config.crawl.size),
                resumed: resumed.then(Instant::now),
                started: Instant::now(),
                others_wait: AtomicBool::new(false),
            },
            policy: CrawlPolicy {
                literal: Canonicaliser::new(config.url.literal()),
                requisites: Canonicaliser::new(config.url.for_requisites()),
                canon,
                schedule: Schedule::new(&config.revisit),
                paces: paces(&settings),
                keep: config.keep()?,
                config,
            },
        };
        context.scope.reload_blacklist(&context.network.web)?;
        census::restore(&context.policy.schedule, &collection.census());
        let reread = if world.is_real() {
            Some(Reread::new(collection, &context, &settings)?)
        } else {
            None
        };
        watchers.spawn(watch_dns(&context));
        watchers.spawn(watch_archive(&context));
        for (proxy, outage) in context.network.web.watch_proxies() {
            watchers.spawn(watch_proxy(&context, proxy, outage));
        }
        let dns_cache = world.is_real().then(|| collection.dns_cache());
        if let Some(path) = &dns_cache {
            let fetcher = &context.network.web;
            dns_cache::restore(fetcher, path);
            watchers.spawn(dns_cache::keep(fetcher.clone(), path.clone()));
        }
        let load = Arc::clone(&context.network.load);
        watchers.spawn(load.adjust(Arc::clone(&context.reports.counters)));
        Ok(Self {
            context: Arc::new(context),
            frontier,
            committer: tokio::spawn(committer.run(receiver)),
            sites_due,
            visits_ended,
            signals: collection.signals(),
            census: collection.census(),
            dns_cache,
            progress: world.is_real().then(|| collection.progress()),
            uploads: world.is_real().then(|| collection.root().to_path_buf()),
            reread,
            reload_interval: world.reload_interval(sharing.is_some()),
            sharing,
            role: Role::default(),
            repairs,
            notices: Some(notices_receiver),
            _watchers: watchers,
        })
    }
}

/// Opens the spool, and sends the check-ins that an earlier process of this collection has left in it. Returns `None`
/// if the frontier is that of one machine, because such a frontier is never away.
fn waiting_groups(
    collection: &Collection,
    frontier: &mut dyn Frontier,
    now: i64,
) -> Result<Option<WaitingGroups>, EngineError> {
    let Some(fence) = frontier.fence() else {
        return Ok(None);
    };
    let path = collection.check_in_spool();
    let mut spool = Spool::open(&path).map_err(|source| file_error(&path, source))?;
    let unrecorded = Unrecorded::at(collection.unrecorded());
    let newest = spool.send_earlier(frontier, now, &unrecorded);
    let newest = newest.map_err(|error| match error {
        SpoolError::File(path, source) => file_error(&path, source),
        SpoolError::Frontier(error) => error.into(),
    })?;
    Ok(Some(WaitingGroups::new(spool, fence, unrecorded, newest)))
}

fn file_error(path: &Path, source: std::io::Error) -> EngineError {
    EngineError::File {
        path: path.display().to_string(),
        source,
    }
}

/// The configured scope, extended by `seeds` and by the depths in `settings`. Seeds that are not valid URLs are ignored.
pub(crate) fn scope(
    config: &Config,
    canon: &Canonicaliser,
    seeds: &[String],
    settings: &[SiteSettings],
) -> Result<Scope, ConfigError> {
    let mut scope = config.scope()?;
    for (site, settings) in settings {
        if let Some(depth) = settings.depth {
            scope.set_site_depth(*site, depth);
        }
    }
    for seed in seeds {
        if let Ok(url) = canon.canon(seed) {
            scope.add_seed(&url);
        }
    }
    Ok(scope)
}

/// The intervals that the user has set for sites.
fn paces(settings: &[SiteSettings]) -> HashMap<SiteKey, Pace> {
    let paces = settings.iter().map(|(site, settings)| {
        let (every, max_every) = (settings.every, settings.max_every);
        (*site, Pace { every, max_every })
    });
    paces.filter(|(_, pace)| *pace != Pace::default()).collect()
}

fn warcinfo(config: &Config, web: &Fetcher) -> Vec<(String, String)> {
    let mut fields = vec![
        (
            "software".to_owned(),
            concat!("aranha/", env!("CARGO_PKG_VERSION")).to_owned(),
        ),
        ("robots".to_owned(), robots_policy(config)),
        (
            "http-header-user-agent".to_owned(),
            config.fetch.user_agent.clone(),
        ),
    ];
    fields.extend(web.proxies().map(|proxy| ("proxy".to_owned(), proxy)));
    if !config.crawl.contact.is_empty() {
        fields.push(("operator".to_owned(), config.crawl.contact.clone()));
    }
    fields
}

fn robots_policy(config: &Config) -> String {
    let ignored_on = config.crawl.robots_ignored_on().join(", ");
    if ignored_on.is_empty() {
        return "obey".to_owned();
    }
    format!("ignore on the operator's own hosts ({ignored_on}), obey elsewhere")
}

/// Sends the events of the archive as notices.
fn watch_archive(context: &Context) -> impl Future<Output = ()> + use<> {
    let (mut events, notices) = (
        context.storage.archive.events(),
        context.reports.notices.clone(),
    );
    async move {
        while let Some(event) = events.recv().await {
            notices.send(match event {
                ArchiveEvent::FolderLeft { folder, problem } => Notice::VolumeFolderLeft {
                    folder: folder.display().to_string(),
                    problem,
                },
                ArchiveEvent::StoreDown { store, problem } => Notice::StoreDown { store, problem },
                ArchiveEvent::StoreUp { store, seconds } => Notice::StoreUp { store, seconds },
                ArchiveEvent::UploadsFailed { problem } => Notice::UploadFailed { problem },
            });
        }
    }
}

/// Sends a notice when an outage of a proxy begins and when it ends.
fn watch_proxy(
    context: &Context,
    proxy: String,
    mut outage: watch::Receiver<Option<Arc<str>>>,
) -> impl Future<Output = ()> + use<> {
    let notices = context.reports.notices.clone();
    async move {
        let mut down: Option<Instant> = None;
        while outage.changed().await.is_ok() {
            let problem = outage.borrow_and_update().clone();
            let notice = match (&problem, down) {
                (Some(problem), None) => Notice::ProxyDown {
                    proxy: proxy.clone(),
                    problem: problem.to_string(),
                },
                (None, Some(since)) => Notice::ProxyUp {
                    proxy: proxy.clone(),
                    seconds: since.elapsed().as_secs(),
                },
                _ => continue,
            };
            notices.send(notice);
            down = problem.map(|_| Instant::now());
        }
    }
}

/// Sends a notice when a DNS outage begins and when it ends (N4).
fn watch_dns(context: &Context) -> impl Future<Output = ()> + use<> {
    let waits_for_dns = context.network.web.waits_for_dns();
    let (mut outage, notices) = (
        context.network.web.watch_dns_outage(),
        context.reports.notices.clone(),
    );
    async move {
        let mut down: Option<Instant> = None;
        while outage.changed().await.is_ok() {
            let since = *outage.borrow_and_update();
            match (since, down) {
                (Some(_), None) if waits_for_dns => notices.send(Notice::DnsDown),
                (Some(_), None) => notices.send(Notice::NoLocalDns),
                (None, Some(since)) => notices.send(Notice::DnsUp {
                    seconds: since.elapsed().as_secs(),
                }),
                _ => {}
            }
            down = since;
        }
    }
}
