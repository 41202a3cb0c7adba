//! The configured proxy: a URL with an optional login, or a reference to such a URL. The login is never printed.

use std::{fmt, path::Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::credentials::{HIDDEN, base64};

/// The value of the option `proxy` or `https_proxy`.
///
/// Its `Debug` and serialised forms contain `(hidden)` instead of user and password.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum ProxySetting {
    /// `""`: nothing is configured.
    #[default]
    Unset,
    /// `none`: no proxy, whatever the environment variables say.
    Direct,
    /// A proxy.
    Url(ProxyUrl),
    /// `@FILE`: a file that contains the URL.
    File(String),
    /// `$NAME`: an environment variable that contains the URL.
    Variable(String),
}

/// The URL of a proxy: `http://HOST:PORT`, `socks5://HOST` or `socks5h://HOST`, with `USER:PASSWORD@` before the host
/// if the proxy wants a login.
///
/// `Display` is the URL without the login.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl {
    pub(crate) protocol: ProxyProtocol,
    /// Name or IP address; an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) login: Option<Login>,
}

/// How a proxy is asked to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyProtocol {
    /// HTTP: `http` URLs in absolute form, `https` URLs through CONNECT. The proxy resolves names.
    Http,
    /// SOCKS5 with addresses: aranha resolves names.
    Socks5,
    /// SOCKS5 with names: the proxy resolves them.
    Socks5h,
}

/// User and password for a proxy.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// Port of SOCKS proxies (RFC 1928, 3). HTTP proxies have no usual port: curl assumes 1080, and wget 80.
const SOCKS_PORT: u16 = 1080;

/// Maximum length of a user or password at a SOCKS5 proxy (RFC 1929, 2).
const MAX_SOCKS_LOGIN: usize = 255;

const EXAMPLES: &str = "for example http://proxy.example.org:3128 or socks5h://127.0.0.1:1080";

impl ProxySetting {
    /// Reads the configured text. The error is a sentence that contains no secret.
    pub fn parse(text: &str) -> Result<ProxySetting, String> {
        let text = text.trim();
        Ok(match text.split_at_checked(1) {
            None => ProxySetting::Unset,
            Some(("@", file)) => ProxySetting::File(file.to_owned()),
            Some(("$", name)) => ProxySetting::Variable(name.to_owned()),
            Some(_) if text == "none" => ProxySetting::Direct,
            Some(_) => ProxySetting::Url(ProxyUrl::parse(text)?),
        })
    }

    /// The URL of the proxy. It is read from the file or the environment variable if the setting names one. `None` means that
    /// no proxy is used. The error contains no secret.
    pub fn load(&self) -> Result<Option<ProxyUrl>, String> {
        let (place, text) = match self {
            ProxySetting::Unset | ProxySetting::Direct => return Ok(None),
            ProxySetting::Url(url) => return Ok(Some(url.clone())),
            ProxySetting::File(path) => {
                let text = std::fs::read_to_string(path);
                (
                    path,
                    text.map_err(|error| format!("cannot read {path}: {error}"))?,
                )
            }
            ProxySetting::Variable(name) => {
                let text = std::env::var(name);
                (
                    name,
                    text.map_err(|_| format!("the environment variable {name} is not set"))?,
                )
            }
        };
        let url = ProxyUrl::parse(text.trim());
        url.map(Some)
            .map_err(|problem| format!("{place}: {problem}"))
    }

    /// Makes the path of a reference `@FILE`, which is relative to `folder`, absolute. `None` if the text is no such
    /// reference.
    pub fn resolve_path(text: &str, folder: &Path) -> Option<String> {
        let path = std::path::absolute(folder.join(text.trim().strip_prefix('@')?)).ok()?;
        Some(format!("@{}", path.to_str()?))
    }
}

impl fmt::Display for ProxySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxySetting::Unset => Ok(()),
            ProxySetting::Direct => f.write_str("none"),
            ProxySetting::Url(url) => url.write(f, url.login.as_ref().map_or("", |_| HIDDEN)),
            ProxySetting::File(path) => write!(f, "@{path}"),
            ProxySetting::Variable(name) => write!(f, "${name}"),
        }
    }
}

