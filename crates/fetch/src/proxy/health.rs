//! Records whether a proxy can be used. A proxy cannot be used during an outage, or if it rejects the login.
//!
//! If a connection to the proxy fails, an *outage* begins, and requests through the proxy wait. A probe tries to
//! connect after a pause that grows from 1 to 30 seconds. The first success ends the outage. A request that fails
//! because of an outage does not use up a retry of its page or site. A failure does not begin an outage if another
//! connection to the proxy succeeded in the meantime.
//!
//! If a proxy rejects the login of the first request, it will also reject later logins, so the crawl stops. If the
//! proxy has accepted a login before, a single rejection may concern only one server. In this case the crawl stops only
//! after [`MAX_REJECTED_LOGINS`] rejections in a row.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{sync::watch, time::sleep};
use tracing::info;

use super::{ConnectError, Proxy, ProxyError, http_connect, socks5};
use crate::{Failure, http::exchange::ExchangeResult};

/// Pause before the first probe. It doubles after each probe.
const FIRST_PROBE_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause between two probes.
const MAX_PROBE_PAUSE: Duration = Duration::from_secs(30);

/// A proxy that has worked before becomes unusable after this number of rejected logins in a row.
const MAX_REJECTED_LOGINS: u32 = 20;

/// The state of one proxy. Clones of the fetcher share it.
#[derive(Debug)]
pub(crate) struct ProxyHealth {
    /// Why the proxy cannot be reached; `None` while it can be reached.
    outage: watch::Sender<Option<Arc<str>>>,
    /// Number of connections to the proxy that succeeded.
    connections: AtomicU64,
    /// Whether the proxy has accepted a login, or a request without one.
    has_accepted: AtomicBool,
    /// Rejected logins since the last accepted one.
    rejected: AtomicU32,
}

impl ProxyHealth {
    pub(super) fn new() -> ProxyHealth {
        ProxyHealth {
            outage: watch::Sender::new(None),
            connections: AtomicU64::new(0),
            has_accepted: AtomicBool::new(false),
            rejected: AtomicU32::new(0),
        }
    }

    /// Watches the reason of the outage, which is `None` while there is no outage.
    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.outage.subscribe()
    }

    pub(crate) fn is_down(&self) -> bool {
        self.outage.borrow().is_some()
    }

    /// Waits until no outage is in progress. Cancel-safe.
    pub(crate) async fn wait(&self) {
        let mut outage = self.outage.subscribe();
        outage
            .wait_for(Option::is_none)
            .await
            .expect("the health owns the sender");
    }

    /// Number of successful connections. It is the argument `before` of [`Proxy::record_error`].
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Records a connection to the proxy.
    pub(super) fn record_connection(&self, name: &str) {
        self.connections.fetch_add(1, Relaxed);
        if self.outage.send_replace(None).is_some() {
            info!(proxy = name, "the proxy can be reached again");
        }
    }

    /// Records that the proxy has accepted the login, or a request without one.
    pub(crate) fn record_accepted(&self) {
        self.has_accepted.store(true, Relaxed);
        self.rejected.store(0, Relaxed);
    }

    pub(crate) fn has_accepted(&self) -> bool {
        self.has_accepted.load(Relaxed)
    }
}

impl Proxy {
    /// Like [`Proxy::record_error`], for a proxy that was asked to connect to a server.
    pub(crate) fn record_connect_error(
        self: &Arc<Self>,
        error: ConnectError,
        before: u64,
    ) -> Failure {
        match error {
            ConnectError::Proxy(error) => self.record_error(error, before),
            ConnectError::Server(failure) => {
                self.health().record_accepted();
                failure
            }
            ConnectError::Closed => self.closed_without_answer(),
        }
    }

    /// Replaces the result of an exchange with an HTTP proxy by a failure if the proxy did not get a response from the
    /// server.
    pub(crate) fn check_exchange(self: &Arc<Self>, exchanged: &mut ExchangeResult) {
        let health = self.health();
        let failure = match &exchanged.result {
            Ok(received) => {
                let head = &received.head;
                match http_connect::check_response(head.status, &head.headers) {
                    Ok(()) => {
                        health.record_accepted();
                        return;
                    }
                    Err(error) => self.record_connect_error(error, health.connections()),
                }
            }
            Err(Failure::Reset) if exchanged.closed_early => self.closed_without_answer(),
            Err(Failure::Protocol(problem)) if !health.has_accepted() => {
                if socks5::is_answer(&exchanged.response) {
                    let problem = socks5::WRONG_SCHEME.to_owned();
                    self.record_error(ProxyError::Protocol(problem), health.connections())
                } else {
                    Failure::Protocol(format!(
                        "{problem}; perhaps {} is no HTTP proxy",
                        self.name()
                    ))
                }
            }
            Err(_) => return,
        };
        exchanged.result = Err(failure);
        exchanged.reusable = false;
    }

    /// The failure of a request after which the proxy closed the connection.
    pub(crate) fn closed_without_answer(&self) -> Failure {
        let hint = if self.health().has_accepted() {
            ""
        } else {
            "; if it is a SOCKS5 proxy, write socks5:// or socks5h://"
        };
        Failure::ConnectFailed(format!(
            "{} closed the connection without an answer{hint}",
            self.name()
        ))
    }

    /// Records that the proxy could not be used, and decides which failure the request has. `before` is the number of
    /// successful connections when the attempt began.
    pub(crate) fn record_error(self: &Arc<Self>, error: ProxyError, before: u64) -> Failure {
        let health = self.health();
        let unusable =
            |problem| Failure::ProxyUnusable(format!("{} cannot be used: {problem}", self.name()));
        match error {
            ProxyError::Login(problem) => {
                let rejected = health.rejected.fetch_add(1, Relaxed) + 1;
                if health.has_accepted() && rejected < MAX_REJECTED_LOGINS {
                    Failure::ConnectFailed(format!("the proxy refuses this server: {problem}"))
                } else {
                    unusable(problem)
                }
            }
            ProxyError::Protocol(problem) if health.has_accepted() => {
                Failure::ConnectFailed(format!("the proxy does not answer as expected: {problem}"))
            }
            ProxyError::Protocol(problem) => unusable(problem),
            ProxyError::Down(problem) => {
                let begins = health.connections() == before
                    && health.outage.send_if_modified(|outage| {
                        let begins = outage.is_none();
                        if begins {
                            *outage = Some(problem.as_str().into());
                        }
                        begins
                    });
                if begins {
                    // The level is not `warn`, because the engine also reports the outage to the user.
                    info!(proxy = self.name(), problem, "proxy outage: requests wait");
                    tokio::spawn(probe(Arc::downgrade(self)));
                }
                Failure::ProxyDown(format!("{} cannot be reached: {problem}", self.name()))
            }
        }
    }
}

/// Connects to the proxy from time to time until the outage is over.
async fn probe(proxy: Weak<Proxy>) {
    let mut pause = FIRST_PROBE_PAUSE;
    loop {
        sleep(pause).await;
        let Some(proxy) = proxy.upgrade() else { return };
        if !proxy.health().is_down() || proxy.dial(0).await.is_ok() {
            return;
        }
        pause = (pause * 2).min(MAX_PROBE_PAUSE);
    }
}
