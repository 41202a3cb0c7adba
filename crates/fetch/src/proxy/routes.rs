//! Which proxy serves a URL, and who resolves the name of its host.
//!
//! | URL or proxy | the name is resolved by | the guard and the pause per address know |
//! |---|---|---|
//! | no proxy, or a host in `no_proxy` | aranha | the address of the connection |
//! | `socks5://` | aranha, which sends the address | the address of the connection |
//! | `http://` | the proxy | the addresses that aranha's own look-up finds, if it finds any |
//! | `socks5h://` | the proxy | only addresses in URLs, unless `proxy_lookups = "require"` |
//!
//! If a proxy resolves names, the guard still checks the addresses in URLs. It also refuses names that no public host
//! has (`localhost`, `intranet`, `printer.local`), unless `allow_private` is set. If aranha looks up a name as well,
//! the guard refuses the name if any of its addresses is refused, because the proxy may choose that address.

use std::{net::SocketAddr, sync::Arc};

use aranha_url::{CanonUrl, Scheme};
use serde::{Deserialize, Serialize};

use super::{Proxy, ProxySetting, bypass::Bypass, url::ProxyProtocol};
use crate::{FetchRequest, Options, Resolved};

/// Whether aranha also looks up names that a proxy resolves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyLookups {
    /// With an `http://` proxy, aranha also looks up the host of each URL, if a name server answers. If no address is
    /// found, the request is sent all the same. With a `socks5h://` proxy, aranha never looks up the host, because
    /// people use such proxies to keep names away from the local name servers.
    #[default]
    Auto,
    /// aranha always looks up the names. If no allowed address is found, the request is not sent.
    Require,
    /// aranha never looks up the names.
    Never,
}

/// How a request for a URL reaches its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The request goes to one of these addresses, directly or through a proxy that takes addresses.
    Addresses(Resolved),
    /// The request goes through a proxy that resolves the name itself.
    Name {
        /// The addresses that aranha has found, if it looked up the name. The proxy may connect to another address.
        known: Option<Resolved>,
    },
}

/// Who resolves the name of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameLookup {
    /// aranha resolves the name, and sends no request if it finds no address.
    Required,
    /// The proxy resolves the name. aranha looks the name up too, and sends no request if it finds no address.
    Checked,
    /// The proxy resolves the name. aranha looks the name up too, if it can.
    Optional,
    /// The proxy resolves the name. aranha does not look it up.
    ByProxy,
}

impl NameLookup {
    /// Whether a crawl can work without name servers.
    pub(crate) fn is_optional(self) -> bool {
        matches!(self, NameLookup::Optional | NameLookup::ByProxy)
    }
}

/// How a request gets to its server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Via<'a> {
    /// Nothing: a direct connection.
    Direct,
    /// A cache that is read instead of the server.
    Cache(SocketAddr),
    Proxy(&'a Arc<Proxy>),
}

impl Via<'_> {
    /// Whether the request line contains the whole URL, because a proxy reads it (RFC 9112, 3.2.2).
    pub(crate) fn has_absolute_form(self, url: &CanonUrl) -> bool {
        match self {
            Via::Direct => false,
            Via::Cache(_) => true,
            Via::Proxy(proxy) => {
                proxy.protocol() == ProxyProtocol::Http && url.scheme() == Scheme::Http
            }
        }
    }

    /// Whether the proxy resolves the name of the host.
    pub(crate) fn resolves_names(self) -> bool {
        match self {
            Via::Direct => false,
            Via::Cache(_) => true,
            Via::Proxy(proxy) => proxy.protocol() != ProxyProtocol::Socks5,
        }
    }
}

/// The configured proxies.
#[derive(Debug)]
pub(crate) struct Routes {
    http: Option<Arc<Proxy>>,
    https: Option<Arc<Proxy>>,
    bypass: Bypass,
    lookups: ProxyLookups,
}

impl Routes {
    /// `None` if no proxy is configured. The error is a sentence that contains no secret.
    pub(crate) fn load(options: &Options) -> Result<Option<Box<Routes>>, String> {
        let load = |key: &str, setting: &ProxySetting| {
            let url = setting.load();
            url.map_err(|problem| format!("fetch.{key}: {problem}"))
        };
        let http = load("proxy", &options.proxy)?;
        let https = match &options.https_proxy {
            ProxySetting::Unset => http.clone(),
            setting => load("https_proxy", setting)?,
        };
        if http.is_none() && https.is_none() {
            return Ok(None);
        }
        let by_address = |url: &super::ProxyUrl| url.protocol == ProxyProtocol::Socks5;
        if options.proxy_lookups == ProxyLookups::Never && http.iter().chain(&https).any(by_address)
        {
            return Err(
                "fetch.proxy_lookups is `never`, but a socks5:// proxy gets addresses; write socks5h://, which gets names"
                    .to_owned(),
            );
        }
        let proxy = |url| Proxy::new(url, options);
        let is_same = http == https;
        let http = http.map(proxy);
        let https = if is_same {
            http.clone()
        } else {
            https.map(proxy)
        };
        Ok(Some(Box::new(Routes {
            http,
            https,
            bypass: Bypass::new(&options.no_proxy),
            lookups: options.proxy_lookups,
        })))
    }

    /// The proxies, each once.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &Arc<Proxy>> {
        let other = self.https.iter().filter(|https| {
            let http = self.http.as_ref();
            !http.is_some_and(|http| Arc::ptr_eq(http, https))
        });
        self.http.iter().chain(other)
    }

    /// The proxy for a URL; `None` for a direct connection.
    pub(crate) fn proxy_for(&self, url: &CanonUrl) -> Option<&Arc<Proxy>> {
        let proxy = match url.scheme() {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        proxy.filter(|_| !self.bypass.contains(url.host()))
    }

    /// Who resolves the name of the host of a URL.
    pub(crate) fn name_lookup(&self, url: &CanonUrl) -> NameLookup {
        match self.proxy_for(url) {
            Some(proxy) => self.lookup_behind(proxy),
            None => NameLookup::Required,
        }
    }

    fn lookup_behind(&self, proxy: &Proxy) -> NameLookup {
        match (proxy.protocol(), self.lookups) {
            (ProxyProtocol::Socks5, _) => NameLookup::Required,
            (_, ProxyLookups::Require) => NameLookup::Checked,
            (ProxyProtocol::Http, ProxyLookups::Auto) => NameLookup::Optional,
            (ProxyProtocol::Socks5h, ProxyLookups::Auto) | (_, ProxyLookups::Never) => {
                NameLookup::ByProxy
            }
        }
    }

    /// The strictest name lookup that any URL can require. It shows whether the crawl needs name servers.
    pub(crate) fn strictest_lookup(&self) -> NameLookup {
        let schemes = [&self.http, &self.https];
        let behind = schemes.map(|proxy| match proxy {
            Some(proxy) => self.lookup_behind(proxy),
            None => NameLookup::Required,
        });
        let order = [
            NameLookup::Required,
            NameLookup::Checked,
            NameLookup::Optional,
        ];
        let strictest = order.into_iter().find(|lookup| behind.contains(lookup));
        strictest.unwrap_or(NameLookup::ByProxy)
    }
}

/// How a request gets to its server.
pub(crate) fn via<'a>(routes: Option<&'a Routes>, request: &FetchRequest<'_>) -> Via<'a> {
    if let Some(cache) = request.cache {
        return Via::Cache(cache);
    }
    let proxy = routes.and_then(|routes| routes.proxy_for(request.url));
    proxy.map_or(Via::Direct, Via::Proxy)
}