impl fmt::Debug for ProxySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for ProxySetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProxySetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ProxySetting::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl ProxyUrl {
    /// Reads a URL. A text without a scheme names an HTTP proxy, as it does for curl and wget. The error contains no
    /// secret.
    fn parse(text: &str) -> Result<ProxyUrl, String> {
        if text.contains(HIDDEN) {
            return Err(format!(
                "`{HIDDEN}` stands for a login that was not printed; write user and password, or @FILE or $NAME for the whole URL"
            ));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let protocol = match scheme.to_ascii_lowercase().as_str() {
            "http" => ProxyProtocol::Http,
            "socks5" => ProxyProtocol::Socks5,
            "socks5h" => ProxyProtocol::Socks5h,
            "https" => {
                return Err(
                    "proxies that are themselves reached over TLS (https://) are not supported; with http:// a proxy also \
                     forwards https URLs"
                        .to_owned(),
                );
            }
            other if other.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                return Err(format!(
                    "{other}:// is not supported; a proxy has http://, socks5:// or socks5h://"
                ));
            }
            _ => return Err(format!("this is not the URL of a proxy, {EXAMPLES}")),
        };
        // A password may contain `@` and `/`.
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(Login::parse(login, protocol)?), place),
            None => (None, rest),
        };
        let (host, port) = split_port(place.strip_suffix('/').unwrap_or(place))
            .ok_or_else(|| format!("this is not the host and port of a proxy, {EXAMPLES}"))?;
        let port = match (port, protocol) {
            (Some(port), _) => port,
            (None, ProxyProtocol::Http) => {
                return Err(format!("the port of the proxy is missing, {EXAMPLES}"));
            }
            (None, _) => SOCKS_PORT,
        };
        Ok(ProxyUrl {
            protocol,
            host: host.to_ascii_lowercase(),
            port,
            login,
        })
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, login: &str) -> fmt::Result {
        let scheme = match self.protocol {
            ProxyProtocol::Http => "http",
            ProxyProtocol::Socks5 => "socks5",
            ProxyProtocol::Socks5h => "socks5h",
        };
        write!(f, "{scheme}://")?;
        if !login.is_empty() {
            write!(f, "{login}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }

    /// The value of the header `Proxy-Authorization` for this proxy.
    pub(crate) fn authorization(&self) -> Option<String> {
        let Login { user, password } = self.login.as_ref()?;
        Some(format!(
            "Basic {}",
            base64(format!("{user}:{password}").as_bytes())
        ))
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Login {
    fn parse(text: &str, protocol: ProxyProtocol) -> Result<Login, String> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let decoded = |text| decode(text).filter(|text| !text.contains(char::is_control));
        let (Some(user), Some(password)) = (decoded(user), decoded(password)) else {
            return Err(
                "the user or the password contains a control character, or is not UTF-8".to_owned(),
            );
        };
        let is_http = protocol == ProxyProtocol::Http;
        if user.is_empty() || (is_http && user.contains(':')) {
            return Err("the user is empty or contains a colon".to_owned());
        }
        if !is_http && user.len().max(password.len()) > MAX_SOCKS_LOGIN {
            return Err("the user or the password has more than 255 bytes".to_owned());
        }
        Ok(Login { user, password })
    }
}

/// Splits `host:port`, `host`, `[address]:port` or `[address]`. `None` if the text is not of this form.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (
                host,
                port.strip_prefix(':').or(port.is_empty().then_some("")),
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    let is_host = !host.is_empty()
        && !host.contains(|c: char| c.is_whitespace() || c.is_control() || "/?#%\\".contains(c));
    match port? {
        _ if !is_host => None,
        "" => Some((host, None)),
        port => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
    }
}

/// Decodes `%xx`. Other percent signs stand for themselves. `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        bytes.push(escaped.map_or(*first, |(high, low)| high << 4 | low));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_proxies() {
        for (text, shown, login) in [
            (
                "http://proxy.example.org:3128",
                "http://proxy.example.org:3128",
                None,
            ),
            (
                "HTTP://Proxy.Example.org:3128/",
                "http://proxy.example.org:3128",
                None,
            ),
            ("127.0.0.1:8080", "http://127.0.0.1:8080", None),
            ("socks5://[::1]", "socks5://[::1]:1080", None),
            ("socks5h://[::1]:9050", "socks5h://[::1]:9050", None),
            ("socks5h://localhost", "socks5h://localhost:1080", None),
            (
                "http://anna:s3cret@h:1",
                "http://h:1",
                Some(("anna", "s3cret")),
            ),
            ("anna:s3cret@h:1", "http://h:1", Some(("anna", "s3cret"))),
            ("http://anna@h:1", "http://h:1", Some(("anna", ""))),
            (
                "http://a%40b:p%3Aw%25@h:1",
                "http://h:1",
                Some(("a@b", "p:w%")),
            ),
            ("http://a:p@w/x%@h:1", "http://h:1", Some(("a", "p@w/x%"))),
            ("socks5://a%3Ab:@h", "socks5://h:1080", Some(("a:b", ""))),
        ] {
            let setting = ProxySetting::parse(text).expect(text);
            let url = setting.load().expect("no reference").expect("a proxy");
            assert_eq!(url.to_string(), shown);
            let found = url.login.as_ref();
            let found = found.map(|login| (login.user.as_str(), login.password.as_str()));
            assert_eq!(found, login, "{text}");
        }
    }

    #[test]
    fn other_values() {
        for (text, expected) in [
            ("", ProxySetting::Unset),
            (" none ", ProxySetting::Direct),
            ("@proxy.txt", ProxySetting::File("proxy.txt".to_owned())),
            ("$MY_PROXY", ProxySetting::Variable("MY_PROXY".to_owned())),
        ] {
            let parsed = ProxySetting::parse(text).expect(text);
            assert_eq!(parsed, expected);
            assert_eq!(parsed.to_string(), text.trim());
        }
    }

    #[test]
    fn errors_say_what_is_wrong_and_contain_no_secret() {
        for (text, words) in [
            (
                "http://u:s3cret@proxy.example.org",
                "port of the proxy is missing",
            ),
            ("proxy.example.org", "port of the proxy is missing"),
            ("https://u:s3cret@proxy.example.org:443", "over TLS"),
            ("socks4://h:1", "socks4:// is not supported"),
            ("socks://h:1", "socks:// is not supported"),
            ("u:s3cret://h:1", "not the URL of a proxy"),
            ("http://u:s3cret@:3128", "not the host and port"),
            ("http://u:s3cret@h:x", "not the host and port"),
            ("http://h:0", "not the host and port"),
            ("http://h:65536", "not the host and port"),
            ("http://h:3128/path", "not the host and port"),
            ("http://[h]:1", "not the host and port"),
            ("http://::1:80", "not the host and port"),
            ("http://:s3cret@h:1", "user is empty"),
            ("http://a%3Ab:s3cret@h:1", "contains a colon"),
            ("http://u:s3cret%0a@h:1", "control character"),
            ("http://u:s3cret%ff@h:1", "not UTF-8"),
            ("http://(hidden)@h:1", "was not printed"),
        ] {
            let error = ProxySetting::parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let long = format!("socks5://{}@h", "u".repeat(256));
        ProxySetting::parse(&long).expect_err("a user of 256 bytes");
    }

    #[test]
    fn the_login_is_not_printed() {
        let setting = ProxySetting::parse("socks5://anna:s3cret@127.0.0.1:1080").expect("valid");
        assert_eq!(setting.to_string(), "socks5://(hidden)@127.0.0.1:1080");
        assert_eq!(
            serde_json::to_value(&setting).expect("JSON"),
            "socks5://(hidden)@127.0.0.1:1080"
        );
        let url = setting.load().expect("no reference").expect("a proxy");
        for text in [format!("{setting:?}"), format!("{url:?}"), url.to_string()] {
            assert!(!text.contains("anna") && !text.contains("s3cret"), "{text}");
        }
        assert_eq!(
            url.authorization().as_deref(),
            Some("Basic YW5uYTpzM2NyZXQ=")
        );
    }

    #[test]
    fn references_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("proxy.txt");
        std::fs::write(&path, "http://anna:s3cret@h:3128\n").expect("the file is written");
        let text = ProxySetting::resolve_path("@proxy.txt", folder.path()).expect("a path");
        let setting = ProxySetting::parse(&text).expect("valid");
        let url = setting.load().expect("the file is valid").expect("a proxy");
        assert_eq!(url.to_string(), "http://h:3128");
        std::fs::write(&path, "http://anna:s3cret@h").expect("the file is written");
        let error = setting.load().expect_err("no port");
        assert!(
            error.contains("proxy.txt: the port") && !error.contains("s3cret"),
            "{error}"
        );
        let missing = ProxySetting::parse("$ARANHA_NO_SUCH_VARIABLE").expect("valid");
        let error = missing.load().expect_err("not set");
        assert_eq!(
            error,
            "the environment variable ARANHA_NO_SUCH_VARIABLE is not set"
        );
    }
}
