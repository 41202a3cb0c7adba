//! `aranha block` and `aranha unblock`: block and unblock sites, domains, URLs and addresses (D7, U11). Both also work
//! during a crawl.
//!
//! Both edit the collection's own black list, `blacklist.txt`. A running crawl reloads this file when it changes. If
//! several nodes share the frontier, the list in the frontier is edited instead, and each node copies it.

use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::{Clock, Collection as Folder};
use aranha_frontier::shared::BLACKLIST;
use aranha_frontier::{Frontier, SiteState};
use aranha_url::{Blacklist, CanonUrl, Canonicaliser, Filter, FilterError, blacklist};
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::output::{Output, counted, message};
use crate::shared_args::{CollectionArg, JsonObjectArg};

const EXAMPLES: &str = "\
Examples:
  aranha block spam.example -c national --reason \"a link farm\"
  aranha block '*.example.net' 192.0.2.0/24 -c national
  aranha block 'https://example.org/calendar/*' -c national
  aranha block 'path:/calendar/* and query:*' example.org:8080 -c national
  aranha status --blocked -c national    list the blocked sites with the reason
  aranha unblock spam.example -c national";

/// Block sites, domains, URLs or addresses; also works during a crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Block {
    /// A host or domain (includes its subdomains), `host:port`, `*.domain` (subdomains only), a URL (a trailing `*` matches
    /// anything), an IP address or range, or a filter as for `crawl --reject`
    #[arg(value_name = "ENTRY", required = true)]
    entries: Vec<String>,
    /// Reason for the block; written beside the entries in the black list
    #[arg(long, default_value = "by hand")]
    reason: String,
    #[command(flatten)]
    collection: CollectionArg,
}

/// Remove entries from the black list, and unblock sites
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Unblock {
    /// Entries of the black list, or sites and domains that were blocked as traps
    #[arg(value_name = "ENTRY", required = true)]
    entries: Vec<String>,
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    output: JsonObjectArg,
}

/// Adds entries to the black list.
pub(crate) fn block(arguments: &Block) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let reason = arguments.reason.replace(char::is_control, " ");
    let entries: Vec<&str> = arguments.entries.iter().map(|entry| entry.trim()).collect();
    for entry in &entries {
        if let Some(hint) = Filter::parse(entry).err().and_then(hint_for_path) {
            return Err(
                CommandError::usage(format!("`{entry}` is not an entry of a black list"))
                    .hint(hint),
            );
        }
        let problem = match Blacklist::parse_lines(entry) {
            Ok(list) if list.is_empty() => "not an entry of a black list".to_owned(),
            Ok(_) => continue,
            Err(error) => error.problem,
        };
        return Err(CommandError::usage(format!("`{entry}` is {problem}"))
            .hint("write a host, domain, URL, IP address, range or filter: example.org, example.org:8080, *.example.org, 192.0.2.0/24, 'path:/calendar/*'"));
    }
    let count = counted_entries(arguments.entries.len() as u64);
    if let Some(mut frontier) = frontier_access::shared_writer(&opened.config)? {
        let add = |text: &str| {
            Some(aranha_engine::with_blacklist_entries(
                text, &entries, &reason,
            ))
        };
        change_shared_list(&mut frontier, add)?;
        message(format_args!(
            "{count} added to the black list of the crawl; all nodes apply the change within two seconds"
        ));
        return Ok(ExitStatus::Done);
    }
    let path = Folder::at(&arguments.collection.folder).blacklist();
    let written = aranha_engine::add_to_blacklist(&path, &entries, &reason);
    written.map_err(|error| cannot_write(&path, &error))?;
    message(format_args!(
        "{count} added to the black list of `{}`; a running crawl applies the change within a second",
        arguments.collection.folder.display()
    ));
    Ok(ExitStatus::Done)
}

