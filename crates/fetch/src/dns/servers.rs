//! The name servers: asked in turn, so that the load is spread (N3), and the next one when one fails.

use std::{
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    lookup::Lookup,
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, RecordType},
    },
    system_conf::read_system_conf,
};
use tokio::time::timeout;

use super::Found;
use crate::{Failure, FetchSetupError, Options, web::unix_ms};

/// Servers asked for one name, one after the other.
const TRIES: usize = 3;

/// How long a server that did not answer is asked only when no other is left.
const SHUN_MS: i64 = 30_000;

/// With the IPv4 addresses at hand, how long those of IPv6 are waited for: some servers never answer for them.
const PATIENCE: Duration = Duration::from_millis(500);

/// All servers of the configuration, or the system's.
pub(super) struct Servers {
    servers: Vec<Server>,
    turn: AtomicUsize,
}

struct Server {
    client: TokioResolver,
    /// Unix milliseconds.
    shunned_until: AtomicI64,
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
        let servers = servers.collect::<Result<_, NetError>>().map_err(|error| {
            FetchSetupError::Resolver {
                servers: options.resolvers.clone(),
                reason: error.to_string(),
            }
        })?;
        Ok(Servers {
            servers,
            turn: AtomicUsize::new(0),
        })
    }

    /// The addresses of a name; a server that fails or is silent hands the question on to the next.
    pub(super) async fn ask(&self, name: &str) -> Found {
        // The dot at the end keeps search lists out of it.
        let Ok(name) = Name::from_ascii(format!("{name}.")) else {
            return Found::failed(Failure::DnsNotFound);
        };
        let mut found = Found::failed(Failure::DnsTimeout);
        for server in self.order() {
            found = server.ask(&name).await;
            if !matches!(
                found.outcome,
                Err(Failure::DnsFailed(_) | Failure::DnsTimeout)
            ) {
                break;
            }
        }
        found
    }

    /// The servers to try: from the one whose turn it is, the shunned ones last.
    fn order(&self) -> impl Iterator<Item = &Server> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.servers.len();
        let (before, after) = self.servers.split_at(turn);
        let now = unix_ms();
        let mut order: Vec<&Server> = after.iter().chain(before).collect();
        order.sort_by_key(|server| server.shunned_until.load(Ordering::Relaxed) > now);
        order.into_iter().cycle().take(TRIES)
    }
}

impl Server {
    fn new(config: NameServerConfig, settings: &ResolverOpts) -> Result<Server, NetError> {
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![config]);
        let client = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(settings.clone())
            .build()?;
        Ok(Server {
            client,
            shunned_until: AtomicI64::new(0),
        })
    }

    async fn ask(&self, name: &Name) -> Found {
        let mut v4 = pin!(self.client.lookup(name.clone(), RecordType::A));
        let mut v6 = pin!(self.client.lookup(name.clone(), RecordType::AAAA));
        let (v4, v6) = tokio::select! {
            v6 = &mut v6 => (v4.await, v6),
            v4 = &mut v4 => {
                let wait = if v4.is_ok() { PATIENCE } else { Duration::MAX };
                (v4, timeout(wait, v6).await.unwrap_or(Err(NetError::Timeout)))
            }
        };
        let silent = |result: &Result<Lookup, NetError>| {
            matches!(
                result,
                Err(NetError::Timeout | NetError::Io(_) | NetError::NoConnections)
            )
        };
        if silent(&v4) && silent(&v6) {
            self.shunned_until
                .store(unix_ms() + SHUN_MS, Ordering::Relaxed);
        }
        found(v4).or(found(v6))
    }
}

fn config(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// NXDOMAIN, NODATA, failures and silence told apart.
fn found(result: Result<Lookup, NetError>) -> Found {
    match result {
        Ok(lookup) => answer(&lookup),
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
