//! Sends queries to the name servers. Successive queries start with different servers, to spread the load (N3). If a
//! server fails or is slow, the query is also sent to the next server. The answer of a slow server is still used if it
//! arrives within `dns_timeout`.
//!
//! A server that does not answer is skipped for two seconds, and for longer after each further failure, up to a minute.
//! When that time is over, one query tries the server again, while other queries continue to skip it. Otherwise a
//! skipped server is queried only if all other servers failed.
//!
//! Aliases are followed here and not by the DNS library, because `aliases.rs` limits their number.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use hickory_resolver::{
    Hosts, NameServerPool, PoolContext, TlsConfig,
    config::{NameServerConfig, ResolveHosts, ResolverOpts},
    net::{
        DnsError, NetError,
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
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{info, warn};

use super::{
    aliases::{AliasChain, ChainStep},
    lenient_udp::LenientRuntime,
    lookup_result::LookupResult,
    resolver::{AddressLookup, is_unanswered},
};
use crate::{Failure, FetchSetupError, Options, clock::deadline_after};

/// Maximum number of attempts to look up one name. Each attempt queries another server, if there are enough.
const MAX_ATTEMPTS: usize = 3;

/// Pause before the second attempt. The pause before the third is twice as long.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Time for which a server is skipped after its first failure. It doubles with each further failure.
const FIRST_SKIP_MS: u64 = 2000;

/// Longest time for which a server is skipped.
const MAX_SKIP_MS: u64 = 60_000;

/// How long to wait for the IPv6 addresses after the IPv4 addresses are known. Some servers never answer AAAA queries.
const MAX_IPV6_WAIT: Duration = Duration::from_millis(500);

/// The configured name servers, or the system's.
pub(crate) struct NameServers {
    servers: Vec<NameServer>,
    /// The system's hosts file; empty if name servers are configured.
    hosts: Hosts,
    next: AtomicUsize,
    start: Instant,
    /// Time without an answer after which the next server is queried as well.
    slow_after: Duration,
}

struct NameServer {
    address: IpAddr,
    pool: NameServerPool<LenientRuntime>,
    request: DnsRequestOptions,
    health: ServerHealth,
}

/// Whether a server can be expected to answer. Times are milliseconds since [`NameServers::start`].
#[derive(Default)]
struct ServerHealth {
    /// Number of failures since the last answer. A retry in progress counts as a failure.
    failures: AtomicU32,
    skipped_until: AtomicU64,
}

impl NameServers {
    pub(super) fn new(options: &Options) -> Result<NameServers, FetchSetupError> {
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
            return Err(FetchSetupError::SystemResolver(
                "it has no name server".to_owned(),
            ));
        }
        settings.cache_size = 0;
        settings.attempts = 0;
        settings.timeout = options.dns_timeout;
        settings.max_active_requests = options.dns_concurrency.saturating_mul(2).max(32);
        let servers = configs
            .into_iter()
            .map(|config| NameServer::new(config, &settings));
        let servers = servers.collect::<Result<_, NetError>>().map_err(|error| {
            FetchSetupError::Resolver {
                servers: options.resolvers.clone(),
                reason: error.to_string(),
            }
        })?;
        let hosts = match settings.use_hosts_file {
            ResolveHosts::Never => Hosts::default(),
            ResolveHosts::Always | ResolveHosts::Auto => Hosts::from_system().unwrap_or_default(),
        };
        Ok(NameServers {
            servers,
            hosts,
            next: AtomicUsize::new(0),
            start: Instant::now(),
            // A quarter of `dns_timeout`. If every server is slow, the third and last attempt starts after two
            // quarters, so about half of `dns_timeout` remains for it.
            slow_after: options.dns_timeout / (MAX_ATTEMPTS as u32 + 1),
        })
    }

    /// The servers in the order in which a query tries them: round-robin, with skipped servers last.
    fn order(&self) -> Vec<&NameServer> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.servers.len();
        let (before, after) = self.servers.split_at(first);
        let now = self.now();
        let mut order: Vec<(bool, &NameServer)> = after
            .iter()
            .chain(before)
            .enumerate()
            .map(|(index, server)| {
                let is_up = if index == 0 {
                    server.health.may_be_tried(now)
                } else {
                    server.health.is_up()
                };
                (!is_up, server)
            })
            .collect();
        order.sort_by_key(|(last, _)| *last);
        order.into_iter().map(|(_, server)| server).collect()
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

impl AddressLookup for NameServers {
    /// Queries one server, and the next one if an attempt fails or is slow. A slow attempt continues. Returns the first
    /// answer.
    async fn look_up(&self, name: &str) -> LookupResult {
        let Some(name) = absolute_name(name) else {
            return LookupResult::failed(Failure::DnsNotFound);
        };
        if let Some(found) = reserved_name(&name).or_else(|| hosts_file_lookup(&self.hosts, &name))
        {
            return found;
        }
        let order = self.order();
        let server = |attempt: usize| order[attempt % order.len()];
        let attempt = async |server: &NameServer, pause: Duration| {
            tokio::time::sleep(pause).await;
            server.look_up(&name, self.start).await
        };
        let mut attempts = FuturesUnordered::new();
        attempts.push(attempt(server(0), Duration::ZERO));
        let mut started = 1;
        let mut slow_at = deadline_after(Instant::now(), self.slow_after);
        let mut failed = LookupResult::failed(Failure::DnsTimeout);
        loop {
            let mut pause = Duration::ZERO;
            match timeout_at(slow_at, attempts.next()).await {
                Ok(Some(found)) if !is_unanswered(&found.outcome) => return found,
                Ok(Some(found)) => {
                    if matches!(found.outcome, Err(Failure::DnsFailed(_))) {
                        // The library needs a moment to reopen a broken connection to a server.
                        pause = RETRY_PAUSE * started as u32;
                    }
                    failed = found;
                }
                Ok(None) => return failed,
                Err(_) => {
                    server(started - 1).record_failure(self.start);
                    slow_at = deadline_after(Instant::now(), Duration::MAX);
                    if started >= order.len() {
                        // Every server has a query in flight.
                        continue;
                    }
                }
            }
            if started < MAX_ATTEMPTS {
                attempts.push(attempt(server(started), pause));
                started += 1;
                slow_at = deadline_after(Instant::now(), pause + self.slow_after);
            }
        }
    }
}

/// Whether the text is a valid DNS name.
pub(crate) fn is_valid_name(name: &str) -> bool {
    absolute_name(name).is_some()
}

/// The name with a final dot, so that the DNS library does not append the domains of the search list.
fn absolute_name(name: &str) -> Option<Name> {
    let has_valid_length = !name.is_empty() && name.len() <= 253;
    Name::from_ascii(format!("{name}."))
        .ok()
        .filter(|_| has_valid_length)
}

impl ServerHealth {
    fn is_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) == 0
    }

    /// Whether this query may use the server: the server is up, or it is time for a retry and this query performs it.
    fn may_be_tried(&self, now: u64) -> bool {
        let until = self.skipped_until.load(Ordering::Relaxed);
        self.is_up() || (until <= now && self.claim_retry(until, now))
    }

    /// Reserves the retry of a skipped server for this query. Returns false if another query performs it.
    fn claim_retry(&self, until: u64, now: u64) -> bool {
        let failures = self.failures.load(Ordering::Relaxed);
        let next = now + (FIRST_SKIP_MS << failures.min(10)).min(MAX_SKIP_MS);
        let order = Ordering::Relaxed;
        let first = self
            .skipped_until
            .compare_exchange(until, next, order, order)
            .is_ok();
        if first {
            self.failures.store(failures + 1, order);
        }
        first
    }

    /// Records an answer. Returns whether the server was down before.
    fn record_answer(&self) -> bool {
        self.failures.swap(0, Ordering::Relaxed) > 0
    }

    /// Records an unanswered query. Returns whether the server was up before. This function counts only the first
    /// failure, because many queries may be in flight when a server fails. [`claim_retry`](Self::claim_retry) counts
    /// one failure for each later retry.
    fn record_failure(&self, now: u64) -> bool {
        let order = Ordering::Relaxed;
        let first = self.failures.compare_exchange(0, 1, order, order).is_ok();
        if first {
            self.skipped_until.store(now + FIRST_SKIP_MS, order);
        }
        first
    }
}

