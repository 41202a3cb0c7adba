//! Collects the links of a page without duplicates.
//!
//! Attribute values are cleaned as a browser cleans them (WHATWG URL, 4.4, steps 1 to 3), bounded, and stored once. A
//! duplicate, which is the common case, costs one hash and one comparison and allocates nothing. Fragments are ignored in
//! the comparison, because `a#b` and `a#c` are the same page to a crawler.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::swar::{any, below, equal};
use crate::text::builder::string;
use crate::{Link, LinkKind, Options, PageRemark};

/// Collects links without duplicates.
#[derive(Debug)]
pub(crate) struct LinkCollector {
    list: Vec<Link>,
    /// Maps the hash of (href without fragment, kind) to the index in the list.
    seen: HashMap<u64, usize, BuildHasherDefault<PrehashedHasher>>,
    scratch: Vec<u8>,
    max: usize,
    /// Number of secondary links in the list: alternates and images of a sitemap.
    beside: usize,
    max_beside: usize,
    max_href: usize,
    left_out: usize,
    long: usize,
    longest: usize,
}

/// Maximum entries of one sitemap file (sitemaps.org protocol).
const SITEMAP: usize = 50_000;

impl LinkCollector {
    /// A collector for a sitemap: all entries that the protocol allows, plus as many secondary links as a page may have.
    pub(crate) fn for_sitemap(options: &Options) -> LinkCollector {
        LinkCollector {
            max: SITEMAP
                .max(options.max_links)
                .saturating_add(options.max_links),
            ..LinkCollector::new(options)
        }
    }

    pub(crate) fn new(options: &Options) -> LinkCollector {
        LinkCollector {
            list: Vec::new(),
            seen: HashMap::default(),
            scratch: Vec::new(),
            max: options.max_links,
            beside: 0,
            max_beside: options.max_links,
            max_href: options.max_href,
            left_out: 0,
            long: 0,
            longest: 0,
        }
    }

    /// Whether an href is within the length limit. Counts those that are not, for a remark.
    pub(crate) fn fits(&mut self, href: &[u8]) -> bool {
        let fits = href.len() <= self.max_href;
        if !fits {
            self.long += 1;
            self.longest = self.longest.max(href.len());
        }
        fits
    }

    /// Adds an href as written and returns its index in the list. Ignores `data:` and `javascript:` URLs.
    pub(crate) fn add(&mut self, raw: &[u8], kind: LinkKind, nofollow: bool) -> Option<usize> {
        let mut place = None;
        if !any(raw, |lanes| below(lanes, 0x21) | equal(lanes, b'#')) && raw.len() <= self.max_href
        {
            // Fast path: nothing to clean and no fragment, which is nearly every href.
            return if is_data_or_script(raw) {
                None
            } else {
                self.insert(raw, raw, kind, nofollow)
            };
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let href = clean(raw, &mut scratch);
        // Long data: URLs are not counted as long hrefs.
        if !is_data_or_script(href) && self.fits(href) {
            place = self.insert(href, without_fragment(href), kind, nofollow);
        }
        self.scratch = scratch;
        place
    }

    /// Adds a secondary link of a sitemap entry (other language, image). It does not count as an entry.
    pub(crate) fn add_secondary(&mut self, raw: &[u8], kind: LinkKind) {
        if self.beside >= self.max_beside {
            self.left_out += 1;
            return;
        }
        let before = self.list.len();
        self.add(raw, kind, false);
        self.beside += self.list.len() - before;
    }

    /// Keeps a link; `page` is its href without the fragment.
    fn insert(
        &mut self,
        href: &[u8],
        page: &[u8],
        kind: LinkKind,
        nofollow: bool,
    ) -> Option<usize> {
        let hash = xxh3_64_with_seed(page, kind as u64);
        if let Some(place) = self.seen.get(&hash).copied()
            && let Some(link) = self.list.get_mut(place)
        {
            // On a hash collision both hrefs are kept.
            if link.kind == kind && is_on(link.href.as_bytes(), page) {
                link.nofollow &= nofollow;
                return Some(place);
            }
        }
        if self.list.len() >= self.max {
            self.left_out += 1;
            return None;
        }
        self.seen.insert(hash, self.list.len());
        let href = string(href.to_vec());
        self.list.push(Link {
            href,
            kind,
            nofollow,
        });
        Some(self.list.len() - 1)
    }

    /// Returns the links and remarks those that were dropped.
    pub(crate) fn finish(&mut self, remarks: &mut Vec<PageRemark>) -> Vec<Link> {
        if self.long > 0 {
            remarks.push(PageRemark::LongHrefs {
                count: self.long,
                longest: self.longest,
            });
        }
        if self.left_out > 0 {
            remarks.push(PageRemark::LinksTruncated {
                left_out: self.left_out,
            });
        }
        std::mem::take(&mut self.list)
    }
}

/// An href without outer spaces and control characters, and without tabs and line ends anywhere.
pub(crate) fn clean<'a>(raw: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let start = raw
        .iter()
        .position(|byte| *byte > b' ')
        .unwrap_or(raw.len());
    let end = raw
        .iter()
        .rposition(|byte| *byte > b' ')
        .map_or(start, |last| last + 1);
    let href = &raw[start..end];
    if !any(href, |lanes| below(lanes, b' ')) {
        return href;
    }
    scratch.clear();
    scratch.extend(
        href.iter()
            .filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r')),
    );
    scratch
}

