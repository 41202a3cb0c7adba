//! Connections to a proxy: TCP, and the greeting and login of SOCKS.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aranha_url::CanonUrl;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tracing::debug;

use super::{ProxyError, ProxyHealth, ProxyUrl, routes::Routes, socks5, url::ProxyProtocol};
use crate::{
    FetchSetupError, Options,
    clock::deadline_after,
    connection::connect::{choose_source, connect_tcp},
    dns::ip_literal,
};

/// How long the addresses of a proxy with a host name are used.
const ADDRESSES_TTL: Duration = Duration::from_mins(5);

/// A proxy in use.
pub(crate) struct Proxy {
    url: ProxyUrl,
    /// How messages name the proxy: `the proxy http://127.0.0.1:3128`. Contains no login.
    name: String,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
    connect_timeout: Duration,
    source_addresses: Vec<IpAddr>,
    rate_limited: bool,
    /// The addresses of the host name, and when they were looked up.
    addresses: Mutex<Option<(Instant, Vec<SocketAddr>)>>,
    health: ProxyHealth,
}

impl Proxy {
    pub(super) fn new(url: ProxyUrl, options: &Options) -> Arc<Proxy> {
        Arc::new(Proxy {
            name: format!("the proxy {url}"),
            authorization: url.authorization(),
            connect_timeout: options.connect_timeout,
            source_addresses: options.source_addresses.clone(),
            rate_limited: options.limit_rate.is_some(),
            addresses: Mutex::default(),
            health: ProxyHealth::new(),
            url,
        })
    }

    /// How messages name the proxy: `the proxy http://127.0.0.1:3128`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn url(&self) -> &ProxyUrl {
        &self.url
    }

    pub(crate) fn protocol(&self) -> ProxyProtocol {
        self.url.protocol
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    pub(crate) fn health(&self) -> &ProxyHealth {
        &self.health
    }

    /// Opens a connection to the proxy within `connect_timeout`. With a SOCKS proxy this includes the login, so that
    /// the proxy can then be asked to connect to a server. `site` chooses one of several source addresses.
    pub(crate) async fn dial(&self, site: u64) -> Result<TcpStream, ProxyError> {
        let deadline = deadline_after(Instant::now(), self.connect_timeout);
        match self.dial_until(site, deadline).await {
            Ok(stream) => {
                self.health.record_connection(&self.name);
                Ok(stream)
            }
            // The proxy has accepted a request before, so this fault is treated as an outage.
            Err(ProxyError::Login(problem) | ProxyError::Protocol(problem))
                if self.health.has_accepted() =>
            {
                Err(ProxyError::Down(problem))
            }
            Err(error) => {
                *self.lock_addresses() = None;
                Err(error)
            }
        }
    }

    async fn dial_until(&self, site: u64, deadline: Instant) -> Result<TcpStream, ProxyError> {
        let late = |what: &str| {
            let seconds = self.connect_timeout.as_secs_f64();
            ProxyError::Down(format!("no answer{what} within {seconds} s"))
        };
        let opened = timeout_at(deadline, self.open_tcp(site)).await;
        let mut stream = opened.map_err(|_| late(""))??;
        if self.protocol() != ProxyProtocol::Http {
            let greeting = socks5::greet(&mut stream, self.url.login.as_ref());
            let greeted = timeout_at(deadline, greeting).await;
            greeted.map_err(|_| late(" to the SOCKS greeting"))??;
            self.health.record_accepted();
        }
        Ok(stream)
    }

    /// Tries the addresses of the proxy in turn.
    async fn open_tcp(&self, site: u64) -> Result<TcpStream, ProxyError> {
        let addresses = self.resolve().await.map_err(|error| {
            ProxyError::Down(format!("its host name cannot be resolved ({error})"))
        })?;
        let mut problem = "its host name has no address".to_owned();
        for target in addresses {
            let Ok(source) = choose_source(&self.source_addresses, site, target.ip()) else {
                "fetch.source_addresses has no address of its IP version".clone_into(&mut problem);
                continue;
            };
            match connect_tcp(target, source, self.rate_limited).await {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    debug!(proxy = %self.url, address = %target, "connected to the proxy");
                    return Ok(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    "connection refused".clone_into(&mut problem);
                }
                Err(error) => problem = error.to_string(),
            }
        }
        Err(ProxyError::Down(problem))
    }

    /// The addresses of the proxy. The operating system looks up the proxy's name, because the name may be in the hosts
    /// file or in a local domain.
    async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        if let Some(address) = ip_literal(&self.url.host) {
            return Ok(vec![SocketAddr::new(address, self.url.port)]);
        }
        if let Some((begun, addresses)) = &*self.lock_addresses()
            && begun.elapsed() < ADDRESSES_TTL
        {
            return Ok(addresses.clone());
        }
        let place = (self.url.host.as_str(), self.url.port);
        let addresses: Vec<_> = tokio::net::lookup_host(place).await?.collect();
        *self.lock_addresses() = Some((Instant::now(), addresses.clone()));
        Ok(addresses)
    }

    fn lock_addresses(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Vec<SocketAddr>)>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Connects once to each configured proxy, to check that it can be used. If `urls` is not empty, only the proxies for
/// these URLs are checked. Does nothing if no proxy is configured.
pub async fn check_proxies(options: &Options, urls: &[CanonUrl]) -> Result<(), FetchSetupError> {
    let Some(routes) = Routes::load(options).map_err(FetchSetupError::Proxy)? else {
        return Ok(());
    };
    for proxy in routes.proxies() {
        let serves = |url| {
            routes
                .proxy_for(url)
                .is_some_and(|other| Arc::ptr_eq(other, proxy))
        };
        if !urls.is_empty() && !urls.iter().any(serves) {
            continue;
        }
        proxy.dial(0).await.map_err(|error| {
            let problem = error.problem();
            FetchSetupError::ProxyUnusable(format!("{} cannot be used: {problem}", proxy.name()))
        })?;
    }
    Ok(())
}
