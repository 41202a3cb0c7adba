//! Command-line flags that set configuration values. The origin of such a value is `flag --NAME`.
//!
//! Used by `crawl` and `config show`. A field of [`Settings`] has the syntax of a flag, and a row of
//! [`Settings::flags`] has the key that the flag sets. [`load`] reads all layers, and warns about old key names.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aranha_engine::Clock;
use aranha_engine::config::{Config, FlagValues, Layers, Origins, ProxyVariables};
use aranha_units::{duration, size};
use clap::Args;
use toml::Value;

use crate::error::CommandError;
use crate::logging;
use crate::output::message;
use crate::point_in_time::PointInTime;
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;

/// Loads a configuration. Warns about each old key name once per process.
pub(crate) fn load(layers: &Layers) -> Result<(Config, Origins), CommandError> {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let (config, origins) = Config::load(layers)?;
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    for renamed in origins.renamed() {
        let warning = renamed.to_string();
        if !warned.contains(&warning) {
            message(format_args!("warning: {}", Escaped(&warning)));
            warned.insert(warning);
        }
    }
    Ok((config, origins))
}

/// The flags that set configuration values.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Also read this configuration file; its values override those of the collection's own file (docs/configuration.md)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Named set of configuration values; `aranha config profiles` lists them [default: default]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Set any configuration value, such as crawl.pause=5s (repeatable)
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,

    /// Which links to follow: page (no links), prefix (links into the directory of a seed), host, domain, any [default: host]
    #[arg(long, value_name = "REACH", value_parser = ["page", "prefix", "host", "domain", "any"], help_heading = "What to crawl")]
    scope: Option<String>,
    /// Also crawl everything under this top-level domain (repeatable)
    #[arg(
        long,
        value_name = "TLD",
        value_delimiter = ',',
        help_heading = "What to crawl"
    )]
    tld: Vec<String>,
    /// Maximum link depth from a seed (0 = seeds only) [default: none]
    #[arg(short = 'l', long, value_name = "N", value_parser = count, allow_hyphen_values = true, help_heading = "What to crawl")]
    depth: Option<Value>,
    /// Crawl only URLs that match a filter, such as 'domain:example.org and not ext:zip' (repeatable)
    #[arg(long, value_name = "FILTER", help_heading = "What to crawl")]
    accept: Vec<String>,
    /// Skip URLs that match this filter (repeatable)
    #[arg(long, value_name = "FILTER", help_heading = "What to crawl")]
    reject: Vec<String>,
    /// Store only responses that match a filter, such as 'type:application/pdf'; links of all pages are followed (repeatable)
    #[arg(long, value_name = "FILTER", help_heading = "What to crawl")]
    keep: Vec<String>,

    /// Also fetch the images, style sheets, fonts and scripts of every page, at any depth and on any host
    #[arg(long, help_heading = "What to crawl")]
    assets: bool,

    /// Stop after this many pages [default: none]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true, help_heading = "When to stop")]
    pages: Option<Value>,
    /// Fetch at most this many pages from each site; pages that were fetched are still revisited [default: none]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true, help_heading = "When to stop")]
    pages_per_site: Option<Value>,
    /// Stop after this duration, such as 90s, 8h or 2d [default: none]
    #[arg(long, value_name = "TIME", value_parser = time_limit, allow_hyphen_values = true, help_heading = "When to stop")]
    time: Option<Value>,
    /// Stop at this time: a date (the end of that day), a date and time in UTC, or an RFC 3339 time
    #[arg(long, value_name = "TIME", value_parser = until, conflicts_with = "time", help_heading = "When to stop")]
    until: Option<Value>,
    /// Stop when the archive has grown by this size, such as 500MB or 20GiB [default: none]
    #[arg(long, value_name = "SIZE", value_parser = size_limit, allow_hyphen_values = true, help_heading = "When to stop")]
    size: Option<Value>,

    /// Keep running, and revisit pages in rounds of this length, such as 6h, day or 2w
    #[arg(long, value_name = "TIME", value_parser = round, allow_hyphen_values = true, help_heading = "Revisits")]
    every: Option<Value>,
    /// Keep running until Ctrl-C, and revisit pages when they are due
    #[arg(long, help_heading = "Revisits")]
    continuous: bool,
    /// Policy that schedules revisits (docs/configuration.md) [default: frequency]
    #[arg(long, value_name = "POLICY", value_parser = ["never", "fixed", "frequency", "selective", "poisson", "optimal"], help_heading = "Revisits")]
    revisit: Option<String>,

    /// Courtesy pause between two requests to one site or address; a bare number is seconds [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, help_heading = "How fast")]
    pause: Option<Value>,
    /// Number of sites visited in parallel [default: 1000]
    #[arg(long, value_name = "N", help_heading = "How fast")]
    sites: Option<u32>,
    /// Parallel requests to one site; use more than 1 only for your own site [default: 1]
    #[arg(long, value_name = "N", help_heading = "How fast")]
    connections: Option<u32>,
    /// Maximum download rate in bytes per second, all sites together, such as 10MB [default: none]
    #[arg(long, value_name = "SIZE", value_parser = size_limit, allow_hyphen_values = true, help_heading = "How fast")]
    limit_rate: Option<Value>,

    /// Web page or mail address of the operator, sent with every request
    #[arg(long, value_name = "URL-or-MAIL", help_heading = "Network")]
    contact: Option<String>,
    /// User-Agent header [default: product name, version and contact]
    #[arg(long, value_name = "TEXT", help_heading = "Network")]
    user_agent: Option<String>,
    /// Send this header with every request, such as 'Accept-Language: pt' (repeatable)
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Network")]
    header: Vec<String>,
    /// Credentials for one origin: `https://example.org=basic USER:PASSWORD` or `…=bearer TOKEN`. USER:PASSWORD
    /// or TOKEN may be replaced by @FILE or $NAME, to read it from a file or an environment variable (repeatable)
    #[arg(long, value_name = "ORIGIN=CREDENTIALS", value_parser = credentials, help_heading = "Network")]
    auth: Vec<(String, String)>,
    /// Send the cookies in this file, in the format of curl and wget
    #[arg(long, value_name = "FILE", help_heading = "Network")]
    cookies: Option<String>,
    /// Use this DNS server instead of the system's (repeatable)
    #[arg(long, value_name = "IP[:PORT]", value_parser = resolver, help_heading = "Network")]
    resolver: Vec<SocketAddr>,
    /// Open connections from this local address; with several, sites are spread over them (repeatable)
    #[arg(long, value_name = "IP", help_heading = "Network")]
    bind_address: Vec<IpAddr>,
    /// Send requests through this proxy: http://HOST:PORT, socks5://HOST:PORT (aranha resolves names) or socks5h://HOST:PORT
    /// (the proxy resolves them), with USER:PASSWORD@ before HOST if needed; @FILE reads the URL from a file, $NAME from an
    /// environment variable; `none` ignores `http_proxy` and the other environment variables
    #[arg(long, value_name = "URL", help_heading = "Network")]
    proxy: Option<String>,
    /// Also connect to private, loopback and other special addresses
    #[arg(long, help_heading = "Network")]
    allow_private: bool,

    /// Obey or ignore robots.txt on the hosts that --own-host names; on all other hosts it is obeyed [default: obey]
    #[arg(long, value_name = "POLICY", value_parser = ["obey", "ignore"], help_heading = "Network")]
    robots: Option<String>,
    /// Name a host of your own, such as example.org, or .example.org with all subdomains (repeatable)
    #[arg(long, value_name = "HOST", help_heading = "Network")]
    own_host: Vec<String>,
    /// Store volumes in this folder, or upload them to this store (`s3://BUCKET/PREFIX`); repeatable, the next takes
    /// over when one is full or fails (docs/configuration.md)
    #[arg(long, value_name = "FOLDER-or-URL", value_parser = volumes, help_heading = "Archive")]
    pub(crate) volumes: Vec<String>,

    /// The value of `--frontier`, which belongs to the arguments that name the collection.
    #[arg(skip)]
    frontier: Option<String>,
    /// Leave out `--continuous` and `--log`, which apply to one crawl only.
    #[arg(skip)]
    permanent_only: bool,
}