/// Whether `href` is `page`, with or without a fragment.
#[inline]
fn is_on(href: &[u8], page: &[u8]) -> bool {
    href.strip_prefix(page)
        .is_some_and(|fragment| matches!(fragment, [] | [b'#', ..]))
}

fn without_fragment(href: &[u8]) -> &[u8] {
    &href[..memchr::memchr(b'#', href).unwrap_or(href.len())]
}

#[inline]
pub(crate) fn is_data_or_script(href: &[u8]) -> bool {
    if !matches!(href.first(), Some(b'j' | b'J' | b'd' | b'D')) {
        return false;
    }
    let is = |scheme: &[u8]| {
        href.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    is(b"javascript:") || is(b"data:")
}

/// Uses the key itself as the hash, because keys are hashes already.
#[derive(Debug, Default)]
struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(options: &Options, hrefs: &[(&str, bool)]) -> (Vec<(String, bool)>, Vec<PageRemark>) {
        let mut links = LinkCollector::new(options);
        for (href, nofollow) in hrefs {
            links.add(href.as_bytes(), LinkKind::Anchor, *nofollow);
        }
        let mut remarks = Vec::new();
        let list = links.finish(&mut remarks);
        (
            list.into_iter()
                .map(|link| (link.href, link.nofollow))
                .collect(),
            remarks,
        )
    }

    #[test]
    fn cleaned_and_kept_once() {
        let (list, remarks) = gather(
            &Options::default(),
            &[
                ("  a\tb\n", false),
                ("ab#x", false),
                ("\u{1}c ", true),
                ("c", false),
                ("d", false),
                ("d", true),
                ("", false),
                ("#top", false),
                ("JavaScript:void(0)", false),
                ("data:text/plain,x", false),
            ],
        );
        let expected = [("ab", false), ("c", false), ("d", false), ("", false)];
        assert_eq!(
            list,
            expected.map(|(href, nofollow)| (href.to_owned(), nofollow))
        );
        assert_eq!(remarks, []);
    }

    #[test]
    fn bounded_and_remarked() {
        let options = Options {
            max_links: 2,
            max_href: 3,
            ..Options::default()
        };
        let data = format!("data:{}", "x".repeat(100));
        let (list, remarks) = gather(
            &options,
            &[
                ("a", false),
                ("b", false),
                ("c", false),
                ("a", false),
                ("abcd", false),
                ("abcdef", false),
                (&data, false),
            ],
        );
        assert_eq!(list.len(), 2);
        assert_eq!(
            remarks,
            [
                PageRemark::LongHrefs {
                    count: 2,
                    longest: 6
                },
                PageRemark::LinksTruncated { left_out: 1 }
            ]
        );
    }
}