/// Changes the black list that the nodes of a crawl share.
fn change_shared_list(
    frontier: &mut dyn Frontier,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Result<(), CommandError> {
    if let Some(shared) = frontier.shared() {
        shared.change_text(BLACKLIST, &mut change)?;
    }
    Ok(())
}

/// Removes entries from the black list, and unblocks the sites that they name.
pub(crate) fn unblock(arguments: &Unblock) -> Result<ExitStatus, CommandError> {
    let opened = frontier_access::require_existing(&arguments.collection)?;
    let collection = CollectionReader::open(&arguments.collection)?;
    let mut frontier = frontier_access::writer(&arguments.collection, &opened.config)?;
    let mut wanted: Vec<EntryMatcher> = arguments
        .entries
        .iter()
        .map(|entry| EntryMatcher::new(&collection.canon, entry))
        .collect();
    let path = Folder::at(&arguments.collection.folder).blacklist();
    let list = match std::fs::read_to_string(&path) {
        _ if collection.view.is_shared() => {
            let list = collection.view.text(BLACKLIST)?;
            list.map(|list| list.text).unwrap_or_default()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        list => list.map_err(|error| {
            CommandError::failed(format!("cannot read {}: {error}", path.display()))
                .hint("the black list must be a UTF-8 text file that you are allowed to read")
        })?,
    };
    let lines: Vec<&str> = list
        .lines()
        .map(blacklist::entry_of)
        .filter(|entry| !entry.is_empty())
        .filter(|entry| {
            let line = EntryMatcher::new(&collection.canon, entry);
            find(&mut wanted, |named| named.key == line.key)
        })
        .collect();
    let removed = if collection.view.is_shared() {
        let mut removed = 0;
        change_shared_list(frontier.as_mut(), |text| {
            let (rest, count) = aranha_engine::without_blacklist_entries(text, &lines);
            removed = count;
            (count > 0).then_some(rest)
        })?;
        removed
    } else {
        aranha_engine::remove_from_blacklist(&path, &lines)
            .map_err(|error| cannot_write(&path, &error))?
    };
    let mut sites = Vec::new();
    collection.view.sites(|site| {
        let is_wanted = |named: &EntryMatcher| named.covers(&site.site);
        if site.state == SiteState::Blocked && find(&mut wanted, is_wanted) {
            sites.push(site.site);
        }
        true
    })?;
    let now = Clock::new().now();
    for site in &sites {
        frontier.unblock(now, site)?;
    }
    if wanted.iter().any(|named| named.found) {
        report(removed, sites.len() as u64, arguments.output.json)?;
    }
    if wanted.iter().any(|named| !named.found) {
        return Err(unknown(&wanted, &arguments.collection));
    }
    Ok(ExitStatus::Done)
}

/// The error for entries that match neither a line of the black list nor a blocked site.
fn unknown(wanted: &[EntryMatcher], collection: &CollectionArg) -> CommandError {
    let entries: Vec<_> = wanted
        .iter()
        .filter(|named| !named.found)
        .map(|named| format!("`{}`", named.entry))
        .collect();
    CommandError::failed(format!(
        "{} is neither on the black list nor a blocked site",
        entries.join(" or ")
    ))
    .hint(format!(
        "`aranha status --blocked -c {}` lists the blocked sites",
        collection.folder.display()
    ))
}

/// "1 entry" or "N entries".
fn counted_entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{} entries", grouped(number)),
    }
}

fn report(lines: u64, sites: u64, json: bool) -> Result<(), CommandError> {
    if json {
        let mut output = Output::new();
        output.json(&json!({"entries": lines, "sites": sites}))?;
        output.finish()?;
    } else {
        let removed = format!("{} removed from the black list", counted_entries(lines));
        match sites {
            0 => message(removed),
            _ => message(format_args!(
                "{removed}, {} unblocked",
                counted(sites, "site")
            )),
        }
    }
    Ok(())
}

/// An entry in normal form. Two entries with the same key block the same URLs.
struct EntryMatcher<'a> {
    /// The entry as the user typed it.
    entry: &'a str,
    /// The normal form. For a host, it is the site name (`www.` folded, with the port if there is one). For subdomains,
    /// it is `*.` and the host. For a URL, it is the URL without its scheme. For any other entry, it is the text in
    /// lower case.
    key: String,
    /// The host, if the entry names a host without a port, or the subdomains of a host.
    host: Option<String>,
    /// Whether the entry matched a line of the black list or a blocked site.
    found: bool,
}