impl Settings {
    /// These settings with the flag `--frontier` of the collection.
    pub(crate) fn with_frontier_of(&self, collection: &CollectionArg) -> Self {
        Self {
            frontier: collection.frontier.clone(),
            ..self.clone()
        }
    }

    /// All layers except the defaults. `collection` is the configuration file of the collection, if there is one.
    ///
    /// `--accept`, `--reject` and `--keep` add to the filters of a collection.
    pub(crate) fn layers(&self, collection: Option<PathBuf>) -> Layers {
        let exists = collection.is_some();
        let mut layers = Layers {
            profile: self.profile.clone(),
            shared: None,
            files: collection.into_iter().chain(self.config.clone()).collect(),
            flags: FlagValues::default(),
            environment: ProxyVariables::read(|name| std::env::var(name).ok()),
            settings: self.set.clone(),
        };
        layers.flags = if exists && self.has_filters() {
            // Errors in the files are ignored here, because they are reported when the caller loads all layers.
            let stored = Config::load(&layers).unwrap_or_default().0.crawl;
            let both = |before: Vec<String>, more: &[String]| {
                if more.is_empty() {
                    return Vec::new();
                }
                let new = more.iter().filter(|filter| !before.contains(filter));
                before.iter().chain(new).cloned().collect()
            };
            let accept = both(stored.accept, &self.accept);
            let reject = both(stored.reject, &self.reject);
            let keep = both(stored.keep, &self.keep);
            Self {
                accept,
                reject,
                keep,
                ..self.clone()
            }
            .flags()
        } else {
            self.flags()
        };
        layers
    }

