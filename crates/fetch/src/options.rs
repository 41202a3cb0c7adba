//! The `[fetch]` section of the configuration: the request headers that identify the crawler, timeouts, size limits,
//! TLS, the address guard and DNS.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Credentials, ProxyLookups, ProxySetting};

/// Options of all fetches of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The `User-Agent` header. It should contain a contact address (N9).
    pub user_agent: String,
    /// The `From` header: the e-mail address of a person to contact.
    pub from: Option<String>,
    /// The `Accept` header (N8). The configuration derives it from `media_types` if it is not set.
    pub accept: String,
    /// The `Accept-Language` header.
    pub accept_language: Option<String>,
    /// Further headers for every request to every server, each `Name: value`. They are archived.
    pub headers: Vec<String>,
    /// Credentials by origin (`https://example.org`). They are sent to that origin only, and are not archived.
    pub auth: BTreeMap<String, Credentials>,
    /// File with cookies in the Netscape format; empty = none. The cookies are sent to their domains only, and are not
    /// archived. A relative path is relative to the configuration file.
    pub cookies: String,
    /// Maximum time for opening the TCP connection.
    #[serde(with = "aranha_units::duration")]
    pub connect_timeout: Duration,
    /// Maximum time for the TLS handshake.
    #[serde(with = "aranha_units::duration")]
    pub tls_timeout: Duration,
    /// Maximum time from the end of the request to the first byte of the response.
    #[serde(with = "aranha_units::duration")]
    pub first_byte_timeout: Duration,
    /// Maximum time without receiving a byte, after the first byte of the response.
    #[serde(with = "aranha_units::duration")]
    pub idle_timeout: Duration,
    /// Maximum time of the whole fetch, from the call to the last byte of the response.
    #[serde(with = "aranha_units::duration")]
    pub total_timeout: Duration,
    /// Minimum speed in bytes per second, averaged over `min_speed_window` (0 = no limit). A slower response is
    /// truncated.
    pub min_speed: u64,
    /// The period over which the speed is averaged.
    #[serde(with = "aranha_units::duration")]
    pub min_speed_window: Duration,
    /// Maximum size of a response head.
    #[serde(with = "aranha_units::size")]
    pub max_head: u64,
    /// Maximum size of a body as received, before decoding. A longer body is truncated to this size (N6).
    #[serde(with = "aranha_units::size")]
    pub max_body: u64,
    /// Maximum size of a body after decoding. Protects against compression bombs.
    #[serde(with = "aranha_units::size")]
    pub max_decoded: u64,
    /// Maximum download rate in bytes per second, over all connections. Set from `crawl.limit_rate`.
    #[serde(skip)]
    pub limit_rate: Option<u64>,
    /// Folder for temporary files. A body of more than 32 MiB, or more than half of `body_memory`, continues in a file
    /// there. Without a folder all bodies stay in memory. Set to a folder of the collection.
    #[serde(skip)]
    pub spool_folder: Option<PathBuf>,
    /// Memory for all large responses in flight together. A response that does not fit waits, within `total_timeout`.
    #[serde(with = "aranha_units::size")]
    pub body_memory: u64,
    /// Send a `Range` header that limits the response to the maximum body size (N7). After a 416 response, the engine
    /// repeats the request without the header.
    pub range_requests: bool,
    /// Accepted media types, such as `text/html` or `text/*`; empty = all. A response without `Content-Type` is
    /// accepted.
    pub media_types: Vec<String>,
    /// Replaces `max_body` for some media types, such as `text/html` or `image/*`. An exact type takes precedence over
    /// a pattern.
    pub max_body_by_type: BTreeMap<String, u64>,
    /// Fail if the server's certificate is invalid. If false, the response is kept and the certificate error is
    /// recorded.
    pub verify_tls: bool,
    /// Allow addresses in private, loopback, link-local and other special ranges.
    pub allow_private: bool,
    /// Local addresses from which connections are opened, for several network exits (N13); empty = the system chooses.
    /// A site keeps its exit.
    pub source_addresses: Vec<IpAddr>,
    /// Proxy for all requests: `http://HOST:PORT`, `socks5://HOST:PORT` or `socks5h://HOST:PORT`, with `USER:PASSWORD@`
    /// before the host if needed. With `@FILE` the URL is read from a file, with `$NAME` from an environment variable.
    /// Empty or `none` = no proxy.
    pub proxy: ProxySetting,
    /// Another proxy for `https` URLs; empty = the same as `proxy`, `none` = no proxy.
    pub https_proxy: ProxySetting,
    /// Hosts that are reached without the proxy: names with their subdomains, addresses, networks such as `10.0.0.0/8`,
    /// or `*`.
    pub no_proxy: Vec<String>,
    /// Whether names that the proxy resolves are also looked up here, for the address guard and the pause per address.
    pub proxy_lookups: ProxyLookups,
    /// Name servers to query in turn; empty = the system's.
    pub resolvers: Vec<SocketAddr>,
    /// Maximum time for one look-up, including all retries at all servers.
    #[serde(with = "aranha_units::duration")]
    pub dns_timeout: Duration,
    /// Minimum time for which a DNS answer is cached.
    #[serde(with = "aranha_units::duration")]
    pub dns_ttl_min: Duration,
    /// Maximum time for which a DNS answer is cached.
    #[serde(with = "aranha_units::duration")]
    pub dns_ttl_max: Duration,
    /// How long an expired DNS answer may still be used while it is refreshed (N3).
    #[serde(with = "aranha_units::duration")]
    pub dns_stale: Duration,
    /// Share of unanswered DNS queries, from 0 to 1, at which the circuit breaker opens and look-ups wait (N4); 0 = the
    /// breaker never opens.
    pub dns_breaker: f64,
    /// Maximum number of concurrent DNS look-ups (N4).
    pub dns_concurrency: usize,
    /// Maximum number of names in the DNS cache.
    pub dns_cache: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            user_agent: concat!("aranha/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: None,
            accept: "text/html,application/xhtml+xml,*/*;q=0.8".to_owned(),
            accept_language: None,
            headers: Vec::new(),
            auth: BTreeMap::new(),
            cookies: String::new(),
            connect_timeout: Duration::from_secs(10),
            tls_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_mins(2),
            min_speed: 100,
            min_speed_window: Duration::from_secs(30),
            max_head: 64 << 10,
            max_body: 20 << 20,
            max_decoded: 100 << 20,
            limit_rate: None,
            spool_folder: None,
            body_memory: 1 << 30,
            range_requests: false,
            media_types: Vec::new(),
            max_body_by_type: BTreeMap::new(),
            verify_tls: false,
            allow_private: false,
            source_addresses: Vec::new(),
            proxy: ProxySetting::Unset,
            https_proxy: ProxySetting::Unset,
            no_proxy: Vec::new(),
            proxy_lookups: ProxyLookups::Auto,
            resolvers: Vec::new(),
            dns_timeout: Duration::from_secs(10),
            dns_ttl_min: Duration::from_mins(5),
            dns_ttl_max: Duration::from_hours(24),
            dns_stale: Duration::from_hours(7 * 24),
            dns_breaker: 0.9,
            dns_concurrency: 200,
            dns_cache: 200_000,
        }
    }
}

