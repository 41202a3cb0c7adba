//! Selects the pages of a mirror, their versions, and their file names.
//!
//! A page is exported in the state of its newest record at or before the requested time. Records of errors are ignored.
//! The frontier lists the records of a site from the newest to the oldest. File names are assigned in the order of the
//! URLs, so that every export of the same pages gives the same names. No two files have the same name, even on file
//! systems that ignore case, and no file has the name of a folder.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aranha_frontier::{Location, Outcome, PageEntry, PageFilter, PageRecord};
use aranha_page::is_script;
use aranha_url::{CanonUrl, Canonicaliser, PageKey, SiteKey};

use crate::collection_reader::CollectionReader;
use crate::error::CommandError;
use crate::mirror::file_name::FileName;
use crate::page_history::{ResponseKind, kind};

/// Maximum number of redirects that are followed to find the file for a link.
const MAX_REDIRECTS: usize = 10;
/// Maximum length of a chain of scripts in which each script loads the next. The first script of the chain is loaded by
/// a page.
const MAX_LOADERS: usize = 10;

/// A file of the mirror.
#[derive(Debug)]
pub(crate) struct MirrorFile {
    pub(crate) origin: Arc<str>,
    /// Path and query of the URL.
    target: String,
    media_type: String,
    /// For a script, the URL of the page or script that loads it.
    loader: Option<Box<str>>,
    pub(crate) time: i64,
    pub(crate) location: Location,
    /// Path of the file, relative to the folder that is named after the exported date. Its parts are separated by `/`.
    pub(crate) path: String,
}

impl MirrorFile {
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.origin, self.target)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        self.origin
            .split_once("://")
            .map_or(&*self.origin, |(_, rest)| rest)
    }
}

/// The files of a mirror.
#[derive(Debug, Default)]
pub(crate) struct MirrorPlan {
    /// Sorted by URL.
    pub(crate) files: Vec<MirrorFile>,
    /// The index into `files` for each page.
    by_page: HashMap<PageKey, usize>,
    /// Pages that redirect, with the target of the redirect.
    moved: HashMap<PageKey, PageKey>,
    /// Pages that have records but no stored content. The value is the reason.
    absent: HashMap<PageKey, Absence>,
}

/// Why a page with records has no file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absence {
    /// The last fetch of the page had this outcome, and no content was stored.
    Outcome(Outcome),
    /// The page is a soft 404: the site sends the same response for pages that do not exist.
    Soft404,
    /// The page redirects to a target that has no file. The value is the outcome of the last fetch of the target, or
    /// `None` if the target has no record.
    Redirect(Option<Outcome>),
}

/// The state of a page at the requested time, according to the records that were read so far, from the newest to the
/// oldest.
#[derive(Debug)]
enum PageState {
    Content(MirrorFile),
    /// A 304 response. The content is in an earlier record with this digest. If there is no such record, the location
    /// of the 304 record is used.
    NotModified(Option<[u8; 20]>, Option<MirrorFile>),
    Moved(String),
    Gone(Absence),
    /// All records that were read so far are errors. The value is the outcome of the newest record. The first older
    /// record that is not an error replaces this state.
    Failed(Outcome),
}

