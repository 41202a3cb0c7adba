//! The name servers: asked in turn, so that the load is spread (N3), and the next one when one fails.
//!
//! A server that is silent or cannot be reached is left alone, two seconds at first and up to a minute as long as it
//! stays so, and asked only when no other is left. When that time is over one question tries it, not all at once.
//!
//! Aliases are followed here, up to a limit (`aliases.rs`), and not by the library's resolver, whose limit is its own.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use hickory_resolver::{
    Hosts, NameServerPool, PoolContext, TlsConfig,
    config::{NameServerConfig, ResolveHosts, ResolverOpts},
    net::{
        DnsError, NetError,
        runtime::TokioRuntimeProvider,
        xfer::{DnsHandle as _, FirstAnswer as _},
    },
    proto::{
        op::{DnsRequestOptions, Query, ResponseCode},
        rr::{
            Name, RecordType,
            domain::usage::{INVALID, LOCALHOST, ONION},
        },
    },
    system_conf::read_system_conf,
};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::{
    aliases::{Chain, Next},
    lookup::Found,
    resolver::{Ask, is_unanswered},
};
use crate::{Failure, FetchSetupError, Options};

/// Servers asked for one name, one after the other.
const TRIES: usize = 3;

/// Between two tries of a question that failed.
const MOMENT: Duration = Duration::from_millis(100);

/// How long a server that did not answer is left alone: doubled with each silence, up to the second.
const SHUN_MS: u64 = 2000;
const LONGEST_SHUN_MS: u64 = 60_000;

/// With the IPv4 addresses at hand, how long those of IPv6 are waited for: some servers never answer for them.
const PATIENCE: Duration = Duration::from_millis(500);

/// All servers of the configuration, or the system's.
pub(crate) struct Servers {
    list: Vec<Server>,
    /// The system's, with the system's servers.
    hosts: Hosts,
    turn: AtomicUsize,
    start: Instant,
}

struct Server {
    address: IpAddr,
    pool: NameServerPool<TokioRuntimeProvider>,
    request: DnsRequestOptions,
    health: Health,
}

/// Whether a server can be expected to answer. Milliseconds are those since the start.
#[derive(Default)]
struct Health {
    /// Times it was silent since its last answer, the try under way included.
    silences: AtomicU32,
    shunned_until: AtomicU64,
}

impl Servers {
    pub(super) fn new(options: &Options) -> Result<Servers, FetchSetupError> {
        let (configs, mut settings) = if options.resolvers.is_empty() {
            let (config, settings) = read_system_conf()
                .map_err(|error| FetchSetupError::SystemResolver(error.to_string()))?;
            (config.name_servers().to_vec(), settings)
        } else {
            let mut settings = ResolverOpts::default();
            settings.use_hosts_file = ResolveHosts::Never;
            (options.resolvers.iter().map(config).collect(), settings)
        };
        if configs.is_empty() {
            return Err(FetchSetupError::SystemResolver("none is named".to_owned()));
        }
        settings.cache_size = 0;
        settings.attempts = 0;
        settings.timeout = options.dns_timeout / TRIES as u32;
        settings.max_active_requests = options.dns_concurrency.saturating_mul(2).max(32);
        let servers = configs
            .into_iter()
            .map(|config| Server::new(config, &settings));
        let list = servers.collect::<Result<_, NetError>>().map_err(|error| {
            FetchSetupError::Resolver {
                servers: options.resolvers.clone(),
                reason: error.to_string(),
            }
        })?;
        let hosts = match settings.use_hosts_file {
            ResolveHosts::Never => Hosts::default(),
            ResolveHosts::Always | ResolveHosts::Auto => Hosts::from_system().unwrap_or_default(),
        };
        Ok(Servers {
            list,
            hosts,
            turn: AtomicUsize::new(0),
            start: Instant::now(),
        })
    }

