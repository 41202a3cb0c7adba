//! Secrets of the user: credentials by origin (`auth`) and cookies from a file (`cookies`).
//!
//! Each secret is sent to its own origin or domain only. [`Secrets::add`] returns the request head that is sent, and a
//! copy for the archive in which the secret values are replaced by [`HIDDEN`]. [`Credentials`] never prints its secret:
//! its `Debug` and serialised forms contain [`HIDDEN`] instead, unless the text only refers to a file or an environment
//! variable.

use std::{collections::HashMap, fmt, path::Path};

use aranha_url::{CanonUrl, Canonicaliser, UrlRules};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{FetchRequest, Options, cookies::ImportedCookies, http::request::is_valid_line};

/// Stands for a secret in output and in archived request heads.
pub const HIDDEN: &str = "(hidden)";

/// Credentials for one origin: `basic USER:PASSWORD`, `bearer TOKEN` or `header NAME: VALUE`. The text can have a
/// reference in place of the secret: `@FILE` names a file that contains it, and `$NAME` an environment variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    scheme: AuthScheme,
    secret: String,
}

#[derive(Clone, PartialEq, Eq)]
enum AuthScheme {
    Basic,
    Bearer,
    /// A header with this name.
    Header(String),
}

impl Credentials {
    /// Reads the configured text. The error does not contain the text, which may be secret.
    pub fn parse(text: &str) -> Result<Credentials, &'static str> {
        const EXPECTED: &str = "expected `basic USER:PASSWORD`, `bearer TOKEN` or `header NAME: VALUE`; write @FILE or $NAME in place of USER:PASSWORD, TOKEN or VALUE to read it from a file or an environment variable";
        let (scheme, rest) = text.trim().split_once(' ').ok_or(EXPECTED)?;
        let rest = rest.trim();
        let (scheme, secret) = match scheme.to_ascii_lowercase().as_str() {
            "basic" => (AuthScheme::Basic, rest),
            "bearer" => (AuthScheme::Bearer, rest),
            "header" => {
                let (name, value) = rest.split_once(':').ok_or(EXPECTED)?;
                (AuthScheme::Header(name.trim().to_owned()), value.trim())
            }
            _ => return Err(EXPECTED),
        };
        if secret.contains(HIDDEN) {
            return Err(
                "`(hidden)` stands for a secret that was not printed; write the secret, @FILE or $NAME",
            );
        }
        let credentials = Credentials {
            scheme,
            secret: secret.to_owned(),
        };
        if secret.is_empty()
            || (!credentials.is_reference() && credentials.header_line(secret).is_none())
        {
            return Err(EXPECTED);
        }
        Ok(credentials)
    }

    /// Whether the text refers to a file or an environment variable instead of containing the secret.
    pub fn is_reference(&self) -> bool {
        self.secret.starts_with(['@', '$'])
    }

    /// Makes the path of a reference `@FILE`, which is relative to `folder`, absolute. `None` if the text has no
    /// `@FILE`.
    pub fn resolve_path(text: &str, folder: &Path) -> Option<String> {
        let at = text.find(" @")? + 2;
        let path = std::path::absolute(folder.join(text[at..].trim())).ok()?;
        Some(format!("{}{}", &text[..at], path.to_str()?))
    }

    /// Name and value of the header, with the secret read from its file or variable.
    fn header(&self) -> Result<(String, String), String> {
        let secret = if let Some(path) = self.secret.strip_prefix('@') {
            std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?
        } else if let Some(name) = self.secret.strip_prefix('$') {
            std::env::var(name)
                .map_err(|_| format!("the environment variable {name} is not set"))?
        } else {
            self.secret.clone()
        };
        let line = self.header_line(secret.trim());
        line.ok_or_else(|| {
            "the secret has the wrong form, or contains a control character".to_owned()
        })
    }

    fn header_line(&self, secret: &str) -> Option<(String, String)> {
        let (name, value) = match &self.scheme {
            AuthScheme::Basic => {
                secret.contains(':').then_some(())?;
                (
                    "Authorization",
                    format!("Basic {}", base64(secret.as_bytes())),
                )
            }
            AuthScheme::Bearer => ("Authorization", format!("Bearer {secret}")),
            AuthScheme::Header(name) => (name.as_str(), secret.to_owned()),
        };
        let has_control = secret.bytes().any(|byte| byte.is_ascii_control());
        (!secret.is_empty() && !has_control && is_valid_line(name, &value))
            .then(|| (name.to_owned(), value))
    }
}

impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = if self.is_reference() {
            &self.secret
        } else {
            HIDDEN
        };
        match &self.scheme {
            AuthScheme::Basic => write!(f, "basic {secret}"),
            AuthScheme::Bearer => write!(f, "bearer {secret}"),
            AuthScheme::Header(name) => write!(f, "header {name}: {secret}"),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Credentials {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Credentials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Credentials::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The secrets of a crawl, read from their files and variables.
#[derive(Default)]
pub struct Secrets {
    by_origin: HashMap<String, (String, String)>,
    cookies: ImportedCookies,
}

impl Secrets {
    /// Reads the secrets that the options name. The error is a sentence that contains no secret.
    pub fn load(options: &Options) -> Result<Secrets, String> {
        let mut by_origin = HashMap::new();
        for (origin, credentials) in &options.auth {
            let origin = canonical_origin(origin).ok_or_else(|| {
                format!("`{origin}` is not an origin such as https://example.org")
            })?;
            let header = credentials.header();
            let header = header.map_err(|error| format!("credentials for {origin}: {error}"))?;
            by_origin.insert(origin, header);
        }
        Ok(Secrets {
            by_origin,
            cookies: read_cookies(&options.cookies)?,
        })
    }

    /// Returns the request head with the secrets for its URL, and the copy for the archive, which contains [`HIDDEN`]
    /// instead of them. `None` if no secret is sent to this URL.
    pub(crate) fn add(
        &self,
        head: &Bytes,
        request: &FetchRequest<'_>,
        now_ms: i64,
    ) -> Option<(Bytes, Bytes)> {
        let url = request.url;
        let header = self.by_origin.get(url.origin());
        let own = request.headers.iter().find(|(name, _)| *name == "Cookie");
        let own = own.map(|(_, value)| value.as_str());
        let cookies = self.cookies.extend(own, url, now_ms);
        if header.is_none() && cookies.is_none() {
            return None;
        }
        // The lines between the request line and the empty line at the end.
        let text = str::from_utf8(head).ok()?.strip_suffix("\r\n")?;
        let mut sent = String::with_capacity(text.len() + 200);
        for line in text.split_inclusive("\r\n") {
            if cookies.is_none() || !line.starts_with("Cookie: ") {
                sent.push_str(line);
            }
        }
        let mut archived = sent.clone();
        let lines = header.map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in lines
            .into_iter()
            .chain(cookies.as_deref().map(|value| ("Cookie", value)))
        {
            sent.extend([name, ": ", value, "\r\n"]);
            archived.extend([name, ": ", HIDDEN, "\r\n"]);
        }
        sent.push_str("\r\n");
        archived.push_str("\r\n");
        Some((sent.into(), archived.into()))
    }
}

/// The canonical form of an origin. `None` if the text has a path, a query or user information, or is no http URL.
fn canonical_origin(text: &str) -> Option<String> {
    let bare = text.trim_end_matches('/');
    let (_, authority) = bare.split_once("://")?;
    if authority.contains(['/', '?', '#', '@']) {
        return None;
    }
    let url: CanonUrl = Canonicaliser::new(UrlRules::default())
        .canon(&format!("{bare}/"))
        .ok()?;
    Some(url.origin().to_owned())
}

fn read_cookies(path: &str) -> Result<ImportedCookies, String> {
    if path.is_empty() {
        return Ok(ImportedCookies::default());
    }
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read the cookies in {path}: {error}"))?;
    ImportedCookies::parse(&text).map_err(|line| {
        format!("{path}, line {line}: expected seven fields separated by tabs (the Netscape cookie format)")
    })
}

/// Base64 with padding (RFC 4648, 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for index in 0..4 {
            let sextet = (bits >> (18 - 6 * index)) as usize & 63;
            text.push(if index <= group.len() {
                char::from(ALPHABET[sextet])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn credentials_do_not_print_their_secret() {
        for (text, shown) in [
            ("basic anna:secret", "basic (hidden)"),
            ("Bearer s3cret", "bearer (hidden)"),
            ("header X-Key: s3cret", "header X-Key: (hidden)"),
            ("bearer $TOKEN", "bearer $TOKEN"),
            ("basic @/etc/login", "basic @/etc/login"),
        ] {
            let credentials = Credentials::parse(text).expect("valid credentials");
            assert_eq!(format!("{credentials:?}"), shown);
            assert_eq!(serde_json::to_value(&credentials).expect("JSON"), shown);
        }
        for text in [
            "anna:secret",
            "basic secret",
            "digest a:b",
            "bearer ",
            "bearer (hidden)",
            "header X Y: z",
        ] {
            let error = Credentials::parse(text).expect_err(text);
            assert!(!error.contains("secret`"), "{error}");
        }
    }

    #[test]
    fn origins() {
        assert_eq!(
            canonical_origin("HTTPS://Example.org:443/").as_deref(),
            Some("https://example.org")
        );
        for text in [
            "example.org",
            "https://example.org/a",
            "https://a:b@example.org",
            "ftp://example.org",
        ] {
            assert_eq!(canonical_origin(text), None, "{text}");
        }
    }
}