impl MirrorPlan {
    /// Plans the mirror of one site or of all sites. Each page is taken in its version at the time `at`
    /// (milliseconds since 1970).
    pub(crate) fn make(
        collection: &CollectionReader,
        site: Option<&str>,
        at: i64,
    ) -> Result<Self, CommandError> {
        let mut found = HashMap::new();
        let mut current: (SiteKey, Arc<str>) = (SiteKey::default(), Arc::from(""));
        let filter = PageFilter {
            site,
            all: true,
            ..PageFilter::default()
        };
        let look = |entry: PageEntry<'_>| {
            if entry.record.time <= at {
                if *current.1 != *entry.origin {
                    current = (SiteKey::of(entry.site), Arc::from(entry.origin));
                }
                note(&mut found, &current, entry.record);
            }
            true
        };
        collection.view.pages(&filter, look)?;
        let mut plan = Self::default();
        let mut pages = Vec::new();
        for (key, found) in found {
            match found {
                PageState::Content(entry) | PageState::NotModified(_, Some(entry)) => {
                    pages.push((key, entry));
                }
                PageState::Moved(target) => {
                    // The target is already canonical under the crawl's rules for redirects, which may differ from its
                    // rules for links.
                    if let Ok(url) = collection.literal.canon(&target) {
                        plan.moved.insert(key, url.key());
                    }
                }
                PageState::Gone(absence) => {
                    plan.absent.insert(key, absence);
                }
                PageState::Failed(outcome) => {
                    plan.absent.insert(key, Absence::Outcome(outcome));
                }
                PageState::NotModified(_, None) => {
                    let unchanged = Absence::Outcome(Outcome::Answer(304));
                    plan.absent.insert(key, unchanged);
                }
            }
        }
        pages.sort_by(|(_, a), (_, b)| {
            (a.authority(), &a.target, &a.origin).cmp(&(b.authority(), &b.target, &b.origin))
        });
        for (index, (key, file)) in pages.into_iter().enumerate() {
            plan.by_page.insert(key, index);
            plan.files.push(file);
        }
        assign_names(&mut plan.files);
        Ok(plan)
    }

    /// The file of a page, following redirects.
    pub(crate) fn find(&self, url: &CanonUrl) -> Option<&MirrorFile> {
        let mut key = url.key();
        for _ in 0..MAX_REDIRECTS {
            if let Some(index) = self.by_page.get(&key) {
                return Some(&self.files[*index]);
            }
            key = *self.moved.get(&key)?;
        }
        None
    }

    /// The page for which a script was fetched, directly or through other scripts.
    pub(crate) fn page_of_script(
        &self,
        script: &MirrorFile,
        canon: &Canonicaliser,
    ) -> Option<&MirrorFile> {
        let mut file = self.find(&canon.canon(script.loader.as_ref()?).ok()?)?;
        for _ in 0..MAX_LOADERS {
            match &file.loader {
                None => return Some(file),
                Some(loader) => file = self.find(&canon.canon(loader).ok()?)?,
            }
        }
        None
    }

    /// Why [`MirrorPlan::find`] finds no file for a page. `None` if the page has no record.
    pub(crate) fn absence(&self, url: &CanonUrl) -> Option<Absence> {
        let first = url.key();
        let Some(mut key) = self.moved.get(&first).copied() else {
            return self.absent.get(&first).copied();
        };
        for _ in 0..MAX_REDIRECTS {
            match self.moved.get(&key) {
                Some(next) => key = *next,
                None => break,
            }
        }
        Some(match self.absent.get(&key) {
            Some(Absence::Outcome(outcome)) => Absence::Redirect(Some(*outcome)),
            Some(other) => *other,
            None => Absence::Redirect(None),
        })
    }
}

/// The file of a record, if its content was stored. The name is assigned later.
fn file(origin: &Arc<str>, record: &PageRecord) -> Option<MirrorFile> {
    Some(MirrorFile {
        origin: Arc::clone(origin),
        target: record.path.clone(),
        loader: is_script(&record.media_type).then(|| record.via.as_str().into()),
        media_type: record.media_type.clone(),
        time: record.time,
        location: record.location?,
        path: String::new(),
    })
}