    /// Whether the command line has `--accept`, `--reject` or `--keep`.
    pub(crate) fn has_filters(&self) -> bool {
        !self.accept.is_empty() || !self.reject.is_empty() || !self.keep.is_empty()
    }

    /// Only `--accept`, `--reject` and `--keep`, without flags that apply to one crawl only, such as `--config` and
    /// `--profile`.
    pub(crate) fn filters_only(&self) -> Self {
        Self {
            accept: self.accept.clone(),
            reject: self.reject.clone(),
            keep: self.keep.clone(),
            permanent_only: true,
            ..Self::default()
        }
    }

    /// The settings that a new collection saves: without limits, `--continuous` and `--log`.
    pub(crate) fn lasting(&self) -> Self {
        let lasts = |text: &&String| {
            let key = text.split('=').next().unwrap_or_default();
            !ONE_CRAWL_KEYS.contains(&key.trim())
        };
        Self {
            set: self.set.iter().filter(lasts).cloned().collect(),
            pages: None,
            time: None,
            until: None,
            size: None,
            permanent_only: true,
            ..self.clone()
        }
    }

    fn flags(&self) -> FlagValues {
        let mut flags = FlagValues::default();
        let list = |values: &[String]| (!values.is_empty()).then(|| Value::from(values.to_vec()));
        let text = |value: &Option<String>| value.clone().map(Value::from);
        let number = |value: Option<u32>| value.map(|value| Value::from(i64::from(value)));
        let log = logging::flag().filter(|_| !self.permanent_only);
        let keeps_running = !self.permanent_only && (self.continuous || self.every.is_some());
        let continuous = (
            if self.continuous {
                "--continuous"
            } else {
                "--every"
            },
            keeps_running.then_some(Value::Boolean(true)),
        );
        let sources: Vec<_> = self.bind_address.iter().map(ToString::to_string).collect();
        let resolvers: Vec<_> = self.resolver.iter().map(ToString::to_string).collect();
        let auth = (!self.auth.is_empty()).then(|| {
            let pairs = self.auth.iter().cloned();
            Value::Table(pairs.map(|(origin, text)| (origin, text.into())).collect())
        });
        for (flag, key, value) in [
            ("--frontier", "frontier.url", text(&self.frontier)),
            ("--scope", "crawl.scope", text(&self.scope)),
            ("--tld", "crawl.tlds", list(&self.tld)),
            ("--depth", "crawl.depth", self.depth.clone()),
            ("--accept", "crawl.accept", list(&self.accept)),
            ("--reject", "crawl.reject", list(&self.reject)),
            ("--keep", "crawl.keep", list(&self.keep)),
            (
                "--assets",
                "page.assets",
                self.assets.then_some(Value::Boolean(true)),
            ),
            ("--pages", "crawl.pages", self.pages.clone()),
            (
                "--pages-per-site",
                "crawl.pages_per_site",
                self.pages_per_site.clone(),
            ),
            ("--time", "crawl.time", self.time.clone()),
            ("--until", "crawl.time", self.until.clone()),
            ("--size", "crawl.size", self.size.clone()),
            ("--every", "revisit.every", self.every.clone()),
            ("--revisit", "revisit.policy", text(&self.revisit)),
            (continuous.0, "crawl.continuous", continuous.1),
            ("--pause", "crawl.pause", self.pause.clone()),
            ("--sites", "crawl.sites", number(self.sites)),
            (
                "--connections",
                "crawl.connections",
                number(self.connections),
            ),
            ("--limit-rate", "crawl.limit_rate", self.limit_rate.clone()),
            ("--log", "log.level", log.map(Value::from)),
            ("--contact", "crawl.contact", text(&self.contact)),
            ("--robots", "crawl.robots", text(&self.robots)),
            ("--own-host", "crawl.own_hosts", list(&self.own_host)),
            ("--volumes", "volume.stores", list(&self.volumes)),
            ("--user-agent", "fetch.user_agent", text(&self.user_agent)),
            ("--header", "fetch.headers", list(&self.header)),
            ("--auth", "fetch.auth", auth),
            ("--cookies", "fetch.cookies", text(&self.cookies)),
            ("--bind-address", "fetch.source_addresses", list(&sources)),
            ("--resolver", "fetch.resolvers", list(&resolvers)),
            ("--proxy", "fetch.proxy", text(&self.proxy)),
            (
                "--allow-private",
                "fetch.allow_private",
                self.allow_private.then_some(Value::Boolean(true)),
            ),
        ] {
            if let Some(value) = value {
                flags.set(flag, key, value);
            }
        }
        flags
    }
}

