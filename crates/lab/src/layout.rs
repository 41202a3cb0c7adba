//! The page tree of a site, and the mapping between page numbers and paths.
//!
//! Page 0 is the home page, and pages 1 to [`Site::sections`] are the sections. All other pages are leaves, which are
//! distributed evenly over the sections. The path of a leaf contains its page number. [`Site::page_at`] reads the
//! number from a path, and checks that the page with this number has this path. So no table of paths is needed.

use std::fmt::Write as _;

use crate::chance::Chance;
use crate::site::Site;

/// Special feature of a leaf. A quarter of the leaves have none ([`LeafFeature::Plain`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafFeature {
    Plain,
    /// The same bytes are served under a second path.
    Copied,
    /// Robots meta tag `nofollow`.
    MetaNofollow,
    /// All links have `rel=nofollow`.
    RelNofollow,
    /// Has a `base href`.
    Based,
    /// Links to a page with a meta refresh.
    Refresh,
    /// Has an inline frame.
    Inline,
    /// Links to a chain of redirects.
    Chain,
    /// Links to an old URL of this leaf. The old URL redirects to the leaf.
    Moved,
    /// Links to a page that is gone (410) and to a page that never existed (404).
    Broken,
    /// Links to pictures.
    Pictures,
    /// Links to files that are not HTML.
    Files,
    /// Has a print version, which is a near duplicate.
    Print,
}

const FEATURES: [LeafFeature; 16] = [
    LeafFeature::Plain,
    LeafFeature::Chain,
    LeafFeature::Copied,
    LeafFeature::Based,
    LeafFeature::MetaNofollow,
    LeafFeature::Print,
    LeafFeature::Plain,
    LeafFeature::Files,
    LeafFeature::Refresh,
    LeafFeature::Plain,
    LeafFeature::RelNofollow,
    LeafFeature::Moved,
    LeafFeature::Inline,
    LeafFeature::Broken,
    LeafFeature::Plain,
    LeafFeature::Pictures,
];

/// Only the leaves up to this index have copies, because crawlers block sites with more than ten duplicates (D5).
const LAST_COPIED_LEAF: usize = 40;

/// Key of the random stream for the paths of leaves.
const LEAF: u64 = 10;

impl Site {
    /// Number of sections. It is about the square root of the number of pages, but at most 60. So every page is only a
    /// few links from the home page.
    pub(crate) fn sections(&self) -> usize {
        (self.size - 1).isqrt().min(60)
    }

    /// The page numbers of the leaves of a section, in ascending order.
    pub(crate) fn leaves(&self, section: usize) -> impl Iterator<Item = usize> + use<> {
        let first = self.sections() + 1 + section;
        (first..self.size).step_by(self.sections().max(1))
    }

    /// The index of the section of a leaf, and the leaf's position in the section.
    pub(crate) fn row(&self, leaf: usize) -> (usize, usize) {
        let index = leaf - self.sections() - 1;
        (index % self.sections(), index / self.sections())
    }

    pub(crate) fn is_leaf(&self, page: usize) -> bool {
        page > self.sections() && page < self.size
    }

    pub(crate) fn feature(&self, leaf: usize) -> LeafFeature {
        let index = leaf - self.sections() - 1;
        match FEATURES[(index + self.number * 5) % FEATURES.len()] {
            LeafFeature::Copied if index > LAST_COPIED_LEAF => LeafFeature::Plain,
            feature => feature,
        }
    }

    /// The name of a section: `noticias`, or `noticias-2` if the site has more sections than the language has names.
    pub(crate) fn section_name(&self, section: usize) -> String {
        let names = &self.language.sections;
        let name = names[section % names.len()];
        match section / names.len() {
            0 => name.to_owned(),
            round => format!("{name}-{}", round + 1),
        }
    }

    /// Canonical path and query of a page, such as `/`, `/noticias/`, `/noticias/artigo-17.html`.
    pub(crate) fn page_path(&self, page: usize) -> String {
        if page == 0 {
            return "/".to_owned();
        }
        if page <= self.sections() {
            return format!("/{}/", self.section_name(page - 1));
        }
        let section = self.section_name(self.row(page).0);
        let mut chance = Chance::of(self.seed, &[LEAF, self.number as u64, page as u64]);
        let slug = encode(chance.pick(&self.language.slugs));
        match chance.below(8) {
            0..4 => format!("/{section}/{slug}-{page}.html"),
            4 => format!("/{section}/{page}/"),
            5 => format!("/{section}/show.php?id={page}"),
            6 => format!("/{section}/{}/{slug}-{page}.html", 1996 + chance.below(30)),
            _ => format!("/{section}/{slug}/{page}"),
        }
    }

    /// The page with this path and query, percent-encoded or not.
    pub(crate) fn page_at(&self, path: &str) -> Option<usize> {
        if path == "/" {
            return Some(0);
        }
        let path = decode(path);
        if let Some(section) = self.section_at(&path) {
            return Some(section + 1);
        }
        let page = last_number(&path)?;
        (self.is_leaf(page) && decode(&self.page_path(page)) == path).then_some(page)
    }

    /// The index of the section with this path. The path ends with a slash.
    pub(crate) fn section_at(&self, path: &str) -> Option<usize> {
        let name = path.strip_prefix('/')?.strip_suffix('/')?;
        let (word, round) = match name.rsplit_once('-') {
            Some((word, round)) => (word, round.parse::<usize>().ok()?.checked_sub(1)?),
            None => (name, 0),
        };
        let names = &self.language.sections;
        let index = names.iter().position(|known| *known == word)?;
        let section = round.checked_mul(names.len())?.checked_add(index)?;
        (section < self.sections() && self.section_name(section) == name).then_some(section)
    }
}

/// The last number in a text.
pub(crate) fn last_number(text: &str) -> Option<usize> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + 1);
    text.get(start..end)?.parse().ok()
}

/// Percent-encodes all characters that are not ASCII.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Decodes percent-encoding. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|d| char::from(*d).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (byte, digit(0), digit(1)) {
            out.push((high * 16 + low) as u8);
            rest = &tail[2..];
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::plan::Plan;

    #[test]
    fn every_page_has_a_unique_path_that_maps_back_to_it() {
        let plan = Plan::large(3000);
        for number in 0..40 {
            let site = Site::new(&plan, number);
            let mut paths = HashSet::new();
            for page in 0..site.size {
                let path = site.page_path(page);
                assert!(path.is_ascii());
                assert_eq!(site.page_at(&path), Some(page), "{path}");
                assert_eq!(site.page_at(&decode(&path)), Some(page), "{path}");
                assert!(paths.insert(path));
            }
            let beyond = format!("{}x", site.page_path(site.size - 1));
            assert_eq!(site.page_at(&beyond), None, "{beyond}");
        }
    }

    #[test]
    fn every_page_is_home_section_or_leaf() {
        for size in 1..200 {
            let site = Site {
                size,
                ..Site::new(&Plan::small(1), 0)
            };
            let leaves: HashSet<_> = (0..site.sections()).flat_map(|s| site.leaves(s)).collect();
            assert_eq!(leaves.len() + site.sections() + 1, size);
            assert!(leaves.iter().all(|leaf| site.is_leaf(*leaf)));
        }
    }

    #[test]
    fn the_last_number_is_found() {
        let check = |text, expected| assert_eq!(last_number(text), expected, "{text}");
        check("/a/12-b34.html", Some(34));
        check("7", Some(7));
        check("/a", None);
        check("/ção9é", Some(9));
        check("99999999999999999999999", None);
    }
}
