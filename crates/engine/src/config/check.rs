//! Checks that find values of the right type with which a crawl cannot work.

use super::derive::has_product;
use super::error::ConfigError;
use super::{Config, CrawlOptions, Origins, RobotsPolicy};

/// Checks the configuration. Returns the first error, with the key and its origin.
pub(super) fn check(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let error = |key: &str, (sentence, hint): Problem| ConfigError::Value {
        key: key.to_owned(),
        origin: origins.of(key),
        sentence,
        hint,
    };
    for (key, check) in CHECKS {
        check(&config.crawl).map_err(|problem| error(key, problem))?;
    }
    cache(&config.proxy_cache.proxy).map_err(|problem| error("proxy_cache.proxy", problem))?;
    let fetch = &config.fetch;
    for entry in &fetch.no_proxy {
        require(
            aranha_fetch::is_bypass_entry(entry),
            &format!("`{entry}` is not a host"),
            "for example [\"localhost\", \".example.org\", \"10.0.0.0/8\"], without scheme and port; \"*\" stands for all hosts",
        )
        .map_err(|problem| error("fetch.no_proxy", problem))?;
    }
    for (key, value) in [
        ("fetch.user_agent", Some(&fetch.user_agent)),
        ("fetch.from", fetch.from.as_ref()),
        ("fetch.accept", Some(&fetch.accept)),
        ("fetch.accept_language", fetch.accept_language.as_ref()),
    ] {
        header(value.map_or("", String::as_str)).map_err(|problem| error(key, problem))?;
    }
    for text in &fetch.headers {
        if let Err((problem, hint)) = aranha_fetch::check_header(text) {
            return Err(error("fetch.headers", (problem, Some(hint.to_owned()))));
        }
    }
    let by_type = fetch.max_body_by_type.iter();
    let by_type = by_type.map(|(name, size)| (format!("fetch.max_body_by_type.{name}"), size));
    let general = ("fetch.max_body".to_owned(), &fetch.max_body);
    for (key, size) in std::iter::once(general).chain(by_type) {
        require(
            *size <= MAX_BODY,
            "is more than the archive can store in one record",
            "use 4GB or less",
        )
        .map_err(|problem| error(&key, problem))?;
    }
    for store in &config.volume.stores {
        if let Err(problem) = aranha_volume::check_store(store) {
            let hint = "for example [\"/disk1/warc\", \"s3://bucket/prefix?endpoint=https://s3.example.org\"]";
            let sentence = format!("`{store}` cannot be used: {problem}");
            return Err(error("volume.stores", (sentence, Some(hint.to_owned()))));
        }
    }
    let product = &config.crawl.product;
    require(
        has_product(&fetch.user_agent, product),
        &format!("does not contain the product token `{product}`, for which robots.txt is obeyed"),
        "begin it with the name of the crawler, or set crawl.product to a name in it",
    )
    .map_err(|problem| error("fetch.user_agent", problem))?;
    config
        .scope()
        .and_then(|_| config.keep())
        .map(drop)
        .map_err(|error| add_origin(error, origins))
}

/// Adds the origin of the value to an error of `Config::scope`, because that function does not know the origin.
fn add_origin(error: ConfigError, origins: &Origins) -> ConfigError {
    match error {
        ConfigError::Value {
            key,
            sentence,
            hint,
            ..
        } => ConfigError::Value {
            origin: origins.of(&key),
            key,
            sentence,
            hint,
        },
        other => other,
    }
}

/// Maximum value of `fetch.max_body`. The compressed length of a record must be less than 4 GiB, even if the body
/// cannot be compressed.
const MAX_BODY: u64 = 4_000_000_000;

/// The sentence of an error message, and a hint.
type Problem = (String, Option<String>);
type ValueCheck = fn(&CrawlOptions) -> Result<(), Problem>;