impl NameServer {
    fn new(config: NameServerConfig, settings: &ResolverOpts) -> Result<NameServer, NetError> {
        let mut request = DnsRequestOptions::default();
        request.recursion_desired = settings.recursion_desired;
        request.use_edns = settings.edns0;
        request.edns_payload_len = settings.edns_payload_len;
        let address = config.ip;
        let context = Arc::new(PoolContext::new(settings.clone(), TlsConfig::new()?));
        let pool = NameServerPool::from_config([config], context, LenientRuntime::default());
        Ok(NameServer {
            address,
            pool,
            request,
            health: ServerHealth::default(),
        })
    }

    /// Looks up the IPv4 and IPv6 addresses of a name.
    async fn look_up(&self, name: &Name, start: Instant) -> LookupResult {
        let mut v4 = pin!(self.look_up_type(name, RecordType::A));
        let mut v6 = pin!(self.look_up_type(name, RecordType::AAAA));
        let (v4, v6) = tokio::select! {
            v6 = &mut v6 => (v4.await, v6),
            v4 = &mut v4 => {
                let has_address = matches!(&v4, Ok(found) if found.outcome.is_ok());
                let wait = if has_address { MAX_IPV6_WAIT } else { Duration::MAX };
                (v4, timeout(wait, v6).await.unwrap_or(Err(NetError::Timeout)))
            }
        };
        let is_unanswered = |result: &Result<LookupResult, NetError>| {
            matches!(
                result,
                Err(NetError::Timeout | NetError::Io(_) | NetError::NoConnections)
            )
        };
        if is_unanswered(&v4) && is_unanswered(&v6) {
            self.record_failure(start);
        } else if self.health.record_answer() {
            info!(server = %self.address, "name server answers again");
        }
        let [v4, v6] = [v4, v6].map(|result| result.unwrap_or_else(failure_of));
        v4.merge(v6)
    }

