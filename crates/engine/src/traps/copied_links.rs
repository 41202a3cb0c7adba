//! Links of a page whose text equals that of another page of its site (D2; Castillo A.5.2, Chakrabarti 2.3.7).
//!
//! If a part of a site has two names, each of its pages exists twice. The relative links of a copy lead to further
//! copies, without end if the names nest. Chakrabarti identifies a relative link by the text of its page and by the
//! link as written. If an earlier page with the same text has the same link, the link is not followed. Here the links
//! of earlier pages are not stored. Instead, a link of the copy is resolved against the path of the earlier page. If
//! the result is a known page, the earlier page has this link too.
//!
//! A link that only the later page has is followed. This matters for pages with equal texts that are not copies. For
//! example, the pages of a gallery differ in their images and in the link to the next page. A page without text is
//! never a copy.
//!
//! Only pages of the same visit are compared. A visit remembers at most [`MAX_PAGES`] pages.

use std::collections::HashMap;

/// Maximum number of pages in memory. When it is reached, all are dropped.
const MAX_PAGES: usize = 16 << 10;

/// The first page with each text.
#[derive(Debug, Default)]
pub(crate) struct FirstPages {
    /// Paths by the hash of the text.
    paths: HashMap<u64, Box<str>>,
}

impl FirstPages {
    /// The path of the first page with this text; `None` if the page `path` is the first.
    pub(crate) fn find_or_add(&mut self, text: u64, path: &str) -> Option<&str> {
        if self.paths.len() >= MAX_PAGES && !self.paths.contains_key(&text) {
            self.paths.clear();
        }
        let mut is_first = false;
        let first = self.paths.entry(text).or_insert_with(|| {
            is_first = true;
            path.into()
        });
        (!is_first && **first != *path).then_some(first)
    }
}

/// The page to which the relative link from `copy` to `target` would lead if it were on `original`. All are paths of
/// one site. `None` if this is `target` itself, or if the link leads above the root of the site.
pub(crate) fn counterpart(original: &str, copy: &str, target: &str) -> Option<String> {
    let (original, copy) = (directory(original), directory(copy));
    let common = common_directory(copy, target);
    let steps_up = copy[common..].matches('/').count();
    let mut base = original;
    for _ in 0..steps_up {
        base = directory(base.strip_suffix('/')?);
        if base.is_empty() {
            return None;
        }
    }
    let counterpart = format!("{base}{}", &target[common..]);
    (counterpart != target).then_some(counterpart)
}

/// The path up to and including its last slash. The query is ignored.
fn directory(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    &path[..path.rfind('/').map_or(0, |slash| slash + 1)]
}

/// Length of the longest directory that contains both paths.
fn common_directory(directory_: &str, target: &str) -> usize {
    let target = directory(target);
    let equal = directory_
        .bytes()
        .zip(target.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    directory_.as_bytes()[..equal]
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_copy_have_counterparts() {
        let check = |original: &str, copy: &str, target: &str, expected: Option<&str>| {
            let found = counterpart(original, copy, target);
            assert_eq!(found.as_deref(), expected, "{target} on {copy}");
        };
        check("/one/a", "/two/a", "/two/b?q=/", Some("/one/b?q=/"));
        check("/one/a", "/two/a", "/two/deep/b", Some("/one/deep/b"));
        check("/one/a", "/two/a", "/menu", None);
        check("/x/one/a", "/y/one/a", "/y/b", Some("/x/b"));
        check("/a", "/two/a", "/two/b", Some("/b"));
        check("/a", "/two/a", "/b", None);
        check("/deep/er/a", "/two/a", "/b", Some("/deep/b"));
        check("/g/1?x=/y", "/g/2", "/g/3", None);
        check("/one", "/onely/a", "/onely/b", Some("/b"));
        check("/one/a", "/one/one/a", "/one/one/one/a", Some("/one/one/a"));
    }

    proptest::proptest! {
        #[test]
        fn any_paths_are_accepted(original in "/[a/?é]{0,8}", copy in "/[a/?é]{0,8}", target in "/[a/?é]{0,8}") {
            let found = counterpart(&original, &copy, &target);
            proptest::prop_assert!(found.is_none_or(|path| path.starts_with('/')));
            proptest::prop_assert_eq!(counterpart(&copy, &copy, &target), None);
        }
    }

    #[test]
    fn the_first_page_with_a_text_is_remembered() {
        let mut pages = FirstPages::default();
        assert_eq!(pages.find_or_add(1, "/a"), None);
        assert_eq!(pages.find_or_add(1, "/b"), Some("/a"));
        assert_eq!(pages.find_or_add(1, "/a"), None, "a second fetch");
        assert_eq!(pages.find_or_add(2, "/b"), None);
    }
}