/// Keys whose values on the command line apply to one crawl only.
const ONE_CRAWL_KEYS: [&str; 5] = [
    "crawl.pages",
    "crawl.time",
    "crawl.size",
    "crawl.continuous",
    "log.level",
];

const NONE: &str = "none";

fn count(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::from(NONE));
    }
    match text.parse::<i64>() {
        Ok(number) if number >= 0 => Ok(Value::from(number)),
        _ => Err("expected a whole number or `none`".to_owned()),
    }
}

fn time(text: &str) -> Result<Value, String> {
    span(text).map(|time| Value::from(duration::format(time)))
}

/// Parses a duration. A bare number is seconds, as in wget.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("a duration cannot be negative".to_owned());
    }
    let text = if text.parse::<f64>().is_ok() {
        format!("{text}s")
    } else {
        text.to_owned()
    };
    duration::parse(&text).map_err(|error| error.to_string())
}

/// Parses the length of a round. `day` means `1d`.
fn round(text: &str) -> Result<Value, String> {
    let text = match text.chars().next() {
        Some(letter) if letter.is_ascii_alphabetic() => format!("1{text}"),
        _ => text.to_owned(),
    };
    match time(&text)? {
        Value::String(none) if none == "0s" => Err("a round must be longer than 0".to_owned()),
        value => Ok(value),
    }
}

