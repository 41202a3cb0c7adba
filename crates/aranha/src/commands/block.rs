//! `aranha block` and `aranha unblock`: what is shut out of a collection, also while its crawl runs (D7, U11).
//!
//! Both work on the collection's own black list, `blacklist.txt`, which a running crawl reads again when it changes.

use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::{Clock, Collection as Folder};
use aranha_frontier::{Embedded, Frontier, Options, SiteState};
use aranha_url::Blacklist;
use clap::Args;
use serde_json::json;

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::output::{Output, counted, tell};
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha block spam.example -c national --reason \"a link farm\"
  aranha block '*.example.net' https://example.org/calendar/* 192.0.2.0/24 -c national
  aranha status --aside -c national                 what is set aside, and why
  aranha unblock spam.example -c national";

/// Shut a site, a domain, URLs or addresses out, also while the crawl runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Block {
    /// A host or domain with all below it, `*.domain` for those below only, a URL (`…*` for all that begin so), an
    /// address or a range
    #[arg(value_name = "ENTRY", required = true)]
    entries: Vec<String>,
    /// Written beside the entries
    #[arg(long, default_value = "by hand")]
    reason: String,
    #[command(flatten)]
    collection: Collection,
}

/// Take entries off the black list, and open sites again that were set aside
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Unblock {
    /// Entries of the black list, or sites and domains that were set aside as traps
    #[arg(value_name = "ENTRY", required = true)]
    entries: Vec<String>,
    #[command(flatten)]
    collection: Collection,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

/// Adds to the list.
pub(crate) fn block(arguments: &Block) -> Result<Status, Complaint> {
    let folder = existing(&arguments.collection)?;
    let reason = arguments.reason.replace(char::is_control, " ");
    let entries: Vec<&str> = arguments
        .entries
        .iter()
        .map(|entry| without_port(entry))
        .collect();
    for entry in &entries {
        Blacklist::parse_lines(entry).map_err(|error| {
            Complaint::usage(format!("`{entry}` is {}", error.problem))
                .hint("write a host, a domain, a URL, an address or a range: example.org, *.example.org, 192.0.2.0/24")
        })?;
    }
    let path = folder.blacklist();
    let written = aranha_engine::shut_out(&path, &entries, &reason);
    written.map_err(|error| cannot("write", &path, &error))?;
    tell(format_args!(
        "{} added to the black list of {}; a crawl that runs obeys within a second",
        counted(arguments.entries.len() as u64, "line"),
        arguments.collection.folder.display()
    ));
    Ok(Status::Done)
}

/// Takes off the list, and opens the sites that it, or their own contents, had closed.
pub(crate) fn unblock(arguments: &Unblock) -> Result<Status, Complaint> {
    let folder = existing(&arguments.collection)?;
    let archived = Archived::open(&arguments.collection)?;
    let mut frontier = Embedded::open(&arguments.collection.folder, Options::default())
        .map_err(|error| session::refused(&error))?;
    let names: Vec<&str> = arguments
        .entries
        .iter()
        .map(|entry| without_port(entry))
        .collect();
    let path = folder.blacklist();
    let removed =
        aranha_engine::unshut(&path, &names).map_err(|error| cannot("write", &path, &error))?;
    let mut sites = Vec::new();
    archived
        .view
        .sites(|site| {
            if site.state == SiteState::Blocked && names.iter().any(|name| covers(name, &site.site))
            {
                sites.push(site.site);
            }
            true
        })
        .map_err(|error| session::refused(&error))?;
    let now = Clock::new().now();
    for site in &sites {
        frontier
            .unblock(now, site)
            .map_err(|error| session::refused(&error))?;
    }
    if removed == 0 && sites.is_empty() {
        return Err(
            Complaint::failed("nothing of that name is on the black list or set aside")
                .hint("aranha status --aside tells what is"),
        );
    }
    if arguments.json {
        let mut output = Output::new();
        output.json(&json!({"entries": removed, "sites": sites.len()}))?;
        output.finish()?;
    } else {
        tell(format_args!(
            "{} taken off the black list, {} opened again",
            counted(removed, "line"),
            counted(sites.len() as u64, "site")
        ));
    }
    Ok(Status::Done)
}

fn existing(collection: &Collection) -> Result<Folder, Complaint> {
    let folder = Folder::at(&collection.folder);
    if folder.exists() {
        return Ok(folder);
    }
    Err(Complaint::usage(format!(
        "there is no crawl in {}",
        collection.folder.display()
    ))
    .hint("name a collection with -c"))
}

/// Whether an entry names a site: itself, or one below it.
fn covers(entry: &str, site: &str) -> bool {
    let host = without_port(site);
    let domain = entry.trim_start_matches("*.");
    host.strip_suffix(domain)
        .is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// `example.org` for `example.org:8080`: who shuts a site out means the host.
fn without_port(entry: &str) -> &str {
    match entry.rsplit_once(':') {
        Some((host, port))
            if !host.contains([':', '/']) && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            host
        }
        _ => entry,
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Complaint {
    let sentence = format!("cannot {what} {}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Complaint::stopped(sentence).hint("make room, then run the same command again")
        }
        _ => Complaint::failed(sentence).hint("the collection must be yours to write to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_cover_sites() {
        for (entry, site, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "example.org:8080", true),
            ("*.example.org", "shop.example.org", true),
            ("example.org", "badexample.org", false),
            ("shop.example.org", "example.org", false),
        ] {
            assert_eq!(covers(entry, site), expected, "{entry} {site}");
        }
    }

    #[test]
    fn ports_are_left_out() {
        for (entry, expected) in [
            ("example.org:8080", "example.org"),
            ("example.org", "example.org"),
            ("https://example.org:8080", "https://example.org:8080"),
            ("2001:db8::1", "2001:db8::1"),
            ("*.example.org", "*.example.org"),
        ] {
            assert_eq!(without_port(entry), expected);
        }
    }
}
