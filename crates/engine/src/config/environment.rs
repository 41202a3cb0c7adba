//! The proxies that environment variables name. The variables have the same meaning as for curl
//! (docs/decisions/0014-proxies.md).
//!
//! - `http_proxy` is for `http` URLs, and `https_proxy` for `https` URLs. `all_proxy` is used if the variable for the
//!   scheme is not set. An empty variable counts as not set. If a name in lower case is not set, `HTTPS_PROXY`,
//!   `ALL_PROXY` or `NO_PROXY` is read instead. `HTTP_PROXY` is never read, because a CGI program receives a request
//!   header under this name.
//! - `no_proxy` lists the hosts that are reached directly. Loopback addresses and `localhost` are always reached
//!   directly, because through a proxy they would mean the machine of the proxy.
//!
//! The variables are ignored if a file or a flag sets `fetch.proxy` or `fetch.https_proxy`.

use toml::{Table, Value};

use super::Origin;
use super::error::ConfigError;
use super::layer::ConfigLayer;

/// Hosts that are never requested through a proxy from the environment.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.0/8", "::1"];

/// The environment variables that name proxies.
#[derive(Clone, Debug, Default)]
pub struct ProxyVariables {
    http: Option<Variable>,
    https: Option<Variable>,
    bypass: Option<Variable>,
}

