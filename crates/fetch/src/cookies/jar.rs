//! The cookie jar of one site (N12; RFC 6265).
//!
//! Cookies are stored with the site and sent with its requests, because many servers put session identifiers into URLs
//! if the client returns no cookies. The jar holds at most 50 cookies of 4096 bytes each, the minimum that RFC 6265,
//! 6.1 asks of clients. It holds no cookie for a public suffix. As in RFC 6265bis, `Secure` cookies are accepted and
//! sent over https only, the name prefixes `__Secure-` and `__Host-` are enforced, and a cookie lives 400 days at most.
//! `HttpOnly` and `SameSite` are ignored, because they protect users of browsers from scripts and from other sites.

use std::net::Ipv4Addr;

use aranha_url::{CanonUrl, Scheme};
use serde::{Deserialize, Serialize};

use super::date;
use crate::Headers;

/// Maximum number of cookies in a jar. When it is exceeded, the oldest cookie is removed.
const MAX_COOKIES: usize = 50;

/// Maximum bytes of name and value together.
const MAX_COOKIE_SIZE: usize = 4096;

/// Maximum bytes of an attribute value; longer attributes are ignored.
const MAX_ATTRIBUTE_SIZE: usize = 1024;

const MAX_LIFETIME_MS: i64 = 400 * 24 * 3600 * 1000;

/// The cookies of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CookieJar {
    /// The oldest cookie comes first.
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cookie {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) domain: String,
    pub(super) path: String,
    pub(super) host_only: bool,
    pub(super) secure: bool,
    /// Unix milliseconds. `None` if the cookie never expires.
    pub(super) expires_ms: Option<i64>,
}

