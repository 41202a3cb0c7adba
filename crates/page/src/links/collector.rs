//! Collects the links of a page without duplicates.
//!
//! Attribute values are cleaned as a browser cleans them (WHATWG URL, 4.4, steps 1 to 3), checked against the length
//! limit, and stored once. A duplicate, which is the common case, costs one hash and one comparison and allocates
//! nothing. Fragments are ignored in the comparison, because `a#b` and `a#c` are the same page to a crawler.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::swar::{any, below, equal};
use crate::text::builder::into_string;
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
    secondary: usize,
    max_secondary: usize,
    max_href: usize,
    /// Number of links dropped because the list was full.
    dropped: usize,
    /// Number of hrefs dropped because of their length.
    long: usize,
    longest: usize,
}

/// Maximum entries of one sitemap file (sitemaps.org protocol).
const MAX_SITEMAP_ENTRIES: usize = 50_000;

impl LinkCollector {
    /// A collector for a sitemap. It keeps all entries that the protocol allows and, in addition, up to
    /// [`Options::max_links`] secondary links.
    pub(crate) fn for_sitemap(options: &Options) -> LinkCollector {
        LinkCollector {
            max: MAX_SITEMAP_ENTRIES
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
            secondary: 0,
            max_secondary: options.max_links,
            max_href: options.max_href,
            dropped: 0,
            long: 0,
            longest: 0,
        }
    }

    /// Whether an href is within the length limit. Longer hrefs are counted for a remark.
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
        if !any(raw, |lanes| below(lanes, 0x21) | equal(lanes, b'#')) && raw.len() <= self.max_href
        {
            // Fast path for nearly every href: there is nothing to clean and no fragment.
            return if is_data_or_script(raw) {
                None
            } else {
                self.insert(raw, raw, kind, nofollow)
            };
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let href = clean(raw, &mut scratch);
        // Long `data:` URLs are not counted as long hrefs.
        let index = if !is_data_or_script(href) && self.fits(href) {
            self.insert(href, without_fragment(href), kind, nofollow)
        } else {
            None
        };
        self.scratch = scratch;
        index
    }

    /// Adds a secondary link of a sitemap entry (another language, an image). Secondary links do not count as entries.
    pub(crate) fn add_secondary(&mut self, raw: &[u8], kind: LinkKind) {
        if self.secondary >= self.max_secondary {
            self.dropped += 1;
            return;
        }
        let before = self.list.len();
        self.add(raw, kind, false);
        self.secondary += self.list.len() - before;
    }

    /// Adds a cleaned link unless the list already has it. `page` is `href` without its fragment.
    fn insert(
        &mut self,
        href: &[u8],
        page: &[u8],
        kind: LinkKind,
        nofollow: bool,
    ) -> Option<usize> {
        let hash = xxh3_64_with_seed(page, kind as u64);
        if let Some(index) = self.seen.get(&hash).copied()
            && let Some(link) = self.list.get_mut(index)
        {
            // On a hash collision both hrefs are kept.
            if link.kind == kind && is_same_page(link.href.as_bytes(), page) {
                link.nofollow &= nofollow;
                return Some(index);
            }
        }
        if self.list.len() >= self.max {
            self.dropped += 1;
            return None;
        }
        self.seen.insert(hash, self.list.len());
        let href = into_string(href.to_vec());
        self.list.push(Link {
            href,
            kind,
            nofollow,
        });
        Some(self.list.len() - 1)
    }

    /// Returns the links, and adds remarks about dropped links.
    pub(crate) fn finish(&mut self, remarks: &mut Vec<PageRemark>) -> Vec<Link> {
        if self.long > 0 {
            remarks.push(PageRemark::LongHrefs {
                count: self.long,
                longest: self.longest,
            });
        }
        if self.dropped > 0 {
            remarks.push(PageRemark::LinksTruncated {
                dropped: self.dropped,
            });
        }
        std::mem::take(&mut self.list)
    }
}

/// Removes outer spaces and control characters from an href, and all tabs and line ends.
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
fn is_same_page(href: &[u8], page: &[u8]) -> bool {
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

    fn collect(
        options: &Options,
        hrefs: &[(&str, bool)],
    ) -> (Vec<(String, bool)>, Vec<PageRemark>) {
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
    fn links_are_cleaned_and_deduplicated() {
        let (list, remarks) = collect(
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
    fn long_and_surplus_links_are_dropped_and_remarked() {
        let options = Options {
            max_links: 2,
            max_href: 3,
            ..Options::default()
        };
        let data = format!("data:{}", "x".repeat(100));
        let (list, remarks) = collect(
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
                PageRemark::LinksTruncated { dropped: 1 }
            ]
        );
    }
}
