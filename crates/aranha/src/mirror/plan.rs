//! Which pages a mirror holds, in which version, and under which name each of them lies.
//!
//! The frontier shows the records of a site newest first; of each page the first that says how it was at the time counts.
//! Then names are allotted, in the order of the URLs, so that the same pages get the same names in every run: no two files
//! have the same name, whether or not a file system tells capitals from small letters, and no file has the name of a
//! folder.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aranha_frontier::{Location, PageEntry, PageFilter, PageRecord};
use aranha_url::{CanonUrl, PageKey, SiteKey};

use crate::archived::Archived;
use crate::complaint::Complaint;
use crate::history::{Kind, kind};
use crate::mirror::name::Name;
use crate::session;

/// How many redirects are followed to find where a link leads.
const HOPS: usize = 10;

/// A file of the mirror.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) origin: Arc<str>,
    pub(crate) path: String,
    media_type: String,
    pub(crate) time: i64,
    pub(crate) location: Location,
    /// Below the folder of the date, components separated by `/`.
    pub(crate) file: String,
}

impl Entry {
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        self.origin
            .split_once("://")
            .map_or(&*self.origin, |(_, rest)| rest)
    }
}

/// What goes where.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In the order of their URLs.
    pub(crate) entries: Vec<Entry>,
    places: HashMap<PageKey, usize>,
    /// Pages that only led elsewhere.
    moved: HashMap<PageKey, PageKey>,
}

/// What is known of a page so far, from its newest record back.
#[derive(Debug)]
enum Found {
    Content(Entry),
    /// The server had nothing new to say: the content is that of an earlier record with this digest, or else wherever the
    /// record of that answer leads.
    NotModified(Option<[u8; 20]>, Option<Entry>),
    Moved(String),
    Gone,
}

impl Plan {
    /// Every page as it was at `at`, of one site or of all.
    pub(crate) fn make(
        archived: &Archived,
        site: Option<&str>,
        at: i64,
    ) -> Result<Self, Complaint> {
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
        archived
            .view
            .pages(&filter, look)
            .map_err(|error| session::refused(&error))?;
        let mut plan = Self::default();
        let mut pages = Vec::new();
        for (key, found) in found {
            match found {
                Found::Content(entry) | Found::NotModified(_, Some(entry)) => {
                    pages.push((key, entry));
                }
                Found::Moved(target) => {
                    if let Ok(url) = archived.canon.canon(&target) {
                        plan.moved.insert(key, url.key());
                    }
                }
                Found::NotModified(_, None) | Found::Gone => {}
            }
        }
        pages.sort_by(|(_, a), (_, b)| {
            (a.authority(), &a.path, &a.origin).cmp(&(b.authority(), &b.path, &b.origin))
        });
        for (index, (key, entry)) in pages.into_iter().enumerate() {
            plan.places.insert(key, index);
            plan.entries.push(entry);
        }
        allot(&mut plan.entries);
        Ok(plan)
    }

    /// The file that a link to `url` leads to, through redirects if need be.
    pub(crate) fn find(&self, url: &CanonUrl) -> Option<&Entry> {
        let mut key = url.key();
        for _ in 0..HOPS {
            if let Some(place) = self.places.get(&key) {
                return Some(&self.entries[*place]);
            }
            key = *self.moved.get(&key)?;
        }
        None
    }
}

/// A page that has bytes.
fn entry(origin: &Arc<str>, record: &PageRecord) -> Option<Entry> {
    Some(Entry {
        origin: Arc::clone(origin),
        path: record.path.clone(),
        media_type: record.media_type.clone(),
        time: record.time,
        location: record.location?,
        file: String::new(),
    })
}

/// Takes the next older record of a page into account.
fn note(
    found: &mut HashMap<PageKey, Found>,
    (site, origin): &(SiteKey, Arc<str>),
    record: &PageRecord,
) {
    let key = PageKey {
        site: *site,
        path: record.key,
    };
    let kind = kind(record);
    match found.get(&key) {
        None => {}
        Some(Found::NotModified(digest, _))
            if kind == Kind::Content && digest.is_some() && *digest == record.digest => {}
        Some(_) => return,
    }
    let known = match (kind, &record.redirect) {
        (Kind::Content, _) => entry(origin, record).map(Found::Content),
        (Kind::NotModified, _) => Some(Found::NotModified(record.digest, entry(origin, record))),
        (Kind::Gone, _) => Some(Found::Gone),
        (Kind::Moved, Some(target)) => Some(Found::Moved(target.clone())),
        // An error says nothing of the page: it is still what it was.
        _ => None,
    };
    if let Some(known) = known {
        found.insert(key, known);
    }
}

/// Gives every entry its file.
fn allot(entries: &mut [Entry]) {
    let names: Vec<_> = entries
        .iter()
        .map(|entry| Name::of(entry.authority(), &entry.path, &entry.media_type))
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
    for (entry, name) in entries.iter_mut().zip(&names) {
        let mut file = name.path();
        let mut salt = 0;
        while folders.contains(&file.to_lowercase()) || !taken.insert(file.to_lowercase()) {
            file = name.apart(&format!("{}{}{salt}", entry.origin, entry.path));
            salt += 1;
        }
        entry.file = file;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(urls: &[(&str, &str)]) -> Vec<String> {
        let mut entries: Vec<_> = urls
            .iter()
            .map(|(path, media_type)| Entry {
                origin: Arc::from("http://a.org"),
                path: (*path).to_owned(),
                media_type: (*media_type).to_owned(),
                time: 0,
                location: Location {
                    volume: 0.into(),
                    offset: 0,
                    length: 0,
                },
                file: String::new(),
            })
            .collect();
        allot(&mut entries);
        entries.into_iter().map(|entry| entry.file).collect()
    }

    /// Names that must be as wanted, and those that must differ from it but for the beginning.
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
    fn no_two_files_share_a_name() {
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