impl<'a> EntryMatcher<'a> {
    fn new(canon: &Canonicaliser, entry: &'a str) -> Self {
        let text = entry.trim();
        let (key, host) = if text.contains("://") {
            let (url, open) = match text.strip_suffix('*') {
                Some(url) => (url, "*"),
                None => (text, ""),
            };
            let key = |url: CanonUrl| format!("{}{}{open}", url.site(), url.path());
            (canon.canon(url).ok().map(key), None)
        } else {
            let (name, below) = match text.strip_prefix("*.") {
                Some(name) => (name, true),
                None => (text, false),
            };
            let scheme = if name.ends_with(":443") {
                "https"
            } else {
                "http"
            };
            let url = canon.canon(&format!("{scheme}://{name}/"));
            // The path must be `/`, because an address range such as `192.0.2.0/24` is not a host, but also gives a
            // valid URL.
            match url.ok().filter(|url| url.path() == "/") {
                Some(url) if below => (
                    Some(format!("*.{}", url.host())),
                    Some(url.host().to_owned()),
                ),
                Some(url) => {
                    let host = (without_port(text) == text).then(|| url.host().to_owned());
                    (Some(url.site().to_owned()), host)
                }
                None => (None, None),
            }
        };
        Self {
            entry,
            key: key.unwrap_or_else(|| text.to_lowercase()),
            host,
            found: false,
        }
    }

    /// Whether the entry names this site or a domain above it.
    fn covers(&self, site: &str) -> bool {
        let name = without_port(site);
        let below = |host: &String| {
            let rest = name.strip_suffix(host.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let named = |host: &String| name == self.key || below(host);
        site == self.key || self.host.as_ref().is_some_and(named)
    }
}

/// Whether any entry matches. Every entry that matches is marked as found.
fn find(wanted: &mut [EntryMatcher], fits: impl Fn(&EntryMatcher) -> bool) -> bool {
    let mut any = false;
    for named in wanted.iter_mut() {
        let fits = fits(named);
        named.found |= fits;
        any |= fits;
    }
    any
}

/// The hint for a path such as `/docs/`, which is not an entry.
fn hint_for_path(error: FilterError) -> Option<String> {
    error.hint.starts_with("write path:").then_some(error.hint)
}

/// Removes the port of a host: `example.org` for `example.org:8080`.
fn without_port(entry: &str) -> &str {
    match entry.rsplit_once(':') {
        Some((host, port))
            if (host.ends_with(']') || !host.contains([':', '/']))
                && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            host
        }
        _ => entry,
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::cannot_write(
        path,
        error,
        "you must be allowed to write to the collection",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_cover_sites() {
        let canon = Canonicaliser::new(aranha_url::UrlRules::default());
        for (entry, site, expected) in [
            ("example.org", "example.org", true),
            ("Example.ORG", "example.org", true),
            ("www.example.org", "example.org", true),
            ("www.example.org", "shop.example.org", false),
            ("www.shop.example.org", "shop.example.org", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("example.org", "example.org:8080", true),
            ("example.org:8080", "example.org:8080", true),
            ("example.org:8080", "example.org", false),
            ("example.org:8080", "example.org:81", false),
            ("example.org:80", "example.org", true),
            ("[::1]:81", "[::1]:81", true),
            ("[::1]", "[::1]:81", true),
            ("*.example.org", "shop.example.org", true),
            ("example.org", "badexample.org", false),
            ("shop.example.org", "example.org", false),
        ] {
            let named = EntryMatcher::new(&canon, entry);
            assert_eq!(named.covers(site), expected, "{entry} {site}");
        }
    }

    #[test]
    fn equal_entries_have_equal_keys() {
        let canon = Canonicaliser::new(aranha_url::UrlRules::default());
        for (one, other, expected) in [
            ("Foo.Example", "FOO.example", true),
            ("www.foo.example", "foo.example", true),
            ("*.foo.example", "*.Foo.example", true),
            ("*.foo.example", "foo.example", false),
            ("192.0.2.0/24", "192.0.2.0", false),
            ("192.0.2.0/24", "192.0.2.0/24", true),
            ("2001:DB8::1", "2001:db8::1", true),
            ("https://foo.example/a*", "HTTP://www.Foo.example/a*", true),
            ("https://foo.example/a*", "https://foo.example/A*", false),
            ("https://foo.example/a*", "https://foo.example/a", false),
            ("foo.example:81", "www.Foo.example:81", true),
            ("foo.example:81", "foo.example", false),
            ("path:/a/* and query:*", "path:/a/* and query:*", true),
        ] {
            let key = |entry| EntryMatcher::new(&canon, entry).key;
            assert_eq!(key(one) == key(other), expected, "{one} {other}");
        }
    }

    #[test]
    fn ports_are_removed() {
        for (entry, expected) in [
            ("example.org:8080", "example.org"),
            ("example.org", "example.org"),
            ("https://example.org:8080", "https://example.org:8080"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]:81", "[2001:db8::1]"),
            ("*.example.org", "*.example.org"),
        ] {
            assert_eq!(without_port(entry), expected);
        }
    }
}
