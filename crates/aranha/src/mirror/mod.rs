//! Export of a collection as files for offline browsing, in folders by date, host and path (Bouras 2).
//!
//! `aranha export mirror` makes a [`plan::MirrorPlan`] (pages, versions, file names). Then it reads the archive in the
//! order of the bytes on disk. In each page, links to exported pages are rewritten to relative paths, and all other
//! links are made absolute. The page is written through [`output_tree::OutputTree`]. [`missing::MissingRequisites`]
//! collects the requisites that are not in the mirror, and finds the reason for each.
//!
//! Always holds: nothing is written outside the output folder. A file is complete or absent. A link in an exported file
//! is absolute or leads to an exported file. Form targets and `rel=canonical` always lead to the web.
//!
//! Read first: [`plan`], then [`file_name`].

pub(crate) mod file_name;
pub(crate) mod missing;
pub(crate) mod output_tree;
pub(crate) mod plan;

use std::fmt::Write as _;
use std::path::Path;

use aranha_page::{Input, LinkKind, LinkRewriter};
use aranha_url::{Base, Canonicaliser};
use aranha_volume::{ArchiveReader, WarcRecord};

use crate::error::CommandError;
use crate::stored_page::MAX_DECODED_BODY;
use missing::MissingRequisites;
use output_tree::OutputTree;
use plan::{MirrorFile, MirrorPlan};

/// Counts of an export.
#[derive(Debug, Default)]
pub(crate) struct ExportCounts {
    /// All files of the mirror.
    pub(crate) files: u64,
    /// Files that already existed with the same content.
    pub(crate) unchanged: u64,
    pub(crate) bytes: u64,
    /// Links to files of the mirror.
    pub(crate) inside: u64,
    /// Links to the web.
    pub(crate) outside: u64,
    /// Pages whose content could not be read, with the reason.
    pub(crate) faults: Vec<String>,
    /// Requisites of exported pages that have no file.
    pub(crate) missing: MissingRequisites,
}

/// Writes the files of a plan.
pub(crate) struct MirrorWriter<'a> {
    pub(crate) plan: &'a MirrorPlan,
    pub(crate) canon: &'a Canonicaliser,
    /// The canonicaliser without the rules that remove parts of a URL.
    pub(crate) literal: &'a Canonicaliser,
    pub(crate) tree: &'a OutputTree,
}

