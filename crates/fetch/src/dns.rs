//! Host names to addresses (N3): a stub resolver over several servers, with its own cache.
//!
//! A look-up asks for A and AAAA at once; the IPv4 addresses come first in the answer. What is cached is already
//! judged by the guard, failures included, so that a name that leads nowhere is asked for once and not once a link.
//! Concurrent questions for one name are one question; when the asker is cancelled, a waiter asks in its place.
//!
//! Does not keep anything across restarts: the caller stores [`Resolved`] with its site and brings it back.

mod cache;

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy},
    lookup::Lookup,
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, RecordType},
    },
};
use tokio::sync::{OnceCell, Semaphore};

use self::cache::Cache;
use crate::{Failure, FetchSetupError, Options, Resolved, guard::Guard, web::unix_ms};

/// How long a failure of the servers is believed: long enough to spare them, short enough to try again.
const FAILURE_TTL: Duration = Duration::from_secs(30);

type Outcome = Result<Resolved, Failure>;

/// The resolver of a crawl.
pub(crate) struct Resolver {
    client: TokioResolver,
    guard: Arc<Guard>,
    cache: Mutex<Cache>,
    asked: Mutex<HashMap<String, Arc<OnceCell<Outcome>>>>,
    slots: Semaphore,
    timeout: Duration,
    ttl_min: Duration,
    ttl_max: Duration,
}

