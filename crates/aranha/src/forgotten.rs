//! `forgotten.jsonl`: the pages and sites whose contents `aranha forget` has deleted, one JSON object per line. In a crawl of
//! several machines these lines are in the frontier.

use std::io::ErrorKind;

use aranha_engine::Collection;
use aranha_frontier::View;
use aranha_frontier::shared::FORGOTTEN;
use aranha_units::calendar;
use aranha_url::{CanonUrl, Canonicaliser};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::CommandError;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForgottenEntry {
    /// Time of the deletion, in unix milliseconds.
    pub(crate) time_ms: i64,
    /// The URL, or the name of the site.
    pub(crate) target: String,
    #[serde(default)]
    pub(crate) reason: String,
    /// Number of records that became tombstones.
    pub(crate) records: u64,
    /// If this page was forgotten only because it had the same payload as the target of the command, that target.
    #[serde(default)]
    pub(crate) copy_of: Option<String>,
    /// In a crawl of several machines: the numbers of the folder in which the records were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<u32>,
}

impl ForgottenEntry {
    /// "forgotten on DATE: REASON".
    pub(crate) fn sentence(&self) -> String {
        let time = calendar::date_time(self.time_ms);
        let mut sentence = format!("forgotten on {time} UTC");
        if let Some(original) = &self.copy_of {
            sentence.extend([" as a copy of ", original]);
        }
        if !self.reason.is_empty() {
            sentence.extend([": ", &self.reason]);
        }
        sentence
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "time": calendar::rfc3339(self.time_ms),
            "target": self.target,
            "reason": self.reason,
            "copy_of": self.copy_of,
        })
    }
}

/// What a user wants to forget.
#[derive(Clone, Debug)]
pub(crate) enum ForgetTarget {
    Page(CanonUrl),
    Site(String),
}

impl ForgetTarget {
    /// A URL, or the name of a site: a host, with its port if that is not the default one.
    pub(crate) fn parse(text: &str, literal: &Canonicaliser) -> Option<Self> {
        if text.contains('/') {
            return literal.canon(text).ok().map(Self::Page);
        }
        let url = literal.canon(&format!("http://{text}/")).ok()?;
        Some(Self::Site(url.site().to_owned()))
    }

    /// Whether a stored URL is this page (with http or https), or is on this site.
    pub(crate) fn covers(&self, url: &CanonUrl) -> bool {
        match self {
            Self::Page(page) => page.key() == url.key(),
            Self::Site(site) => site == url.site(),
        }
    }

    /// The name of the target in `forgotten.jsonl`.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Page(url) => url.as_str(),
            Self::Site(site) => site,
        }
    }

    /// The black list entry that blocks the target.
    pub(crate) fn block_entry(&self) -> String {
        match self {
            Self::Page(page) => page.as_str().to_owned(),
            Self::Site(site) => format!("http://{site}/*"),
        }
    }
}

/// The newest line that covers a URL.
pub(crate) fn find(
    entries: Vec<ForgottenEntry>,
    literal: &Canonicaliser,
    url: &CanonUrl,
) -> Option<ForgottenEntry> {
    let covers = |entry: &ForgottenEntry| {
        ForgetTarget::parse(&entry.target, literal).is_some_and(|target| target.covers(url))
    };
    entries.into_iter().rev().find(covers)
}

/// All lines of a collection, or of the frontier that it shares, oldest first.
pub(crate) fn read(
    collection: &Collection,
    view: &View,
) -> Result<Vec<ForgottenEntry>, CommandError> {
    if view.is_shared() {
        let shared = view.text(FORGOTTEN)?;
        return Ok(shared.map_or_else(Vec::new, |shared| parse(&shared.text)));
    }
    let path = collection.forgotten();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let sentence = format!("cannot read {}: {error}", path.display());
            return Err(CommandError::failed(sentence).hint("the file must be readable"));
        }
    };
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<ForgottenEntry> {
    let entries = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_cover_pages_and_sites() {
        let canon = Canonicaliser::new(aranha_url::UrlRules::default());
        let check = |target: &str, url: &str, expected: bool| {
            let target = ForgetTarget::parse(target, &canon).unwrap();
            let covers = target.covers(&canon.canon(url).unwrap());
            assert_eq!(covers, expected, "{target:?} {url}");
        };
        check("https://example.org/a", "http://example.org/a", true);
        check("https://example.org/a", "https://example.org/a?b", false);
        check("example.org", "https://www.example.org/a", true);
        check("example.org", "https://shop.example.org/a", false);
        check("example.org:8080", "http://example.org:8080/", true);
        check("example.org:8080", "http://example.org/", false);
        assert!(ForgetTarget::parse("a b", &canon).is_none());
    }
}
