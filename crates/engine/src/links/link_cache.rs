//! The link cache recognises links that the visit has seen on an earlier page. Most links of a page were seen before.
//!
//! A recognised link needs no canonicalisation and no scope check, because its target is known. One table of fixed size
//! serves all visits. New entries overwrite old ones. A link that is no longer in the table is processed like a new
//! link. The id of a link depends on the lease, so that later visits do not find entries of a lost lease. The pages
//! that were admitted under such a lease may never have been checked in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aranha_url::{Base, PathKey};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Number of entries. The table takes half a megabyte, so that it stays in the processor's cache.
const SLOTS: usize = 1 << 15;

/// The table of links that were seen recently.
pub(crate) struct LinkCache {
    slots: Box<[Slot]>,
}

/// An entry: the key of a link's target, and the XOR of that key and the id of the link. While another thread writes, a
/// reader may see halves of two entries. Then the reader computes a wrong id and finds nothing. So no lock is needed.
#[derive(Default)]
struct Slot {
    key: AtomicU64,
    id_xor_key: AtomicU64,
}

/// Identifies a link within a lease. The id is a hash of three things: the lease, the part of the base URL on which the
/// target of the link depends, and the href.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkId(u64);

impl LinkCache {
    pub(crate) fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    /// The key of the link's target. `None` if the link is not in the table.
    pub(crate) fn find(&self, id: LinkId) -> Option<PathKey> {
        let slot = self.slot(id);
        let key = slot.key.load(Relaxed);
        (slot.id_xor_key.load(Relaxed) ^ key == id.0).then_some(PathKey(key))
    }

    /// Remembers a link whose target the visit now knows.
    pub(crate) fn insert(&self, id: LinkId, key: PathKey) {
        let slot = self.slot(id);
        slot.key.store(key.0, Relaxed);
        slot.id_xor_key.store(id.0 ^ key.0, Relaxed);
    }

    fn slot(&self, id: LinkId) -> &Slot {
        &self.slots[id.0 as usize % SLOTS]
    }
}

/// Computes the ids of the links of one page.
pub(crate) struct LinkIds<'a> {
    base: &'a Base,
    lease: u64,
    /// Length of the part of the base that the last link depended on, and the hash of that part.
    last: Option<(usize, u64)>,
}

impl<'a> LinkIds<'a> {
    pub(crate) fn new(base: &'a Base, lease: u64) -> Self {
        Self {
            base,
            lease,
            last: None,
        }
    }

    /// The id of a link. The fragment of `href` is ignored. `None` if the target may depend on more than the origin and
    /// the directory of the base URL.
    pub(crate) fn of(&mut self, href: &str) -> Option<LinkId> {
        let (href, colon) = before_fragment(href);
        let part = self.base.part(href, colon)?;
        // Every part is a prefix of the base URL, so parts of equal length are equal.
        let seed = match self.last {
            Some((length, seed)) if length == part.len() => seed,
            _ => xxh3_64_with_seed(part.as_bytes(), self.lease),
        };
        self.last = Some((part.len(), seed));
        Some(LinkId(xxh3_64_with_seed(href.as_bytes(), seed)))
    }
}

/// The link without its fragment, and whether the link contains a colon before the fragment. One search suffices for
/// most links, which contain neither `#` nor a colon.
fn before_fragment(href: &str) -> (&str, bool) {
    let bytes = href.as_bytes();
    match memchr::memchr2(b'#', b':', bytes) {
        None => (href, false),
        Some(mark) if bytes[mark] == b'#' => (&href[..mark], false),
        Some(_) => {
            let end = memchr::memchr(b'#', bytes).unwrap_or(bytes.len());
            (&href[..end], true)
        }
    }
}

#[cfg(test)]
mod tests {
    use aranha_url::{Canonicaliser, UrlRules};

    use super::*;

    fn id(page: &str, lease: u64, href: &str) -> Option<LinkId> {
        let page = Canonicaliser::new(UrlRules::default()).canon(page).unwrap();
        LinkIds::new(&Base::of(&page), lease).of(href)
    }

    #[test]
    fn a_link_has_one_id_on_all_pages_of_a_directory() {
        let first = "http://example.org/a/one.html";
        let check = |page: &str, href: &str, same: bool| {
            let (here, there) = (id(first, 1, href), id(page, 1, href));
            assert_eq!(here.is_some() && here == there, same, "{href} on {page}");
        };
        check("http://example.org/a/two.html", "three.html", true);
        check("http://example.org/b/two.html", "three.html", false);
        check("http://example.org/b/two.html", "/three.html", true);
        check("http://example.net/a/two.html", "/three.html", false);
        check("http://example.net/", "http://example.org/three", true);
        check(first, "http:three.html", false);
        check(first, "#below", false);
        check(first, "?page=2", false);
        assert_eq!(id(first, 1, "two#x"), id(first, 1, "two#y"));
        assert_ne!(id(first, 1, "two"), id(first, 2, "two"));
    }

    #[test]
    fn an_entry_is_found_until_another_overwrites_it() {
        let cache = LinkCache::new();
        let (one, other) = (LinkId(7), LinkId(7 + SLOTS as u64));
        assert_eq!(cache.find(one), None);
        cache.insert(one, PathKey(1));
        assert_eq!(cache.find(one), Some(PathKey(1)));
        assert_eq!(cache.find(other), None);
        cache.insert(other, PathKey(2));
        assert_eq!(cache.find(one), None);
        assert_eq!(cache.find(other), Some(PathKey(2)));
        // If two visits write at the same time, a slot may contain halves of two entries, which match no id.
        cache.slot(one).key.store(1, Relaxed);
        assert_eq!(cache.find(one), None);
        assert_eq!(cache.find(other), None);
    }
}
