//! Builds the scope and the black list from the configuration.

use std::fs;

use aranha_frontier::External;
use aranha_url::{Blacklist, Filter, Scope};

use super::{Config, ConfigError, Origin};

impl Config {
    /// The scope, without seeds (U12, U10, U11).
    pub fn scope(&self) -> Result<Scope, ConfigError> {
        let crawl = &self.crawl;
        let accept = before_fetch("crawl.accept", &crawl.accept)?;
        let reject = before_fetch("crawl.reject", &crawl.reject)?;
        // Requisites (files that a page loads) may be on sites that are out of scope. They are fetched only with the
        // policy `DeepLink`. `HomePage` would fetch the home page of the other site instead, and `Combined` would fetch
        // both.
        let takes_deep_links = self.frontier.external_links == External::DeepLink;
        Ok(Scope::new(
            crawl.scope,
            &crawl.tlds,
            accept,
            reject,
            self.blacklist()?,
            crawl.depth,
        )
        .with_requisites(self.page.assets && takes_deep_links))
    }

    /// The filter for the responses that are stored; `None` if all responses are stored.
    pub fn keep(&self) -> Result<Option<Filter>, ConfigError> {
        const KEY: &str = "crawl.keep";
        let filter = any_of(KEY, &self.crawl.keep)?;
        let is_identified = self.page.text && self.page.identify_language;
        if !is_identified && filter.as_ref().is_some_and(Filter::tests_language) {
            return Err(value_error(
                KEY,
                "`language` is not known without page.text and page.identify_language".to_owned(),
                Some("set both to true, or remove them from the configuration".to_owned()),
            ));
        }
        Ok(filter)
    }

    /// The black list, including the entries from files. Addresses in `crawl.reject` are also put on the black list,
    /// because only the address guard knows the addresses of a host.
    pub fn blacklist(&self) -> Result<Blacklist, ConfigError> {
        Blacklist::parse_lines(&self.blacklist_text()?)
            .map_err(|error| value_error("crawl.blacklist", error.to_string(), None))
    }

    /// The lines of the black list, including those from files.
    pub(crate) fn blacklist_text(&self) -> Result<String, ConfigError> {
        let mut lines = self.crawl.blacklist.join("\n");
        for entry in &self.crawl.reject {
            if Blacklist::is_address_entry(entry) {
                lines.push('\n');
                lines.push_str(entry);
            }
        }
        for path in &self.crawl.blacklist_files {
            let text = fs::read_to_string(path).map_err(|source| ConfigError::ReadList {
                path: path.clone(),
                source,
            })?;
            // Each file is first parsed on its own, so that an error has the number of the line in that file.
            Blacklist::parse_lines(&text).map_err(|error| ConfigError::List {
                path: path.clone(),
                sentence: error.to_string(),
            })?;
            lines.push('\n');
            lines.push_str(&text);
        }
        Ok(lines)
    }
}

/// Combines filters that are applied to links. They must not test media type or size, which are not known before the
/// fetch.
fn before_fetch(key: &str, texts: &[String]) -> Result<Option<Filter>, ConfigError> {
    let filter = any_of(key, texts)?;
    match filter.as_ref().and_then(Filter::response_test) {
        None => Ok(filter),
        Some(test) => Err(value_error(
            key,
            format!("`{test}` is known only when a page has been fetched"),
            Some(
                "use --keep (crawl.keep) to store only some of the pages, or fetch.media_types to read no other bodies"
                    .to_owned(),
            ),
        )),
    }
}

/// Combines filters into one that matches if any of them matches. `None` for an empty list.
fn any_of(key: &str, texts: &[String]) -> Result<Option<Filter>, ConfigError> {
    for text in texts {
        parse(key, text)?;
    }
    match texts {
        [] => Ok(None),
        [single] => parse(key, single).map(Some),
        several => {
            let parts: Vec<_> = several.iter().map(|text| format!("({text})")).collect();
            parse(key, &parts.join(" or ")).map(Some)
        }
    }
}

fn parse(key: &str, text: &str) -> Result<Filter, ConfigError> {
    Filter::parse(text).map_err(|error| {
        let sentence = format!("in `{text}`, column {}: {}", error.column, error.problem);
        value_error(key, sentence, Some(error.hint))
    })
}

/// Makes an error for a value. `check.rs` later replaces the origin in it, which is a placeholder.
fn value_error(key: &str, sentence: String, hint: Option<String>) -> ConfigError {
    ConfigError::Value {
        key: key.to_owned(),
        origin: Origin::Default,
        sentence,
        hint,
    }
}
