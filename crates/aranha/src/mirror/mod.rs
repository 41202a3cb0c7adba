//! A collection as a folder of files that a browser opens without the web: by date, domain and path (B 2).
//!
//! `aranha export mirror` makes a [`plan::Plan`] (which pages, in which version, under which name), then goes through the
//! archive in the order in which it lies on the disk: each page is read, its links are turned to the files they lead to,
//! or to the web where the mirror has no such page, and it is written through [`tree::Tree`].
//!
//! What always holds: nothing is written outside the folder; a file is there whole or not at all; a link in a file of the
//! mirror is either absolute or leads to a file of the mirror. Forms and `rel=canonical` stay with the web.
//!
//! Read first: [`plan`], then [`name`].

pub(crate) mod name;
pub(crate) mod plan;
pub(crate) mod tree;

use std::fmt::Write as _;
use std::path::Path;

use aranha_page::{Input, LinkKind, LinkRewriter};
use aranha_url::{Base, Canonicaliser};
use aranha_volume::{ArchiveReader, WarcRecord};

use crate::archived::LARGEST;
use crate::complaint::Complaint;
use plan::{Entry, Plan};
use tree::Tree;

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Files of the mirror.
    pub(crate) files: u64,
    /// Of these, files that were there already.
    pub(crate) unchanged: u64,
    pub(crate) bytes: u64,
    /// Links that lead to a file of the mirror.
    pub(crate) inside: u64,
    /// Links that lead to the web.
    pub(crate) outside: u64,
    /// Pages whose content could not be read.
    pub(crate) faults: Vec<String>,
}

/// Everything that writing takes.
pub(crate) struct Mirror<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) canon: &'a Canonicaliser,
    pub(crate) tree: &'a Tree,
}

impl Mirror<'_> {
    /// Writes all files; `progress` is told after each how many there are.
    pub(crate) fn write(
        &self,
        collection: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<Tally, Complaint> {
        let reader = ArchiveReader::open(collection)
            .map_err(|error| Complaint::failed(error.to_string()))?;
        let mut order: Vec<_> = self.plan.entries.iter().collect();
        order.sort_by_key(|entry| (entry.location.volume, entry.location.offset));
        let mut tally = Tally::default();
        for entry in order {
            let stored = reader.read_resolved(entry.location);
            let fault = match stored {
                Ok(stored) if stored.is_revisit() && stored.original().is_none() => {
                    "its content is not in the archive".to_owned()
                }
                Ok(stored) => {
                    let bytes = self.page(entry, &stored, &mut tally);
                    self.keep(&entry.file, &bytes, entry.time, &mut tally)?;
                    progress(tally.files);
                    continue;
                }
                Err(error) => error.to_string(),
            };
            tally.faults.push(format!("{}: {fault}", entry.url()));
        }
        Ok(tally)
    }

    /// A page that leads to every site.
    pub(crate) fn door(&self, date: &str, tally: &mut Tally) -> Result<(), Complaint> {
        let mut html = format!(
            "<!doctype html>\n<meta charset=utf-8>\n<title>{date}</title>\n<h1>{date}</h1>\n<ul>\n"
        );
        let sites = self
            .plan
            .entries
            .chunk_by(|one, next| one.origin == next.origin);
        for site in sites {
            // In the order of their paths: the home page, where there is one, is the first.
            let (first, count) = (&site[0], site.len());
            let _ = writeln!(
                html,
                "<li><a href=\"{}\">{}</a> ({count})",
                encoded(&first.file),
                escaped(first.authority())
            );
        }
        html.push_str("</ul>\n");
        let newest = self.plan.entries.iter().map(|entry| entry.time).max();
        self.keep(
            "index.html",
            html.as_bytes(),
            newest.unwrap_or_default(),
            tally,
        )
    }

    fn keep(
        &self,
        file: &str,
        bytes: &[u8],
        time_ms: i64,
        tally: &mut Tally,
    ) -> Result<(), Complaint> {
        let written = self.tree.write(file, bytes, time_ms)?;
        tally.files += 1;
        tally.unchanged += u64::from(!written);
        tally.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The content of a page, with the links that it has in the mirror.
    fn page(&self, entry: &Entry, stored: &WarcRecord, tally: &mut Tally) -> Vec<u8> {
        let body = stored.body_decoded(LARGEST);
        let content_type = stored.http_header("content-type");
        let url = entry.url();
        let input = Input {
            url: &url,
            content_type: content_type.as_deref(),
            body: &body,
            content_language: None,
        };
        // A URL that is none by today's rules has no base.
        let own = stored.url().unwrap_or(&url);
        let own = self.canon.canon(own).or_else(|_| self.canon.canon(&url));
        let (Some(rewriter), Ok(own)) = (LinkRewriter::new(&input), own) else {
            return body;
        };
        let own = Base::of(&own).with_charset(rewriter.charset());
        let base = match rewriter.base() {
            Some(href) => own.with_href(href),
            None => own,
        };
        let moves = rewriter.base().is_some();
        let new = rewriter.rewrite(|kind, href| {
            if href.starts_with('#') && !moves {
                return None;
            }
            let link = self.link(entry, &base, kind, href)?;
            match link {
                Link::Inside(_) => tally.inside += 1,
                Link::Outside(_) => tally.outside += 1,
            }
            let (Link::Inside(link) | Link::Outside(link)) = link;
            (link != href).then_some(link)
        });
        new.into_owned()
    }

    /// Where a link leads; `None` when not to a page.
    fn link(&self, from: &Entry, base: &Base, kind: LinkKind, href: &str) -> Option<Link> {
        let absolute = base.absolute(href)?;
        if !absolute.starts_with("http://") && !absolute.starts_with("https://") {
            return None;
        }
        let stays = matches!(kind, LinkKind::Form | LinkKind::Canonical);
        let target = (!stays)
            .then(|| self.canon.join(base, href).ok())
            .flatten()
            .and_then(|url| self.plan.find(&url));
        let Some(target) = target else {
            return Some(Link::Outside(absolute));
        };
        let fragment = absolute
            .split_once('#')
            .map_or("", |(_, fragment)| fragment);
        let mut link = relative(&from.file, &target.file);
        if !fragment.is_empty() {
            let _ = write!(link, "#{fragment}");
        }
        Some(Link::Inside(link))
    }
}

enum Link {
    Inside(String),
    Outside(String),
}

/// The way from one file to another, as a URL.
fn relative(from: &str, to: &str) -> String {
    let common = from
        .bytes()
        .zip(to.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let shared = from.as_bytes()[..common]
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    let up = from[shared..].matches('/').count();
    format!("{}{}", "../".repeat(up), encoded(&to[shared..]))
}

/// A path as it stands in a URL.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~@=+!$".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_between_files() {
        let check = |from, to, expected| assert_eq!(relative(from, to), expected);
        check("a/x.html", "a/y.html", "y.html");
        check("a/x.html", "a/x.html", "x.html");
        check("a/b/x.html", "a/y.html", "../y.html");
        check("a/b/x.html", "a/bc/y.html", "../bc/y.html");
        check("a/x.html", "b/c/y.html", "../b/c/y.html");
        check("a/é 1.html", "a/é 2%.html", "%C3%A9%202%25.html");
        check("a/é/x", "a/è/x", "../%C3%A8/x");
    }
}
