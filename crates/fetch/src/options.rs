//! The `[fetch]` table of the configuration: who we say we are, and every limit.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// Limits and identity for all fetches of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The `User-Agent` header, contact included (N9).
    pub user_agent: String,
    /// The `From` header: an e-mail address that reaches a person.
    pub from: Option<String>,
    /// The `Accept` header (N8).
    pub accept: String,
    /// The `Accept-Language` header.
    pub accept_language: Option<String>,
    /// For the TCP connection.
    #[serde(with = "aranha_units::duration")]
    pub connect_timeout: Duration,
    /// For the TLS handshake.
    #[serde(with = "aranha_units::duration")]
    pub tls_timeout: Duration,
    /// From the request's end to the answer's first byte.
    #[serde(with = "aranha_units::duration")]
    pub first_byte_timeout: Duration,
    /// Between two arrivals of bytes.
    #[serde(with = "aranha_units::duration")]
    pub idle_timeout: Duration,
    /// For the whole fetch, from the call to the last byte.
    #[serde(with = "aranha_units::duration")]
    pub total_timeout: Duration,
    /// Bytes a second below which an answer is given up, judged over `min_speed_window`; 0 = no limit.
    pub min_speed: u64,
    /// The window over which the speed is judged.
    #[serde(with = "aranha_units::duration")]
    pub min_speed_window: Duration,
    /// Longest answer head, bytes.
    #[serde(with = "aranha_units::size")]
    pub max_head: u64,
    /// Longest body on the wire; what is over is cut and the rest kept (N6).
    #[serde(with = "aranha_units::size")]
    pub max_body: u64,
    /// Longest body after decoding, a guard against compression bombs.
    #[serde(with = "aranha_units::size")]
    pub max_decoded: u64,
    /// Memory for all large answers under way together: who finds no room waits, within the whole-fetch limit.
    #[serde(with = "aranha_units::size")]
    pub body_memory: u64,
    /// Ask for no more than the longest body with `Range` (N7); who answers 416 is to be asked for the whole.
    pub range_requests: bool,
    /// Accepted media types, as `text/html` or `text/*`; empty = all. An answer that names none is accepted.
    pub media_types: Vec<String>,
    /// `max_body` for single media types, as `text/html` or `image/*`; the more exact name wins.
    pub max_body_by_type: BTreeMap<String, u64>,
    /// Refuse servers whose certificate does not verify. Off: the answer is kept and the fault recorded.
    pub verify_tls: bool,
    /// Let the address guard pass private, loopback, link-local and other special ranges.
    pub allow_private: bool,
    /// DNS servers to ask, the load spread over them; empty = the system's.
    pub resolvers: Vec<SocketAddr>,
    /// For one look-up, all tries at all servers included.
    #[serde(with = "aranha_units::duration")]
    pub dns_timeout: Duration,
    /// DNS answers live at least this long.
    #[serde(with = "aranha_units::duration")]
    pub dns_ttl_min: Duration,
    /// DNS answers live at most this long.
    #[serde(with = "aranha_units::duration")]
    pub dns_ttl_max: Duration,
    /// A DNS answer past its life is used for this long while it is asked for again (N3).
    #[serde(with = "aranha_units::duration")]
    pub dns_stale: Duration,
    /// Share of unanswered look-ups at which names count as down, and look-ups wait (N4); 0 = never.
    pub dns_breaker: f64,
    /// Look-ups on the way at once (N4).
    pub dns_concurrency: usize,
    /// Names kept in the DNS cache.
    pub dns_cache: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            user_agent: concat!("aranha/", env!("CARGO_PKG_VERSION")).to_owned(),
            from: None,
            accept: "text/html,application/xhtml+xml,*/*;q=0.8".to_owned(),
            accept_language: None,
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
            body_memory: 1 << 30,
            range_requests: false,
            media_types: Vec::new(),
            max_body_by_type: BTreeMap::new(),
            verify_tls: false,
            allow_private: false,
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
    /// Whether a body of this media type (lower case, without parameters) is wanted.
    pub(crate) fn wants(&self, media_type: &str) -> bool {
        let covered = |pattern: &String| covers(&pattern.to_ascii_lowercase(), media_type);
        media_type.is_empty() || self.media_types.is_empty() || self.media_types.iter().any(covered)
    }

    /// The longest body of this media type.
    pub(crate) fn body_limit(&self, media_type: &str) -> u64 {
        let by_type = |exact: bool| {
            let named =
                |pattern: &str| covers(pattern, media_type) && (pattern == media_type) == exact;
            self.max_body_by_type
                .iter()
                .find(|(pattern, _)| named(pattern))
                .map(|(_, limit)| *limit)
        };
        by_type(true)
            .or_else(|| by_type(false))
            .unwrap_or(self.max_body)
    }
}

/// Whether `text/html`, `text/*` or `*/*` covers a media type.
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
    fn media_types_by_pattern() {
        let options = Options {
            media_types: vec!["text/*".to_owned(), "Application/PDF".to_owned()],
            max_body_by_type: [("text/*".to_owned(), 10), ("text/html".to_owned(), 20)].into(),
            max_body: 5,
            ..Options::default()
        };
        for (media_type, wanted, limit) in [
            ("text/html", true, 20),
            ("text/plain", true, 10),
            ("application/pdf", true, 5),
            ("image/png", false, 5),
            ("textual/x", false, 5),
            ("", true, 5),
        ] {
            assert_eq!(options.wants(media_type), wanted, "{media_type}");
            assert_eq!(options.body_limit(media_type), limit, "{media_type}");
        }
        assert!(Options::default().wants("image/png"));
    }

    #[test]
    fn unknown_keys_are_refused_and_defaults_survive_the_way_out_and_in() {
        let text = serde_json::to_string(&Options::default()).expect("serializable");
        assert_eq!(
            serde_json::from_str::<Options>(&text).expect("the same"),
            Options::default()
        );
        assert_eq!(
            serde_json::from_str::<Options>("{}").expect("defaults"),
            Options::default()
        );
        serde_json::from_str::<Options>(r#"{"max_bdy": 1}"#).expect_err("unknown key");
    }
}