    /// The servers to try: from the one whose turn it is, those left alone last.
    fn order(&self) -> impl Iterator<Item = &Server> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.list.len();
        let (before, after) = self.list.split_at(turn);
        let now = self.now();
        let mut order: Vec<(bool, &Server)> = after
            .iter()
            .chain(before)
            .enumerate()
            .map(|(place, server)| {
                let is_up = if place == 0 {
                    server.health.may_be_tried(now)
                } else {
                    server.health.is_up()
                };
                (!is_up, server)
            })
            .collect();
        order.sort_by_key(|(last, _)| *last);
        let servers = order.into_iter().map(|(_, server)| server);
        servers.collect::<Vec<_>>().into_iter().cycle().take(TRIES)
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

impl Ask for Servers {
    /// A server that fails or is silent hands the question on to the next.
    async fn ask(&self, name: &str) -> Found {
        let Some(name) = absolute(name) else {
            return Found::failed(Failure::DnsNotFound);
        };
        if let Some(found) = reserved(&name).or_else(|| written(&self.hosts, &name)) {
            return found;
        }
        let mut found = Found::failed(Failure::DnsTimeout);
        for (attempt, server) in self.order().enumerate() {
            if attempt > 0 && matches!(found.outcome, Err(Failure::DnsFailed(_))) {
                // A connection that broke, perhaps by another name's answer, takes a moment to come back.
                tokio::time::sleep(MOMENT * attempt as u32).await;
            }
            found = server.ask(&name, self.start).await;
            if !is_unanswered(&found.outcome) {
                break;
            }
        }
        found
    }
}

/// Whether DNS can hold such a name at all.
pub(super) fn is_askable(name: &str) -> bool {
    absolute(name).is_some()
}

/// The dot at the end keeps search lists out of it.
fn absolute(name: &str) -> Option<Name> {
    let is_plausible = !name.is_empty() && name.len() <= 253;
    Name::from_ascii(format!("{name}."))
        .ok()
        .filter(|_| is_plausible)
}

impl Health {
    fn is_up(&self) -> bool {
        self.silences.load(Ordering::Relaxed) == 0
    }

    /// Whether it is up, or it is time that one question tries whether it is: the others leave it alone on.
    fn may_be_tried(&self, now: u64) -> bool {
        let until = self.shunned_until.load(Ordering::Relaxed);
        self.is_up() || (until <= now && self.try_again(until, now))
    }

    /// False when another question was first.
    fn try_again(&self, until: u64, now: u64) -> bool {
        let silences = self.silences.load(Ordering::Relaxed);
        let next = now + (SHUN_MS << silences.min(10)).min(LONGEST_SHUN_MS);
        let order = Ordering::Relaxed;
        let first = self
            .shunned_until
            .compare_exchange(until, next, order, order)
            .is_ok();
        if first {
            self.silences.store(silences + 1, order);
        }
        first
    }

    /// Whether it was silent before.
    fn heard(&self) -> bool {
        self.silences.swap(0, Ordering::Relaxed) > 0
    }

    /// Many questions may meet the same silence: the first counts, the tries after it count themselves.
    /// Returns whether this is the first.
    fn silent(&self, now: u64) -> bool {
        let order = Ordering::Relaxed;
        let first = self.silences.compare_exchange(0, 1, order, order).is_ok();
        if first {
            self.shunned_until.store(now + SHUN_MS, order);
        }
        first
    }
}

impl Server {
    fn new(config: NameServerConfig, settings: &ResolverOpts) -> Result<Server, NetError> {
        let mut request = DnsRequestOptions::default();
        request.recursion_desired = settings.recursion_desired;
        request.use_edns = settings.edns0;
        request.edns_payload_len = settings.edns_payload_len;
        let address = config.ip;
        let context = Arc::new(PoolContext::new(settings.clone(), TlsConfig::new()?));
        let pool = NameServerPool::from_config([config], context, TokioRuntimeProvider::default());
        Ok(Server {
            address,
            pool,
            request,
            health: Health::default(),
        })
    }