    /// Records that the server did not answer in time.
    fn record_failure(&self, start: Instant) {
        if self
            .health
            .record_failure(start.elapsed().as_millis() as u64)
        {
            warn!(server = %self.address, "name server does not answer; it is skipped for a while");
        }
    }

    /// Looks up the records of one type: queries the name and, if an answer ends with an alias, the alias too.
    async fn look_up_type(
        &self,
        name: &Name,
        record_type: RecordType,
    ) -> Result<LookupResult, NetError> {
        let mut chain = AliasChain::new(name.clone());
        loop {
            let query = Query::query(chain.name.clone(), record_type);
            let answer = self.pool.lookup(query, self.request).first_answer().await?;
            let (outcome, ttl) = match chain.follow(&answer.answers) {
                ChainStep::Alias => continue,
                ChainStep::Addresses(addresses, ttl) => (Ok(addresses), ttl),
                ChainStep::NoAddress => (
                    Err(Failure::DnsNoAddress),
                    answer.negative_ttl().unwrap_or(0),
                ),
            };
            let ttl = Duration::from_secs(ttl.into());
            return Ok(LookupResult::new(outcome, ttl));
        }
    }
}

/// The result for a reserved name, which is never sent to a server (RFC 6761, 6.3 and 6.4; RFC 7686).
fn reserved_name(name: &Name) -> Option<LookupResult> {
    if LOCALHOST.zone_of(name) {
        let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Some(LookupResult::new(Ok(addresses), Duration::MAX));
    }
    let never_exists = INVALID.zone_of(name) || ONION.zone_of(name);
    never_exists.then(|| LookupResult::failed(Failure::DnsNotFound))
}

/// The addresses of a name in the hosts file.
fn hosts_file_lookup(hosts: &Hosts, name: &Name) -> Option<LookupResult> {
    let types = [RecordType::A, RecordType::AAAA].into_iter();
    let addresses: Vec<IpAddr> = types
        .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
        .flat_map(|lookup| {
            let records = lookup.answers().iter();
            records
                .filter_map(|record| record.data.ip_addr())
                .collect::<Vec<_>>()
        })
        .collect();
    (!addresses.is_empty()).then(|| LookupResult::new(Ok(addresses), Duration::MAX))
}

fn config(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// The name of a zone in lower case, without the final dot.
fn zone_name(zone: &Name) -> Box<str> {
    let mut name = zone.to_ascii().to_ascii_lowercase();
    name.truncate(name.trim_end_matches('.').len());
    name.into()
}

/// Maps an error of the resolver library to NXDOMAIN, NODATA, a server failure or a timeout.
fn failure_of(error: NetError) -> LookupResult {
    match error {
        NetError::Timeout => LookupResult::failed(Failure::DnsTimeout),
        NetError::Dns(DnsError::NoRecordsFound(none)) => LookupResult {
            ttl: Duration::from_secs(none.negative_ttl.unwrap_or(0).into()),
            zone: match (none.response_code, &none.soa) {
                (ResponseCode::NXDomain, Some(soa)) => Some(zone_name(&soa.name)),
                _ => None,
            },
            outcome: Err(match none.response_code {
                ResponseCode::NXDomain => Failure::DnsNotFound,
                ResponseCode::NoError => Failure::DnsNoAddress,
                code => Failure::DnsFailed(code.to_string()),
            }),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => {
            LookupResult::failed(Failure::DnsFailed(code.to_string()))
        }
        error => LookupResult::failed(Failure::DnsFailed(error.to_string())),
    }
}