/// A variable that is set. Its value may contain a login.
#[derive(Clone)]
struct Variable {
    name: &'static str,
    value: String,
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

impl ProxyVariables {
    /// Reads the variables with `get`, which returns the value of a variable.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&'static str]| {
            let mut found = names.iter().filter_map(|name| {
                let value = get(name)?.trim().to_owned();
                (!value.is_empty()).then_some(Variable { name, value })
            });
            found.next()
        };
        Self {
            http: first(&["http_proxy", "all_proxy", "ALL_PROXY"]),
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            bypass: first(&["no_proxy", "NO_PROXY"]),
        }
    }

    /// The layer of these variables. `None` if they name no proxy, or if one of the other layers sets a proxy.
    pub(super) fn layer<'a>(
        &self,
        mut others: impl Iterator<Item = &'a ConfigLayer>,
    ) -> Result<Option<ConfigLayer>, ConfigError> {
        let sets_proxy = |layer: &ConfigLayer| {
            let fetch = layer.table.get("fetch").and_then(Value::as_table);
            fetch.is_some_and(|fetch| {
                fetch.contains_key("proxy") || fetch.contains_key("https_proxy")
            })
        };
        if (self.http.is_none() && self.https.is_none()) || others.any(sets_proxy) {
            return Ok(None);
        }
        let mut layer = ConfigLayer::default();
        let mut fetch = Table::new();
        let mut set = |key: &str, value: Value, name: &'static str| {
            fetch.insert(key.to_owned(), value);
            let origin = Origin::Variable(name);
            layer.origins.push((format!("fetch.{key}"), origin));
        };
        for variable in self.http.iter().chain(&self.https) {
            let parsed = aranha_fetch::ProxySetting::parse(&variable.value);
            parsed.map_err(|sentence| ConfigError::Flag {
                flag: format!("environment variable {}", variable.name),
                sentence,
                hint: Some("correct or unset it; --proxy none connects directly".to_owned()),
            })?;
        }
        let value = |variable: &Option<Variable>| match variable {
            Some(variable) => variable.value.clone(),
            None => "none".to_owned(),
        };
        let (http, https) = (value(&self.http), value(&self.https));
        let name = |variable: &Option<Variable>, other: &Option<Variable>| {
            let named = variable.as_ref().or(other.as_ref());
            named.map_or("http_proxy", |variable| variable.name)
        };
        if http != https {
            let origin = name(&self.https, &self.http);
            set("https_proxy", Value::from(https), origin);
        }
        set("proxy", Value::from(http), name(&self.http, &self.https));
        let listed = self.bypass.as_ref().map_or("", |variable| &variable.value);
        let listed = listed.split([',', ' ', '\t']);
        let listed = listed.filter(|entry| aranha_fetch::is_bypass_entry(entry));
        let hosts: Vec<_> = listed.chain(LOOPBACK).map(str::to_owned).collect();
        let origin = name(
            &self.bypass,
            &self.http.clone().or_else(|| self.https.clone()),
        );
        set("no_proxy", Value::from(hosts), origin);
        layer.table.insert("fetch".to_owned(), Value::Table(fetch));
        Ok(Some(layer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Layers};

    /// The values of `fetch.proxy`, `fetch.https_proxy` and `fetch.no_proxy`, with their origins.
    fn load(variables: &[(&str, &str)], settings: &[&str]) -> Result<Vec<String>, ConfigError> {
        let get = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let layers = Layers {
            environment: ProxyVariables::read(get),
            settings: settings.iter().map(|text| (*text).to_owned()).collect(),
            ..Layers::default()
        };
        let (config, origins) = Config::load(&layers)?;
        let shown = config.show(&origins);
        let lines = shown.lines().filter(|line| line.contains("proxy = "));
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        // The fourth line is `proxy` of `[proxy_cache]`.
        Ok(lines.take(3).map(line).collect())
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], settings: &[&str], expected: [&str; 3]) {
        assert_eq!(
            load(variables, settings).unwrap(),
            expected,
            "{variables:?}"
        );
    }

    #[test]
    fn variables_are_read_as_by_curl() {
        let loopback = r#"["localhost", "127.0.0.0/8", "::1"]"#;
        let none = [
            r#"proxy = "" # default"#,
            r#"https_proxy = "" # default"#,
            "no_proxy = [] # default",
        ];
        check(&[], &[], none);
        check(&[("http_proxy", ""), ("no_proxy", "a.example")], &[], none);
        check(&[("HTTP_PROXY", "http://h:1")], &[], none);
        check(
            &[("http_proxy", "http://h:1")],
            &[],
            [
                r#"proxy = "http://h:1" # environment variable http_proxy"#,
                r#"https_proxy = "none" # environment variable http_proxy"#,
                &format!("no_proxy = {loopback} # environment variable http_proxy"),
            ],
        );
        check(
            &[
                ("HTTPS_PROXY", "h:2"),
                ("NO_PROXY", ".example.org, 10.0.0.0/8,x/y"),
            ],
            &[],
            [
                r#"proxy = "none" # environment variable HTTPS_PROXY"#,
                r#"https_proxy = "http://h:2" # environment variable HTTPS_PROXY"#,
                r#"no_proxy = [".example.org", "10.0.0.0/8", "localhost", "127.0.0.0/8", "::1"] # environment variable NO_PROXY"#,
            ],
        );
        check(
            &[("all_proxy", "socks5h://anna:s3cret@h")],
            &[],
            [
                r#"proxy = "socks5h://(hidden)@h:1080" # environment variable all_proxy"#,
                r#"https_proxy = "" # default"#,
                &format!("no_proxy = {loopback} # environment variable all_proxy"),
            ],
        );
        check(
            &[
                ("ALL_PROXY", "http://h:3"),
                ("http_proxy", ""),
                ("https_proxy", "h:4"),
            ],
            &[],
            [
                r#"proxy = "http://h:3" # environment variable ALL_PROXY"#,
                r#"https_proxy = "http://h:4" # environment variable https_proxy"#,
                &format!("no_proxy = {loopback} # environment variable ALL_PROXY"),
            ],
        );
    }

    #[test]
    fn a_configured_proxy_replaces_those_of_the_environment() {
        let variables = [("http_proxy", "http://h:1"), ("no_proxy", "a.example")];
        for value in ["http://other:1", "none"] {
            let first = format!("proxy = \"{value}\" # flag --set");
            check(
                &variables,
                &[&format!("fetch.proxy={value}")],
                [
                    &first,
                    r#"https_proxy = "" # default"#,
                    "no_proxy = [] # default",
                ],
            );
        }
        let lines = load(&variables, &[r#"fetch.no_proxy=["b.example"]"#]).unwrap();
        assert_eq!(lines[2], r#"no_proxy = ["b.example"] # flag --set"#);
        assert!(lines[0].contains("http://h:1"));
    }

    #[test]
    fn an_unusable_variable_is_an_error_without_secrets() {
        let error = load(&[("https_proxy", "https://anna:s3cret@h:1")], &[]).unwrap_err();
        let text = format!("{error}; {:?}", error.hint());
        assert!(
            text.starts_with("environment variable https_proxy: "),
            "{text}"
        );
        assert!(
            text.contains("--proxy none") && !text.contains("s3cret"),
            "{text}"
        );
        load(
            &[("https_proxy", "https://anna:s3cret@h:1")],
            &["fetch.proxy=none"],
        )
        .unwrap();
    }
}