    async fn ask(&self, name: &Name, start: Instant) -> Found {
        let mut v4 = pin!(self.look_up(name, RecordType::A));
        let mut v6 = pin!(self.look_up(name, RecordType::AAAA));
        let (v4, v6) = tokio::select! {
            v6 = &mut v6 => (v4.await, v6),
            v4 = &mut v4 => {
                let has_address = matches!(&v4, Ok(found) if found.outcome.is_ok());
                let wait = if has_address { PATIENCE } else { Duration::MAX };
                (v4, timeout(wait, v6).await.unwrap_or(Err(NetError::Timeout)))
            }
        };
        let silent = |result: &Result<Found, NetError>| {
            matches!(
                result,
                Err(NetError::Timeout | NetError::Io(_) | NetError::NoConnections)
            )
        };
        if silent(&v4) && silent(&v6) {
            if self.health.silent(start.elapsed().as_millis() as u64) {
                warn!(server = %self.address, "name server does not answer; it is skipped for a while");
            }
        } else if self.health.heard() {
            info!(server = %self.address, "name server answers again");
        }
        let [v4, v6] = [v4, v6].map(|found| found.unwrap_or_else(failed));
        v4.or(v6)
    }

    /// The addresses of one kind: a question for the name and for each alias whose end the answer does not have.
    async fn look_up(&self, name: &Name, kind: RecordType) -> Result<Found, NetError> {
        let mut chain = Chain::new(name.clone());
        loop {
            let query = Query::query(chain.name.clone(), kind);
            let answer = self.pool.lookup(query, self.request).first_answer().await?;
            let (outcome, ttl) = match chain.follow(&answer.answers) {
                Next::Alias => continue,
                Next::Addresses(addresses, ttl) => (Ok(addresses), ttl),
                Next::Nothing => (
                    Err(Failure::DnsNoAddress),
                    answer.negative_ttl().unwrap_or(0),
                ),
            };
            let ttl = Duration::from_secs(ttl.into());
            return Ok(Found { outcome, ttl });
        }
    }
}

/// Names that no server is asked for: RFC 6761 6.3 and 6.4, RFC 7686.
fn reserved(name: &Name) -> Option<Found> {
    if LOCALHOST.zone_of(name) {
        return Some(Found {
            outcome: Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            ttl: Duration::MAX,
        });
    }
    let is_nowhere = INVALID.zone_of(name) || ONION.zone_of(name);
    is_nowhere.then(|| Found::failed(Failure::DnsNotFound))
}

/// What the file of hosts says.
fn written(hosts: &Hosts, name: &Name) -> Option<Found> {
    let kinds = [RecordType::A, RecordType::AAAA].into_iter();
    let addresses: Vec<IpAddr> = kinds
        .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
        .flat_map(|lookup| {
            let records = lookup.answers().iter();
            records
                .filter_map(|record| record.data.ip_addr())
                .collect::<Vec<_>>()
        })
        .collect();
    (!addresses.is_empty()).then_some(Found {
        outcome: Ok(addresses),
        ttl: Duration::MAX,
    })
}

fn config(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// NXDOMAIN, NODATA, failures and silence told apart.
fn failed(error: NetError) -> Found {
    match error {
        NetError::Timeout => Found::failed(Failure::DnsTimeout),
        NetError::Dns(DnsError::NoRecordsFound(none)) => Found {
            ttl: Duration::from_secs(none.negative_ttl.unwrap_or(0).into()),
            outcome: Err(match none.response_code {
                ResponseCode::NXDomain => Failure::DnsNotFound,
                ResponseCode::NoError => Failure::DnsNoAddress,
                code => Failure::DnsFailed(code.to_string()),
            }),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => {
            Found::failed(Failure::DnsFailed(code.to_string()))
        }
        error => Found::failed(Failure::DnsFailed(error.to_string())),
    }
}
