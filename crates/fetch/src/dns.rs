//! Host names to addresses (N3): a stub resolver over several servers, with its own cache.
//!
//! A look-up asks for A and AAAA at once; the IPv4 addresses come first in the answer. What is cached is already
//! judged by the guard, failures included, so that a name that leads nowhere is asked for once and not once a link.
//! Concurrent questions for one name are one question; when the asker is cancelled, a waiter asks in its place.
//! The servers (`dns/servers.rs`) take turns, and one that does not answer is left alone for a while.
//!
//! Does not keep anything across restarts: the caller stores [`Resolved`] with its site and brings it back.

mod cache;
mod servers;

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{OnceCell, Semaphore};

use self::{cache::Cache, servers::Servers};
use crate::{Failure, FetchSetupError, Options, Resolved, guard::Guard, web::unix_ms};

/// How long a failure of the servers is believed: long enough to spare them, short enough to try again.
const FAILURE_TTL: Duration = Duration::from_secs(30);

type Outcome = Result<Resolved, Failure>;

/// The resolver of a crawl.
pub(crate) struct Resolver {
    servers: Servers,
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
            servers: Servers::new(options)?,
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
            let expires_ms = resolved.expires_ms.min(expiry(self.ttl_max));
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
        let found = match tokio::time::timeout(self.timeout, self.servers.ask(name)).await {
            Ok(found) => found,
            Err(_) => Found::failed(Failure::DnsTimeout),
        };
        let expires_ms = expiry(match found.outcome {
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
}

/// Unix milliseconds of a moment from now on.
fn expiry(ttl: Duration) -> i64 {
    unix_ms().saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
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
