//! Parses seeds as users type them.

use aranha_engine::Config;
use aranha_url::{CanonUrl, Canonicaliser, Rejected};

use super::seed_settings::SettingsChange;
use crate::error::CommandError;
use crate::output::message;

/// Parses seeds. Each seed has a position for error messages (`argument 1`). If any seed is invalid, the result is an
/// error.
///
/// A bare host gets a scheme: `http` for `localhost` and IP addresses, which rarely have certificates, and `https` for
/// other hosts.
pub(crate) fn parse_seeds(
    canon: &Canonicaliser,
    texts: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<CanonUrl>, CommandError> {
    texts
        .into_iter()
        .map(|(position, text)| {
            let text = match without_user(&text) {
                None => text,
                Some(bare) => {
                    message(format_args!(
                        "warning: {position}: user name and password in the URL are not used; \
                         hint: --auth 'ORIGIN=basic USER:PASSWORD'"
                    ));
                    bare
                }
            };
            parse_seed(canon, &text).map_err(|rejected| {
                CommandError::usage(format!(
                    "{position}: `{text}` cannot be crawled: {rejected}"
                ))
                .hint("write an http or https URL, such as https://example.org/")
            })
        })
        .collect()
}

/// Parses the lines of a file of seeds. Settings for the seed may follow the URL.
pub(crate) fn parse_seed_lines(
    canon: &Canonicaliser,
    lines: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<(CanonUrl, SettingsChange)>, CommandError> {
    let mut seeds = Vec::new();
    for (position, line) in lines {
        let (url, change) = SettingsChange::split(&line).map_err(|problem| {
            CommandError::usage(format!("{position}: {problem}"))
                .hint("write for example: https://example.org/ depth=2 every=7d max_every=30d")
        })?;
        let parsed = parse_seeds(canon, [(position, url.to_owned())])?;
        seeds.extend(parsed.into_iter().map(|url| (url, change)));
    }
    Ok(seeds)
}

/// The URL without the part `user:password@`. `None` if there is no such part.
fn without_user(text: &str) -> Option<String> {
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text[start..].find(['/', '?', '#']);
    let end = end.map_or(text.len(), |end| start + end);
    let at = start + text[start..end].rfind('@')?;
    // `mailto:me@example.org` is a URL of another scheme.
    (start > 0).then(|| format!("{}{}", &text[..start], &text[at + 1..]))
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

/// Returns an error if all seeds name private hosts, unless the configuration allows private addresses. Other names
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
        // `localhost:8000` was parsed as a URL with the scheme `localhost`.
        Rejected::Scheme(host) => {
            let port = text[host.len()..].trim_start_matches(':');
            (host.contains('.') || host == "localhost")
                && port.starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    }
}
