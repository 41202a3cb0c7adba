//! Opens everything that a crawl needs: archive, logs, scope, network, and the tasks that run beside the visits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aranha_fetch::Fetcher;
use aranha_frontier::Frontier;
use aranha_revisit::Schedule;
use aranha_url::{Canonicaliser, Scope};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::context::{Context, Control, CrawlPolicy, Network, Reports, Storage, Watchers};
use super::sharing::Sharing;
use super::{EngineError, Node, Role};
use crate::blocking::blacklist_watch::BlacklistWatch;
use crate::collection::Collection;
use crate::collection::{census, dns_cache};
use crate::commit::{Committer, channel};
use crate::config::{Config, ConfigError};
use crate::courtesy::address_gate::AddressGates;
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
        let scope = scope(&config, &canon, &frontier.seeds()?)?;
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
        let frontier = world.frontier(frontier);
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
        };
        let context = Context {
            scope: SharedScope::new(scope, BlacklistWatch::new(collection.blacklist())),
            network: Network {
                web,
                gates: AddressGates::new(config.crawl.pause, resumed),
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
                keep: config.keep()?,
                config,
            },
        };
        context.scope.reload_blacklist(&context.network.web)?;
        census::restore(&context.policy.schedule, &collection.census());
        let reread = if world.is_real() {
            Some(Reread::new(collection, &context)?)
        } else {
            None
        };
        let mut watchers = JoinSet::new();
        watchers.spawn(watch_dns(&context));
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
            reread,
            reload_interval: world.reload_interval(),
            sharing,
            role: Role::default(),
            repairs,
            notices: Some(notices_receiver),
            _watchers: watchers,
        })
    }
}

fn file_error(path: &Path, source: std::io::Error) -> EngineError {
    EngineError::File {
        path: path.display().to_string(),
        source,
    }
}

/// The configured scope, extended by `seeds`. Seeds that are not valid URLs are ignored.
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