const CHECKS: &[(&str, ValueCheck)] = &[
    ("crawl.sites", |crawl| {
        at_least_one(crawl.sites, "no site could be visited")
    }),
    ("crawl.connections", |crawl| {
        at_least_one(crawl.connections, "no page could be requested")
    }),
    ("crawl.pages", |crawl| {
        require(
            crawl.pages != Some(0),
            "the value is 0, so no page could be fetched",
            "use 1 or more; \"none\" removes the limit",
        )
    }),
    ("crawl.pages_per_site", |crawl| {
        require(
            crawl.pages_per_site != Some(0),
            "the value is 0, so no page could be fetched",
            "use 1 or more; \"none\" removes the limit",
        )
    }),
    ("crawl.size", |crawl| {
        require(
            crawl.size != Some(0),
            "the value is 0, so no page could be stored",
            "use 1 or more; \"none\" removes the limit",
        )
    }),
    ("crawl.pause_factor", |crawl| {
        require(
            crawl.pause_factor.is_finite() && crawl.pause_factor >= 0.0,
            "must be 0 or more",
            "0 disables the adaptation",
        )
    }),
    ("crawl.limit_rate", |crawl| {
        require(
            crawl.limit_rate != Some(0),
            "the value is 0, so nothing could be fetched",
            "\"none\" removes the limit",
        )
    }),
    ("crawl.tlds", |crawl| {
        let good = |tld: &String| {
            let bare = tld.trim_start_matches('.');
            !bare.is_empty() && !bare.contains(['/', ':', ' ', '*'])
        };
        require(
            crawl.tlds.iter().all(good),
            "is not a list of top-level domains",
            "for example [\"pt\", \"br\"]",
        )
    }),
    ("crawl.own_hosts", |crawl| {
        let good = |host: &String| {
            let is_address = host.trim_matches(['[', ']']).contains("::");
            let domain = host.strip_prefix('.');
            !host.is_empty()
                && !host.contains(['/', ' ', '*'])
                && (is_address || !host.contains(':'))
                && domain.is_none_or(|domain| domain.contains('.'))
        };
        require(
            crawl.own_hosts.iter().all(good),
            "is not a list of hosts",
            "for example [\"example.org\", \".example.net\"], without scheme and port; a leading dot includes subdomains",
        )
    }),
    ("crawl.robots", |crawl| {
        require(
            crawl.robots == RobotsPolicy::Obey || !crawl.own_hosts.is_empty(),
            "robots.txt can be ignored on your own hosts only, and crawl.own_hosts is empty",
            "name each of your hosts with --own-host",
        )
    }),
    ("crawl.product", |crawl| {
        let good = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
        require(
            !crawl.product.is_empty() && crawl.product.chars().all(good),
            "is not a product token: letters, `-` and `_` only (RFC 9309, 2.2.1)",
            "put a version or an address into fetch.user_agent",
        )
    }),
    ("crawl.contact", |crawl| {
        header(&crawl.contact)?;
        let contact = &crawl.contact;
        require(
            contact.is_empty() || contact.contains("://") || contact.contains('@'),
            "is neither the URL of a web page nor a mail address",
            "for example https://example.org/crawler or crawler@example.org",
        )
    }),
];

fn require(holds: bool, sentence: &str, hint: &str) -> Result<(), Problem> {
    if holds {
        Ok(())
    } else {
        Err((sentence.to_owned(), Some(hint.to_owned())))
    }
}

fn cache(text: &str) -> Result<(), Problem> {
    require(
        text.is_empty() || text.parse::<std::net::SocketAddr>().is_ok(),
        "is not the address and port of a proxy",
        "for example 127.0.0.1:3128; host names are not supported",
    )
}

fn at_least_one(value: usize, otherwise: &str) -> Result<(), Problem> {
    require(
        value > 0,
        &format!("the value is 0, so {otherwise}"),
        "use 1 or more",
    )
}

fn header(value: &str) -> Result<(), Problem> {
    let good = value.chars().all(|c| !c.is_control() && c.is_ascii());
    require(
        good,
        "cannot be sent in a header",
        "use plain ASCII on one line",
    )
}
