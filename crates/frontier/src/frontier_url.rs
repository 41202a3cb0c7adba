//! The option `frontier.url`: the address of a frontier that several nodes share, or a reference to such an address. A
//! password in the address is never printed or stored.

use std::fmt;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The value of `frontier.url`. Its `Display`, `Debug` and serialised forms contain no password.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum FrontierUrl {
    /// `""`: the frontier is in the folder of the collection.
    #[default]
    Unset,
    /// `postgres://USER@HOST/DATABASE?schema=NAME`.
    Url(String),
    /// `@FILE`: a file that contains the address.
    File(String),
    /// `$NAME`: an environment variable that contains the address.
    Variable(String),
}

impl FrontierUrl {
    /// Reads the configured text. The error is a sentence that contains no secret.
    pub fn parse(text: &str) -> Result<FrontierUrl, String> {
        let text = text.trim();
        Ok(match text.split_at_checked(1) {
            None => FrontierUrl::Unset,
            Some(("@", file)) => FrontierUrl::File(file.to_owned()),
            Some(("$", name)) => FrontierUrl::Variable(name.to_owned()),
            Some(_) => FrontierUrl::Url(checked(text)?),
        })
    }

    /// Whether a frontier is named.
    pub fn is_set(&self) -> bool {
        *self != FrontierUrl::Unset
    }

    /// Whether the text itself contains a password.
    pub fn has_password(&self) -> bool {
        matches!(self, FrontierUrl::Url(url) if without_password(url) != *url)
    }

    /// The address, read from its file or variable if this is a reference. `None` if no frontier is named. The error
    /// contains no secret.
    pub fn load(&self) -> Result<Option<String>, String> {
        let (place, text) = match self {
            FrontierUrl::Unset => return Ok(None),
            FrontierUrl::Url(url) => return Ok(Some(url.clone())),
            FrontierUrl::File(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| format!("cannot read {path}: {error}"))?;
                (path, text)
            }
            FrontierUrl::Variable(name) => {
                let text = std::env::var(name);
                let text =
                    text.map_err(|_| format!("the environment variable {name} is not set"))?;
                (name, text)
            }
        };
        let url = checked(text.trim()).map_err(|problem| format!("{place}: {problem}"))?;
        Ok(Some(url))
    }

    /// Makes the path of a reference `@FILE`, which is relative to `folder`, absolute. `None` if the text is no such
    /// reference.
    pub fn resolve_path(text: &str, folder: &Path) -> Option<String> {
        let path = std::path::absolute(folder.join(text.trim().strip_prefix('@')?)).ok()?;
        Some(format!("@{}", path.to_str()?))
    }
}

fn checked(text: &str) -> Result<String, String> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok(text.to_owned());
    }
    Err(
        "this is not the address of a frontier, for example postgres://crawl@db.example.org/national"
            .to_owned(),
    )
}

impl fmt::Display for FrontierUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrontierUrl::Unset => Ok(()),
            FrontierUrl::Url(url) => f.write_str(&without_password(url)),
            FrontierUrl::File(path) => write!(f, "@{path}"),
            FrontierUrl::Variable(name) => write!(f, "${name}"),
        }
    }
}

impl fmt::Debug for FrontierUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for FrontierUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FrontierUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FrontierUrl::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The address without its password. A password can be after the role or in a parameter.
pub(crate) fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return "postgres".to_owned();
    };
    // A password can contain `@`, `/` and `?`, so it ends at the last `@`.
    let (authority, rest) = match rest.rsplit_once('@') {
        Some((login, place)) => {
            let user = login.split(':').next().unwrap_or_default();
            (format!("{user}@"), place)
        }
        None => (String::new(), rest),
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let parameters = query.unwrap_or_default().split('&');
    let parameters = parameters
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("password="))
        .collect::<Vec<_>>()
        .join("&");
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out() {
        for (text, shown) in [
            (
                "postgres://crawl:s3cret@db/n?schema=x",
                "postgres://crawl@db/n?schema=x",
            ),
            (
                "postgres://crawl:a/b@c@db:5433/n",
                "postgres://crawl@db:5433/n",
            ),
            (
                "postgres://crawl:?s3cret/a@db/n?schema=x",
                "postgres://crawl@db/n?schema=x",
            ),
            ("postgres://db/n?password=s3cret", "postgres://db/n"),
            (
                "postgres://db/n?password=s3cret&schema=x",
                "postgres://db/n?schema=x",
            ),
            ("postgres://crawl@db/n", "postgres://crawl@db/n"),
            ("postgresql:///n", "postgresql:///n"),
            ("@/etc/url", "@/etc/url"),
            ("$URL", "$URL"),
            ("", ""),
        ] {
            let url = FrontierUrl::parse(text).expect("valid");
            assert_eq!(url.to_string(), shown);
            assert_eq!(
                url.has_password(),
                text.contains("s3cret") || text.contains("a/b")
            );
        }
        let error = FrontierUrl::parse("mysql://u:s3cret@db/n").expect_err("another database");
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn an_address_is_read_from_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("url"), "postgres://u:s3cret@db/n\n").expect("writes");
        let text = FrontierUrl::resolve_path("@url", folder.path()).expect("a path");
        let url = FrontierUrl::parse(&text).expect("valid");
        assert_eq!(
            url.load().expect("reads").as_deref(),
            Some("postgres://u:s3cret@db/n")
        );
        assert!(FrontierUrl::File("/none".to_owned()).load().is_err());
        assert_eq!(FrontierUrl::Unset.load(), Ok(None));
    }
}