impl CookieJar {
    /// The value of the `Cookie` header for a request (RFC 6265, 5.4). `None` if no cookie applies.
    pub fn header(&self, url: &CanonUrl, now_ms: i64) -> Option<String> {
        let mut chosen: Vec<&Cookie> = self
            .cookies
            .iter()
            .filter(|cookie| cookie.applies(url, now_ms))
            .collect();
        chosen.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = chosen
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Stores the cookies of a response's `Set-Cookie` headers. Returns whether the jar changed.
    pub fn store(&mut self, url: &CanonUrl, headers: &Headers, now_ms: i64) -> bool {
        let mut changed = false;
        for value in headers.all("set-cookie") {
            let text = str::from_utf8(value).ok();
            if let Some(cookie) = text.and_then(|text| Cookie::parse(text, url, now_ms)) {
                changed |= self.put(cookie, now_ms);
            }
        }
        changed
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.cookies.len()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    fn put(&mut self, cookie: Cookie, now_ms: i64) -> bool {
        let before = self.cookies.len();
        self.cookies.retain(|stored| !stored.is_expired(now_ms));
        let removed = self.cookies.len() < before;
        let index = self
            .cookies
            .iter()
            .position(|stored| stored.has_same_key(&cookie));
        match (index, cookie.is_expired(now_ms)) {
            (None, true) => removed,
            (Some(index), true) => {
                self.cookies.remove(index);
                true
            }
            (Some(index), false) => {
                let replaced = std::mem::replace(&mut self.cookies[index], cookie);
                removed || replaced != self.cookies[index]
            }
            (None, false) => {
                if self.cookies.len() >= MAX_COOKIES {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
                true
            }
        }
    }
}

impl Cookie {
    /// Parses a `Set-Cookie` value (RFC 6265, 5.2 and 5.3). `None` if the cookie must be ignored.
    fn parse(text: &str, url: &CanonUrl, now_ms: i64) -> Option<Cookie> {
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let fits = !name.is_empty() && name.len() + value.len() <= MAX_COOKIE_SIZE;
        if !fits
            || text
                .bytes()
                .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            return None;
        }
        let mut cookie = Cookie {
            name: name.to_owned(),
            value: value.to_owned(),
            domain: url.host().to_owned(),
            path: default_path(url.path_only()).to_owned(),
            host_only: true,
            secure: false,
            expires_ms: None,
        };
        let mut max_age = None;
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            cookie.set_attribute(name.trim(), value.trim(), url, now_ms, &mut max_age)?;
        }
        let expires = max_age.or(cookie.expires_ms);
        cookie.expires_ms = expires.map(|at| at.min(now_ms.saturating_add(MAX_LIFETIME_MS)));
        cookie.is_allowed(url).then_some(cookie)
    }

    /// Applies one attribute. `None` if the attribute makes the whole cookie invalid.
    fn set_attribute(
        &mut self,
        name: &str,
        value: &str,
        url: &CanonUrl,
        now_ms: i64,
        max_age: &mut Option<i64>,
    ) -> Option<()> {
        if value.len() > MAX_ATTRIBUTE_SIZE {
            return Some(());
        }
        match name.to_ascii_lowercase().as_str() {
            "expires" => {
                if let Some(at) = date::parse(value) {
                    self.expires_ms = Some(at);
                }
            }
            "max-age" => {
                if let Some(seconds) = parse_max_age(value) {
                    let at = if seconds <= 0 {
                        i64::MIN
                    } else {
                        now_ms.saturating_add(seconds.saturating_mul(1000))
                    };
                    *max_age = Some(at);
                }
            }
            "domain" => return self.set_domain(value, url.host()),
            "path" if value.starts_with('/') => value.clone_into(&mut self.path),
            "path" => default_path(url.path_only()).clone_into(&mut self.path),
            "secure" => self.secure = true,
            _ => {}
        }
        Some(())
    }

    fn set_domain(&mut self, value: &str, host: &str) -> Option<()> {
        let domain = value
            .strip_prefix('.')
            .unwrap_or(value)
            .to_ascii_lowercase();
        if domain.is_empty() {
            return Some(());
        }
        if is_public_suffix(&domain) {
            // A host that is itself a public suffix may set a cookie, but only for itself.
            return (domain == host).then_some(());
        }
        if !domain_matches(host, &domain) {
            return None;
        }
        self.host_only = is_address(host);
        self.domain = domain;
        Some(())
    }

    /// Checks the rules of RFC 6265bis for `Secure` and for the prefixes `__Secure-` and `__Host-`.
    fn is_allowed(&self, url: &CanonUrl) -> bool {
        let over_tls = url.scheme() == Scheme::Https;
        let name = self.name.to_ascii_lowercase();
        let obeys_prefix = if name.starts_with("__host-") {
            self.secure && self.host_only && self.path == "/"
        } else {
            !name.starts_with("__secure-") || self.secure
        };
        (over_tls || !self.secure) && obeys_prefix
    }

    pub(super) fn applies(&self, url: &CanonUrl, now_ms: i64) -> bool {
        let host = if self.host_only {
            self.domain == url.host()
        } else {
            domain_matches(url.host(), &self.domain)
        };
        host && path_matches(url.path_only(), &self.path)
            && (!self.secure || url.scheme() == Scheme::Https)
            && !self.is_expired(now_ms)
    }

    /// Whether both cookies have the same name, domain and path, so that the newer one replaces the other.
    fn has_same_key(&self, other: &Cookie) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }

    fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }
}

/// The seconds of `Max-Age`. A number that is too large becomes `i64::MAX`. A negative number that does not fit becomes
/// 0.
fn parse_max_age(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(
        value
            .parse()
            .unwrap_or(if value.starts_with('-') { 0 } else { i64::MAX }),
    )
}

/// The request's path up to its last slash (RFC 6265, 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

fn path_matches(path: &str, cookie_path: &str) -> bool {
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || cookie_path.ends_with('/') || rest.starts_with('/'))
}