impl Resolver {
    pub(crate) fn new(options: &Options, guard: Arc<Guard>) -> Result<Resolver, FetchSetupError> {
        Ok(Resolver {
            client: client(options)?,
            guard,
            cache: Mutex::new(Cache::new(options.dns_cache)),
            asked: Mutex::default(),
            slots: Semaphore::new(options.dns_concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            timeout: options.dns_timeout,
            ttl_min: options.dns_ttl_min,
            ttl_max: options.dns_ttl_max.max(options.dns_ttl_min),
        })
    }

    pub(crate) async fn resolve(&self, host: &str) -> Outcome {
        if let Some(address) = literal(host) {
            self.guard.pass(address)?;
            return Ok(Resolved {
                addresses: vec![address],
                expires_ms: i64::MAX,
            });
        }
        let name = host.trim_end_matches('.');
        if let Some(outcome) = lock(&self.cache).get(name, unix_ms()) {
            return outcome;
        }
        let question = Question::of(&self.asked, name);
        question.cell.get_or_init(|| self.ask(name)).await.clone()
    }

    pub(crate) fn remember(&self, host: &str, resolved: &Resolved) {
        let name = host.trim_end_matches('.');
        if literal(host).is_some() || resolved.expires_ms <= unix_ms() {
            return;
        }
        if let Ok(addresses) = self.judge(resolved.addresses.clone()) {
            let expires_ms = resolved.expires_ms.min(self.expiry(self.ttl_max));
            lock(&self.cache).put(
                name,
                Ok(Resolved {
                    addresses,
                    expires_ms,
                }),
                expires_ms,
            );
        }
    }

    /// Asks the servers and caches the outcome, whatever it is.
    async fn ask(&self, name: &str) -> Outcome {
        let _slot = self.slots.acquire().await;
        let found = match tokio::time::timeout(self.timeout, self.look_up(name)).await {
            Ok(found) => found,
            Err(_) => Found::failed(Failure::DnsTimeout),
        };
        let expires_ms = self.expiry(match found.outcome {
            Err(Failure::DnsFailed(_) | Failure::DnsTimeout) => FAILURE_TTL.min(self.ttl_min),
            _ => found.ttl.clamp(self.ttl_min, self.ttl_max),
        });
        let outcome = found
            .outcome
            .and_then(|addresses| self.judge(addresses))
            .map(|addresses| Resolved {
                addresses,
                expires_ms,
            });
        lock(&self.cache).put(name, outcome.clone(), expires_ms);
        outcome
    }

    async fn look_up(&self, name: &str) -> Found {
        // The dot at the end keeps the search list out of it.
        let Ok(name) = Name::from_ascii(format!("{name}.")) else {
            return Found::failed(Failure::DnsNotFound);
        };
        let (v4, v6) = tokio::join!(
            self.client.lookup(name.clone(), RecordType::A),
            self.client.lookup(name, RecordType::AAAA),
        );
        Found::of(v4).or(Found::of(v6))
    }

    /// The addresses that the guard passes; its refusal when there are none.
    fn judge(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Failure> {
        let mut refusal = Failure::DnsNoAddress;
        let mut passed = addresses;
        passed.retain(|address| match self.guard.pass(*address) {
            Ok(()) => true,
            Err(failure) => {
                refusal = failure;
                false
            }
        });
        if passed.is_empty() {
            Err(refusal)
        } else {
            Ok(passed)
        }
    }

    fn expiry(&self, ttl: Duration) -> i64 {
        unix_ms().saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
    }
}

fn client(options: &Options) -> Result<TokioResolver, FetchSetupError> {
    let mut builder = if options.resolvers.is_empty() {
        TokioResolver::builder_tokio()
            .map_err(|error| FetchSetupError::SystemResolver(error.to_string()))?
    } else {
        let servers = options.resolvers.iter().map(server).collect();
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let settings = builder.options_mut();
    settings.cache_size = 0;
    settings.attempts = 2;
    settings.timeout = (options.dns_timeout / 3).max(Duration::from_millis(200));
    settings.num_concurrent_reqs = 1;
    settings.max_active_requests = options.dns_concurrency.saturating_mul(2).max(32);
    settings.server_ordering_strategy = ServerOrderingStrategy::RoundRobin;
    if !options.resolvers.is_empty() {
        settings.use_hosts_file = ResolveHosts::Never;
    }
    builder.build().map_err(|error| FetchSetupError::Resolver {
        servers: options.resolvers.clone(),
        reason: error.to_string(),
    })
}

fn server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// An IP address written as a host, IPv6 with or without brackets.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

/// What one question brought, before the guard.
struct Found {
    outcome: Result<Vec<IpAddr>, Failure>,
    ttl: Duration,
}

impl Found {
    fn failed(failure: Failure) -> Found {
        Found {
            outcome: Err(failure),
            ttl: Duration::ZERO,
        }
    }

    fn of(result: Result<Lookup, NetError>) -> Found {
        match result {
            Ok(lookup) => Found::answer(&lookup),
            Err(NetError::Timeout) => Found::failed(Failure::DnsTimeout),
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) => Found {
                ttl: Duration::from_secs(none.negative_ttl.unwrap_or(0).into()),
                outcome: Err(match none.response_code {
                    ResponseCode::NXDomain => Failure::DnsNotFound,
                    ResponseCode::NoError => Failure::DnsNoAddress,
                    code => Failure::DnsFailed(code.to_string()),
                }),
            },
            Err(NetError::Dns(DnsError::ResponseCode(code))) => {
                Found::failed(Failure::DnsFailed(code.to_string()))
            }
            Err(error) => Found::failed(Failure::DnsFailed(error.to_string())),
        }
    }

    fn answer(lookup: &Lookup) -> Found {
        let mut addresses = Vec::new();
        let mut ttl = u32::MAX;
        for record in lookup.answers() {
            match record.data {
                RData::A(address) => addresses.push(IpAddr::V4(address.0)),
                RData::AAAA(address) => addresses.push(IpAddr::V6(address.0)),
                _ => {}
            }
            ttl = ttl.min(record.ttl);
        }
        let outcome = if addresses.is_empty() {
            Err(Failure::DnsNoAddress)
        } else {
            Ok(addresses)
        };
        Found {
            outcome,
            ttl: Duration::from_secs(ttl.into()),
        }
    }

    /// IPv4 and IPv6 together: any addresses win over any failure, and a name that does not exist, or whose servers
    /// fail, for one kind says more than "no address of the other kind".
    fn or(self, other: Found) -> Found {
        let ttl = self.ttl.min(other.ttl);
        match (self.outcome, other.outcome) {
            (Ok(mut first), Ok(second)) => {
                first.extend(second);
                Found {
                    outcome: Ok(first),
                    ttl,
                }
            }
            (Ok(only), Err(_)) => Found {
                outcome: Ok(only),
                ttl: self.ttl,
            },
            (Err(_), Ok(only)) => Found {
                outcome: Ok(only),
                ttl: other.ttl,
            },
            (Err(Failure::DnsNoAddress), Err(failure)) | (Err(failure), Err(_)) => Found {
                outcome: Err(failure),
                ttl,
            },
        }
    }
}

/// A place in the queue for one name's answer; the last to leave takes the name off the list.
struct Question<'a> {
    asked: &'a Mutex<HashMap<String, Arc<OnceCell<Outcome>>>>,
    name: &'a str,
    cell: Arc<OnceCell<Outcome>>,
}

impl<'a> Question<'a> {
    fn of(
        asked: &'a Mutex<HashMap<String, Arc<OnceCell<Outcome>>>>,
        name: &'a str,
    ) -> Question<'a> {
        let mut list = lock(asked);
        let cell = match list.get(name) {
            Some(cell) => cell.clone(),
            None => list.entry(name.to_owned()).or_default().clone(),
        };
        Question { asked, name, cell }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let mut list = lock(self.asked);
        // Two: the list's and ours. Others are only added under this lock.
        if Arc::strong_count(&self.cell) <= 2 {
            list.remove(self.name);
        }
    }
}

/// A panic elsewhere leaves these maps whole: every change is one call.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
