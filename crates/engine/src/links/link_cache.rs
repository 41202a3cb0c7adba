//! Links that a visit has taken in before, by what the page says: most links of a page are also on the page before it.
//!
//! Such a link needs no canonical form, no judgement and no place in a list: that its target is known was settled when it
//! was met first. One table of fixed size serves all visits and forgets as it likes; what it forgets is read like any
//! other link. A visit writes down what it has taken in, under a name that has its lease in it: a lease that is lost, and
//! perhaps pages with it, leaves nothing behind that a later one would believe.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aranha_url::{Base, PathKey};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Links remembered: half a megabyte, so that they stay near the processor.
const PLACES: usize = 1 << 15;

/// The table.
pub(crate) struct Repeats {
    places: Box<[Place]>,
}

/// A link's target, and the link's name hidden by it: both are of the same link when they give the name back.
#[derive(Default)]
struct Place {
    key: AtomicU64,
    hidden: AtomicU64,
}

/// What a link is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name(u64);

impl Repeats {
    pub(crate) fn new() -> Self {
        Self {
            places: (0..PLACES).map(|_| Place::default()).collect(),
        }
    }

    /// The target, if the visit has taken in this link lately.
    pub(crate) fn find(&self, name: Name) -> Option<PathKey> {
        let place = self.place(name);
        let key = place.key.load(Relaxed);
        (place.hidden.load(Relaxed) ^ key == name.0).then_some(PathKey(key))
    }

    /// The visit has taken this link in: its target is known.
    pub(crate) fn note(&self, name: Name, key: PathKey) {
        let place = self.place(name);
        place.key.store(key.0, Relaxed);
        place.hidden.store(name.0 ^ key.0, Relaxed);
    }

    fn place(&self, name: Name) -> &Place {
        &self.places[name.0 as usize % PLACES]
    }
}

/// Names the links of one page.
pub(crate) struct Names<'a> {
    base: &'a Base,
    lease: u64,
    /// The part of the base that the last link depended on, and what such links' names begin from.
    last: Option<(usize, u64)>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(base: &'a Base, lease: u64) -> Self {
        Self {
            base,
            lease,
            last: None,
        }
    }

    /// None for a link whose target depends on more than where the page lies. The fragment does not count.
    pub(crate) fn of(&mut self, href: &str) -> Option<Name> {
        let (href, colon) = before_fragment(href);
        let part = self.base.part(href, colon)?;
        // Each part begins the base: their lengths tell them apart.
        let seed = match self.last {
            Some((length, seed)) if length == part.len() => seed,
            _ => xxh3_64_with_seed(part.as_bytes(), self.lease),
        };
        self.last = Some((part.len(), seed));
        Some(Name(xxh3_64_with_seed(href.as_bytes(), seed)))
    }
}

/// The link without its fragment, and whether there is a colon in that. Most links have neither.
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

    fn name(page: &str, lease: u64, href: &str) -> Option<Name> {
        let page = Canonicaliser::new(UrlRules::default()).canon(page).unwrap();
        Names::new(&Base::of(&page), lease).of(href)
    }

    #[test]
    fn a_link_has_one_name_on_the_pages_of_a_directory() {
        let first = "http://example.org/a/one.html";
        let check = |page: &str, href: &str, same: bool| {
            let (here, there) = (name(first, 1, href), name(page, 1, href));
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
        assert_eq!(name(first, 1, "two#x"), name(first, 1, "two#y"));
        assert_ne!(name(first, 1, "two"), name(first, 2, "two"));
    }

    #[test]
    fn what_was_noted_is_found_until_another_takes_its_place() {
        let repeats = Repeats::new();
        let (one, other) = (Name(7), Name(7 + PLACES as u64));
        assert_eq!(repeats.find(one), None);
        repeats.note(one, PathKey(1));
        assert_eq!(repeats.find(one), Some(PathKey(1)));
        assert_eq!(repeats.find(other), None);
        repeats.note(other, PathKey(2));
        assert_eq!(repeats.find(one), None);
        assert_eq!(repeats.find(other), Some(PathKey(2)));
        // Two visits write at once: half of one, half of the other is of no link.
        repeats.place(one).key.store(1, Relaxed);
        assert_eq!(repeats.find(one), None);
        assert_eq!(repeats.find(other), None);
    }
}