fn domain_matches(host: &str, domain: &str) -> bool {
    host == domain
        || (!is_address(host)
            && host
                .strip_suffix(domain)
                .is_some_and(|before| before.ends_with('.')))
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

pub(super) fn is_public_suffix(domain: &str) -> bool {
    !is_address(domain) && psl::domain(domain.as_bytes()).is_none()
}

#[cfg(test)]
mod tests {
    use aranha_url::{Canonicaliser, UrlRules};

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn url(text: &str) -> CanonUrl {
        let rules = UrlRules {
            fold_www: true,
            drop_sessions: false,
            ..UrlRules::default()
        };
        Canonicaliser::new(rules)
            .canon(text)
            .expect("the URL is valid")
    }

    fn set(jar: &mut CookieJar, from: &str, cookie: &str, now_ms: i64) -> bool {
        let mut headers = Headers::default();
        headers.push(b"Set-Cookie", cookie.as_bytes());
        jar.store(&url(from), &headers, now_ms)
    }

    /// Stores a cookie from one URL and checks the `Cookie` header for another.
    fn check(from: &str, cookie: &str, to: &str, expected: &str) {
        let mut jar = CookieJar::default();
        set(&mut jar, from, cookie, NOW);
        assert_eq!(
            jar.header(&url(to), NOW).unwrap_or_default(),
            expected,
            "{cookie:?} from {from} to {to}"
        );
    }

    #[test]
    fn names_and_values() {
        let home = "http://example.org/";
        for (cookie, expected) in [
            ("a=b", "a=b"),
            (" a = b c ; x", "a=b c"),
            ("a=", "a="),
            ("a=b=c", "a=b=c"),
            ("a=\"b\"", "a=\"b\""),
            ("a=b; Expires=nonsense; Max-Age=nonsense; Foo=bar;;", "a=b"),
            ("a", ""),
            ("=b", ""),
            ("", ""),
            (";a=b", ""),
        ] {
            check(home, cookie, home, expected);
        }
        check(home, &format!("a={}", "x".repeat(4096)), home, "");
    }

    #[test]
    fn domains() {
        for (from, cookie, to, expected) in [
            ("http://example.org/", "a=b", "http://www.example.org/", ""),
            (
                "http://example.org/",
                "a=b; Domain=example.org",
                "http://www.example.org/",
                "a=b",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=.Example.ORG",
                "http://example.org/",
                "a=b",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=www.example.org",
                "http://example.org/",
                "",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=other.org",
                "http://www.example.org/",
                "",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=ample.org",
                "http://www.example.org/",
                "",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=sub.www.example.org",
                "http://www.example.org/",
                "",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=",
                "http://www.example.org/",
                "a=b",
            ),
            (
                "http://www.example.org/",
                "a=b; Domain=org",
                "http://www.example.org/",
                "",
            ),
            (
                "http://www.example.co.uk/",
                "a=b; Domain=co.uk",
                "http://www.example.co.uk/",
                "",
            ),
            (
                "http://www.example.co.uk/",
                "a=b; Domain=example.co.uk",
                "http://example.co.uk/",
                "a=b",
            ),
            (
                "http://github.io/",
                "a=b; Domain=github.io",
                "http://github.io/",
                "a=b",
            ),
            (
                "http://github.io/",
                "a=b; Domain=github.io",
                "http://x.github.io/",
                "",
            ),
            (
                "http://127.0.0.1/",
                "a=b; Domain=127.0.0.1",
                "http://127.0.0.1/",
                "a=b",
            ),
            (
                "http://127.0.0.1/",
                "a=b; Domain=0.0.1",
                "http://127.0.0.1/",
                "",
            ),
            ("http://[::1]/", "a=b", "http://[::1]/", "a=b"),
            (
                "http://localhost:8080/",
                "a=b",
                "http://localhost:9090/",
                "a=b",
            ),
        ] {
            check(from, cookie, to, expected);
        }
    }

    /// A cookie for a foreign domain is not stored, and a stored cookie is not sent to a foreign domain.
    #[test]
    fn cookies_for_foreign_domains_are_rejected() {
        let home = "http://www.example.org/";
        for domain in ["other.org", "ample.org", "sub.www.example.org", "org"] {
            let mut jar = CookieJar::default();
            let changed = set(&mut jar, home, &format!("a=b; Domain={domain}"), NOW);
            assert!(!changed && jar.is_empty(), "{domain}");
        }
        let cookie = Cookie::parse("a=b; Domain=example.org", &url(home), NOW);
        let cookie = cookie.expect("a valid cookie");
        for (to, expected) in [
            ("http://shop.example.org/", true),
            ("http://other.org/", false),
            ("http://badexample.org/", false),
            ("http://example.org.evil.net/", false),
        ] {
            assert_eq!(cookie.applies(&url(to), NOW), expected, "{to}");
        }
    }

    #[test]
    fn paths() {
        for (from, cookie, to, expected) in [
            ("http://e.org/a/b", "x=y", "http://e.org/a/c", "x=y"),
            ("http://e.org/a/b", "x=y", "http://e.org/a", "x=y"),
            ("http://e.org/a/b", "x=y", "http://e.org/ab", ""),
            ("http://e.org/a/b", "x=y", "http://e.org/", ""),
            ("http://e.org/a/b?c=/d/e", "x=y", "http://e.org/a/z", "x=y"),
            ("http://e.org/a/b", "x=y; Path=/", "http://e.org/", "x=y"),
            (
                "http://e.org/a/b",
                "x=y; Path=/q/",
                "http://e.org/q/r",
                "x=y",
            ),
            ("http://e.org/a/b", "x=y; Path=/q/", "http://e.org/q", ""),
            ("http://e.org/a/b", "x=y; Path=q", "http://e.org/a/", "x=y"),
        ] {
            check(from, cookie, to, expected);
        }
    }

    #[test]
    fn the_secure_attribute_and_name_prefixes() {
        for (from, cookie, to, expected) in [
            ("https://e.org/", "x=y; Secure", "https://e.org/", "x=y"),
            ("https://e.org/", "x=y; Secure", "http://e.org/", ""),
            ("http://e.org/", "x=y; Secure", "https://e.org/", ""),
            ("https://e.org/", "x=y", "http://e.org/", "x=y"),
            ("https://e.org/", "__Secure-x=y", "https://e.org/", ""),
            (
                "https://e.org/",
                "__Secure-x=y; Secure",
                "https://e.org/",
                "__Secure-x=y",
            ),
            (
                "https://e.org/a/",
                "__Host-x=y; Secure",
                "https://e.org/a/",
                "",
            ),
            (
                "https://e.org/a/",
                "__Host-x=y; Secure; Path=/",
                "https://e.org/a/",
                "__Host-x=y",
            ),
            (
                "https://e.org/",
                "__Host-x=y; Secure; Path=/; Domain=e.org",
                "https://e.org/",
                "",
            ),
        ] {
            check(from, cookie, to, expected);
        }
    }

    #[test]
    fn expiry() {
        let home = "http://e.org/";
        for (cookie, after_ms, alive) in [
            ("x=y", i64::MAX - NOW, true),
            ("x=y; Max-Age=10", 9_999, true),
            ("x=y; Max-Age=10", 10_000, false),
            ("x=y; Max-Age=0", 0, false),
            ("x=y; Max-Age=-5", 0, false),
            (
                "x=y; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                0,
                true,
            ),
            ("x=y; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0, false),
            ("x=y; Expires=Tue, 14 Nov 2023 22:13:21 GMT", 999, true),
            ("x=y; Expires=Tue, 14 Nov 2023 22:13:21 GMT", 1000, false),
            (
                "x=y; Max-Age=99999999999999999999",
                MAX_LIFETIME_MS - 1,
                true,
            ),
            ("x=y; Max-Age=99999999999999999999", MAX_LIFETIME_MS, false),
        ] {
            let mut jar = CookieJar::default();
            set(&mut jar, home, cookie, NOW);
            assert_eq!(
                jar.header(&url(home), NOW + after_ms).is_some(),
                alive,
                "{cookie} after {after_ms} ms"
            );
        }
    }

    #[test]
    fn cookies_are_replaced_removed_and_sent_in_order() {
        let home = "http://e.org/a/b";
        let mut jar = CookieJar::default();
        assert!(set(&mut jar, home, "one=1; Path=/", NOW));
        assert!(set(&mut jar, home, "two=2; Path=/a", NOW));
        assert!(set(&mut jar, home, "three=3; Path=/", NOW));
        assert!(!set(&mut jar, home, "one=1; Path=/", NOW));
        assert!(set(&mut jar, home, "one=I; Path=/", NOW));
        assert_eq!(
            jar.header(&url(home), NOW).as_deref(),
            Some("two=2; one=I; three=3")
        );
        assert!(set(&mut jar, home, "one=; Path=/; Max-Age=0", NOW));
        assert!(!set(&mut jar, home, "one=; Path=/; Max-Age=0", NOW));
        assert_eq!(
            jar.header(&url(home), NOW).as_deref(),
            Some("two=2; three=3")
        );
        let text = serde_json::to_string(&jar).expect("serialization cannot fail");
        assert_eq!(
            serde_json::from_str::<CookieJar>(&text).expect("a valid jar"),
            jar
        );
    }

    #[test]
    fn the_jar_is_bounded() {
        let home = "http://e.org/";
        let mut jar = CookieJar::default();
        for n in 0..500 {
            set(&mut jar, home, &format!("n{n}=v"), NOW);
        }
        assert_eq!(jar.len(), MAX_COOKIES);
        let sent = jar.header(&url(home), NOW).expect("the jar has cookies");
        assert!(
            sent.starts_with("n450=v; ") && sent.ends_with("; n499=v"),
            "{sent}"
        );
    }
}