impl MirrorWriter<'_> {
    /// Writes all files. Calls `progress` after each file with the number of files so far.
    pub(crate) fn write(
        &self,
        collection: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<ExportCounts, CommandError> {
        let reader = ArchiveReader::open(collection)
            .map_err(|error| CommandError::failed(error.to_string()))?;
        let mut order: Vec<_> = self.plan.files.iter().collect();
        order.sort_by_key(|file| (file.location.volume, file.location.offset));
        let mut counts = ExportCounts::default();
        for file in order {
            let stored = reader.read_resolved(file.location);
            let fault = match stored {
                Ok(stored) if stored.is_revisit() && stored.original().is_none() => {
                    "the archive does not hold its content".to_owned()
                }
                Ok(stored) if stored.forgotten().is_some() => {
                    "its content was deleted from the archive".to_owned()
                }
                Ok(stored) if stored.is_partial() => {
                    match self.write_large(file, &reader, &stored, &mut counts)? {
                        None => {
                            progress(counts.files);
                            continue;
                        }
                        Some(fault) => fault,
                    }
                }
                Ok(stored) => {
                    let bytes = self.page(file, &stored, &mut counts);
                    self.write_file(&file.path, &bytes, file.time, &mut counts)?;
                    progress(counts.files);
                    continue;
                }
                Err(error) => error.to_string(),
            };
            counts.faults.push(format!("{}: {fault}", file.url()));
        }
        Ok(counts)
    }

    /// Writes `index.html` with a link to the first page of every site.
    pub(crate) fn write_index(
        &self,
        date: &str,
        counts: &mut ExportCounts,
    ) -> Result<(), CommandError> {
        let mut html = format!(
            "<!doctype html>\n<meta charset=utf-8>\n<title>{date}</title>\n<h1>{date}</h1>\n<ul>\n"
        );
        let sites = self
            .plan
            .files
            .chunk_by(|one, next| one.origin == next.origin);
        for site in sites {
            // Files are sorted by path, so the home page is first if it was exported.
            let (first, count) = (&site[0], site.len());
            let _ = writeln!(
                html,
                "<li><a href=\"{}\">{}</a> ({count})",
                encoded(&first.path),
                escaped(first.authority())
            );
        }
        html.push_str("</ul>\n");
        let newest = self.plan.files.iter().map(|file| file.time).max();
        self.write_file(
            "index.html",
            html.as_bytes(),
            newest.unwrap_or_default(),
            counts,
        )
    }

    /// Writes the file of a page that is too large for memory, without changing its links. If the archive has a fault,
    /// returns it.
    fn write_large(
        &self,
        file: &MirrorFile,
        reader: &ArchiveReader,
        stored: &WarcRecord,
        counts: &mut ExportCounts,
    ) -> Result<Option<String>, CommandError> {
        let mut fault = None;
        self.tree.write_large(&file.path, file.time, |part| {
            match reader.copy_body(stored, false, part) {
                Ok(result) => result?,
                Err(error) => fault = Some(error.to_string()),
            }
            counts.bytes += part.metadata()?.len();
            Ok(())
        })?;
        counts.files += u64::from(fault.is_none());
        Ok(fault)
    }

    fn write_file(
        &self,
        path: &str,
        bytes: &[u8],
        time_ms: i64,
        counts: &mut ExportCounts,
    ) -> Result<(), CommandError> {
        let written = self.tree.write(path, bytes, time_ms)?;
        counts.files += 1;
        counts.unchanged += u64::from(!written);
        counts.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The content of a page with rewritten links.
    fn page(&self, file: &MirrorFile, stored: &WarcRecord, counts: &mut ExportCounts) -> Vec<u8> {
        let body = stored.body_decoded(MAX_DECODED_BODY);
        let content_type = stored.http_header("content-type");
        let url = file.url();
        let input = Input {
            url: &url,
            content_type: content_type.as_deref(),
            body: &body,
            content_language: None,
        };
        // If the current rules reject the URL of the page, there is no base URL, and the links stay unchanged.
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
        let has_base = rewriter.base().is_some();
        let loader = rewriter.is_script().then(|| self.loader(file)).flatten();
        let new = rewriter.rewrite(|kind, href| {
            if href.starts_with('#') && !has_base {
                return None;
            }
            if kind == LinkKind::ScriptFile {
                // Scripts also contain strings that only look like URLs. Strings that do not lead to a file are kept.
                let (from, base) = match &loader {
                    Some((page, base)) => (*page, base),
                    None if rewriter.is_script() => return None,
                    None => (file, &base),
                };
                let RewrittenLink::Inside(link) = self.link(from, base, kind, href)? else {
                    return None;
                };
                counts.inside += 1;
                return Some(link);
            }
            let link = self.link(file, &base, kind, href)?;
            match link {
                RewrittenLink::Inside(_) => counts.inside += 1,
                RewrittenLink::Outside(_) => {
                    counts.outside += 1;
                    if matches!(kind, LinkKind::Asset | LinkKind::Frame) {
                        let target = self.canon.join(&base, href);
                        counts.missing.add(target, href, kind, &url);
                    }
                }
            }
            let (RewrittenLink::Inside(link) | RewrittenLink::Outside(link)) = link;
            (link != href).then_some(link)
        });
        new.into_owned()
    }

    /// The page for which a script was fetched, and the base URL of this page. URLs in a script are relative to the
    /// page that loads the script. If pages in different folders load the script, the rewritten URLs are right for only
    /// one of these folders.
    fn loader(&self, script: &MirrorFile) -> Option<(&MirrorFile, Base)> {
        let page = self.plan.page_of_script(script, self.literal)?;
        let url = self.literal.canon(&page.url()).ok()?;
        Some((page, Base::of(&url)))
    }

    /// The file of a link's target. Earlier crawls with other URL rules may have stored the target under the URL in the
    /// link.
    fn find(&self, base: &Base, href: &str) -> Option<&MirrorFile> {
        [self.canon, self.literal]
            .into_iter()
            .find_map(|canon| self.plan.find(&canon.join(base, href).ok()?))
    }

    /// The new target of a link; `None` if the link does not lead to an HTTP URL and must stay unchanged.
    fn link(
        &self,
        from: &MirrorFile,
        base: &Base,
        kind: LinkKind,
        href: &str,
    ) -> Option<RewrittenLink> {
        let absolute = base.absolute(href)?;
        if !absolute.starts_with("http://") && !absolute.starts_with("https://") {
            return None;
        }
        let to_web = matches!(kind, LinkKind::Form | LinkKind::Canonical);
        let target = (!to_web).then(|| self.find(base, href)).flatten();
        let Some(target) = target else {
            return Some(RewrittenLink::Outside(absolute));
        };
        let fragment = absolute
            .split_once('#')
            .map_or("", |(_, fragment)| fragment);
        let mut link = relative(&from.path, &target.path);
        if !fragment.is_empty() {
            let _ = write!(link, "#{fragment}");
        }
        Some(RewrittenLink::Inside(link))
    }
}

enum RewrittenLink {
    Inside(String),
    Outside(String),
}

/// The relative URL from one file to another.
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

/// A file path, percent-encoded for a URL.
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
    fn relative_urls_between_files() {
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
