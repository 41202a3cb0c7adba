//! Parses seeds as users type them.

use aranha_engine::Config;
use aranha_url::{CanonUrl, Canonicaliser, Rejected};

use crate::error::CommandError;

/// Parses seeds, each with its position for error messages (`argument 1`). If any of them is invalid, the result is an
/// error.
///
/// A bare host gets a scheme: `http` for `localhost` and IP addresses, which rarely have certificates, else `https`.
pub(crate) fn parse_seeds(
    canon: &Canonicaliser,
    texts: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<CanonUrl>, CommandError> {
    texts
        .into_iter()
        .map(|(position, text)| {
            parse_seed(canon, &text).map_err(|rejected| {
                CommandError::usage(format!(
                    "{position}: `{text}` cannot be crawled: {rejected}"
                ))
                .hint("write an http or https URL, such as https://example.org/")
            })
        })
        .collect()
}

fn parse_seed(canon: &Canonicaliser, text: &str) -> Result<CanonUrl, Rejected> {
    canon.canon(text).or_else(|rejected| {
        if !is_bare_host(text, &rejected) {
            return Err(rejected);
        }
        let local = text.starts_with("localhost")
            || text.starts_with(|c: char| c.is_ascii_digit() || c == '[');
        let scheme = if local { "http" } else { "https" };
        canon
            .canon(&format!("{scheme}://{text}"))
            .map_err(|_| rejected)
    })
}

/// Refuses a crawl whose seeds all name private hosts, unless the configuration allows private addresses. Other names
/// that resolve to private addresses are refused when they are fetched.
pub(crate) fn check_private(config: &Config, seeds: &[CanonUrl]) -> Result<(), CommandError> {
    let all_private = seeds
        .iter()
        .all(|seed| aranha_engine::is_private_host(seed.host()));
    match seeds {
        [first, ..] if all_private && !config.fetch.allow_private => Err(CommandError::usage(
            format!("{first} is on this machine or on a private network, which is not crawled by default"),
        )
        .hint("add --allow-private; --contact is then optional")),
        _ => Ok(()),
    }
}

/// Whether a rejected text is a host without a scheme, such as `example.org` or `localhost:8000`.
fn is_bare_host(text: &str, rejected: &Rejected) -> bool {
    match rejected {
        Rejected::Malformed(_) => {
            text.starts_with(|c: char| c.is_alphanumeric() || c == '[') && !text.contains("://")
        }
        // In `localhost:8000` the host was parsed as a scheme.
        Rejected::Scheme(host) => {
            let port = text[host.len()..].trim_start_matches(':');
            (host.contains('.') || host == "localhost")
                && port.starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    }
}