fn time_limit(text: &str) -> Result<Value, String> {
    if text == NONE {
        Ok(Value::from(NONE))
    } else {
        time(text)
    }
}

/// Parses a point in time in the future. Returns the time from now until then.
fn until(text: &str) -> Result<Value, String> {
    let end: PointInTime = text.parse()?;
    let left = end.ms() - Clock::new().now();
    match u64::try_from(left) {
        Ok(left @ 1..) => Ok(Value::from(duration::format(Duration::from_millis(left)))),
        _ => Err("this time is in the past".to_owned()),
    }
}

fn size_limit(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::from(NONE));
    }
    size::parse(text)
        .map(|bytes| Value::from(size::format(bytes)))
        .map_err(|error| error.to_string())
}

/// Splits `ORIGIN=CREDENTIALS`. Errors are reported later by the configuration, because clap would print the text,
/// which may be secret.
#[expect(
    clippy::unnecessary_wraps,
    reason = "clap expects a function that can fail"
)]
fn credentials(text: &str) -> Result<(String, String), String> {
    let (origin, credentials) = text.split_once('=').unwrap_or((text, ""));
    Ok((origin.trim().to_owned(), credentials.trim().to_owned()))
}

fn resolver(text: &str) -> Result<SocketAddr, String> {
    const DNS: u16 = 53;
    text.parse::<SocketAddr>()
        .or_else(|_| {
            text.parse::<IpAddr>()
                .map(|address| SocketAddr::new(address, DNS))
        })
        .map_err(|_| {
            "expected an IP address, with or without a port, such as 192.0.2.1, 127.0.0.1:5353 or [2001:db8::1]:53"
                .to_owned()
        })
}

/// A place for volumes. A relative path is made absolute, because later crawls may start in another folder.
pub(crate) fn volumes(text: &str) -> Result<String, String> {
    let place = if text.contains("://") {
        text.to_owned()
    } else {
        let path = std::path::absolute(text).map_err(|error| error.to_string())?;
        path.to_str()
            .ok_or("the path is not valid UTF-8")?
            .to_owned()
    };
    aranha_volume::check_store(&place).map(|()| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: ToString>(read: fn(&str) -> Result<T, String>, text: &str, expected: Option<&str>) {
        assert_eq!(
            read(text).ok().map(|value| value.to_string()).as_deref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn durations_as_typed() {
        check(time, "0", Some("\"0s\""));
        check(time, "0s", Some("\"0s\""));
        check(time, "2", Some("\"2s\""));
        check(time, "0.5", Some("\"500ms\""));
        check(time, "0.5s", Some("\"500ms\""));
        check(time, "1h30m", Some("\"1h30m\""));
        check(time, "-1", None);
        check(time, "soon", None);
        check(time, "inf", None);
        check(time, "none", None);
        check(time_limit, "none", Some("\"none\""));
        check(round, "day", Some("\"1d\""));
        check(round, "2w", Some("\"14d\""));
        check(round, "0", None);
        check(round, "never", None);
    }

    #[test]
    fn an_end_in_the_future() {
        for (text, valid) in [
            ("2999-01-01", true),
            ("2026-01-01 10:00", false),
            ("8h", false),
        ] {
            assert_eq!(until(text).is_ok(), valid, "{text}");
        }
    }

    #[test]
    fn numbers_and_sizes_as_typed() {
        check(count, "12", Some("12"));
        check(count, "none", Some("\"none\""));
        check(count, "-3", None);
        check(size_limit, "10MiB", Some("\"10MiB\""));
        check(size_limit, "much", None);
    }

    #[test]
    fn resolvers_have_a_default_port() {
        check(resolver, "127.0.0.1:5353", Some("127.0.0.1:5353"));
        check(resolver, "192.0.2.1", Some("192.0.2.1:53"));
        check(resolver, "2001:db8::1", Some("[2001:db8::1]:53"));
        check(resolver, "dns.example.org", None);
    }
}