/// Applies the next older record of a page.
fn note(
    found: &mut HashMap<PageKey, PageState>,
    (site, origin): &(SiteKey, Arc<str>),
    record: &PageRecord,
) {
    let key = PageKey {
        site: *site,
        path: record.key,
    };
    let kind = kind(record);
    match found.get(&key) {
        None | Some(PageState::Failed(_)) => {}
        Some(PageState::NotModified(digest, _))
            if kind == ResponseKind::Content && digest.is_some() && *digest == record.digest => {}
        Some(_) => return,
    }
    let known = match (kind, &record.redirect) {
        (ResponseKind::Content, _) => file(origin, record).map(PageState::Content),
        (ResponseKind::NotModified, _) => {
            Some(PageState::NotModified(record.digest, file(origin, record)))
        }
        (ResponseKind::Gone, _) => Some(PageState::Gone(match record.outcome {
            Outcome::Answer(404 | 410) => Absence::Outcome(record.outcome),
            _ => Absence::Soft404,
        })),
        (ResponseKind::Moved, Some(target)) => Some(PageState::Moved(target.clone())),
        // An error does not change the state of the page.
        _ => None,
    };
    match known {
        Some(known) => {
            found.insert(key, known);
        }
        None => {
            // The newest record is read first, so the newest error is kept.
            found
                .entry(key)
                .or_insert(PageState::Failed(record.outcome));
        }
    }
}

/// Gives every file a name that no other file or folder has.
fn assign_names(files: &mut [MirrorFile]) {
    let names: Vec<_> = files
        .iter()
        .map(|file| FileName::of(file.authority(), &file.target, &file.media_type))
        .collect();
    let mut folders = HashSet::new();
    for name in &names {
        let folder = name.folder.to_lowercase();
        for (end, _) in folder.match_indices('/') {
            if !folders.contains(&folder[..end]) {
                folders.insert(folder[..end].to_owned());
            }
        }
    }
    let mut taken = HashSet::new();
    for (file, name) in files.iter_mut().zip(&names) {
        let mut path = name.path();
        let mut salt = 0;
        while folders.contains(&path.to_lowercase()) || !taken.insert(path.to_lowercase()) {
            path = name.with_hash(&format!("{}{}{salt}", file.origin, file.target));
            salt += 1;
        }
        file.path = path;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(urls: &[(&str, &str)]) -> Vec<String> {
        let mut files: Vec<_> = urls
            .iter()
            .map(|(target, media_type)| MirrorFile {
                origin: Arc::from("http://a.org"),
                target: (*target).to_owned(),
                media_type: (*media_type).to_owned(),
                loader: None,
                time: 0,
                location: Location {
                    volume: 0.into(),
                    offset: 0,
                    length: 0,
                },
                path: String::new(),
            })
            .collect();
        assign_names(&mut files);
        files.into_iter().map(|file| file.path).collect()
    }

    /// `#` in an expected name stands for `~` and a hash.
    #[track_caller]
    fn check(urls: &[(&str, &str)], expected: &[&str]) {
        let files = files(urls);
        for (file, expected) in files.iter().zip(expected) {
            match expected.split_once('#') {
                None => assert_eq!(file, expected),
                Some((start, end)) => {
                    let hash = file.strip_prefix(start).and_then(|f| f.strip_suffix(end));
                    assert_eq!(hash.map(str::len), Some(17), "{file} {expected}");
                }
            }
        }
        let distinct: HashSet<_> = files.iter().map(|file| file.to_lowercase()).collect();
        assert_eq!(distinct.len(), files.len());
    }

    #[test]
    fn no_two_files_have_the_same_name() {
        let html = "text/html";
        check(
            &[("/a", html), ("/a/", html), ("/a/b", html)],
            &[
                "a.org/a/index.html",
                "a.org/a/index#.html",
                "a.org/a/b/index.html",
            ],
        );
        check(
            &[("/A.html", html), ("/a.html", html)],
            &["a.org/A.html", "a.org/a#.html"],
        );
        check(
            &[
                ("/A/x.html", html),
                ("/a/x.html", html),
                ("/a/y.html", html),
            ],
            &["a.org/A/x.html", "a.org/a/x#.html", "a.org/a/y.html"],
        );
    }

    #[test]
    fn no_file_has_the_name_of_a_folder() {
        check(
            &[("/a.html", "text/html"), ("/a.html/b.html", "text/html")],
            &["a.org/a#.html", "a.org/a.html/b.html"],
        );
        check(
            &[("/B", "x/y"), ("/b/c", "x/y")],
            &["a.org/B#", "a.org/b/c"],
        );
    }
}