impl Options {
    /// Whether bodies of this media type (lower case, without parameters) are accepted.
    pub(crate) fn accepts(&self, media_type: &str) -> bool {
        let matches = |pattern: &String| covers(&pattern.to_ascii_lowercase(), media_type);
        media_type.is_empty() || self.media_types.is_empty() || self.media_types.iter().any(matches)
    }

    /// The maximum body size for this media type.
    pub(crate) fn max_body_of(&self, media_type: &str) -> u64 {
        let by_type = |exact: bool| {
            let matches =
                |pattern: &str| covers(pattern, media_type) && (pattern == media_type) == exact;
            self.max_body_by_type
                .iter()
                .find(|(pattern, _)| matches(pattern))
                .map(|(_, limit)| *limit)
        };
        by_type(true)
            .or_else(|| by_type(false))
            .unwrap_or(self.max_body)
    }
}

/// Whether a pattern such as `text/html`, `text/*` or `*/*` covers a media type.
fn covers(pattern: &str, media_type: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("*/" | "") => true,
        Some(group) => media_type.starts_with(group),
        None => pattern == media_type,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_match_patterns() {
        let options = Options {
            media_types: vec!["text/*".to_owned(), "Application/PDF".to_owned()],
            max_body_by_type: [("text/*".to_owned(), 10), ("text/html".to_owned(), 20)].into(),
            max_body: 5,
            ..Options::default()
        };
        for (media_type, accepted, limit) in [
            ("text/html", true, 20),
            ("text/plain", true, 10),
            ("application/pdf", true, 5),
            ("image/png", false, 5),
            ("textual/x", false, 5),
            ("", true, 5),
        ] {
            assert_eq!(options.accepts(media_type), accepted, "{media_type}");
            assert_eq!(options.max_body_of(media_type), limit, "{media_type}");
        }
        assert!(Options::default().accepts("image/png"));
    }

    #[test]
    fn defaults_round_trip_and_unknown_keys_are_rejected() {
        let text = serde_json::to_string(&Options::default()).expect("serialization cannot fail");
        assert_eq!(
            serde_json::from_str::<Options>(&text).expect("a valid configuration"),
            Options::default()
        );
        assert_eq!(
            serde_json::from_str::<Options>("{}").expect("defaults"),
            Options::default()
        );
        serde_json::from_str::<Options>(r#"{"max_bdy": 1}"#).expect_err("unknown key");
    }
}
