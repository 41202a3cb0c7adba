//! The links of a page to pages of its own site, with all paths in one string.

use aranha_frontier::Hop;
use aranha_url::PathKey;

use super::link_cache::LinkId;

/// A link to a page of the same site.
#[derive(Clone, Copy)]
pub(crate) struct SiteLink {
    pub(crate) key: PathKey,
    pub(crate) hop: Hop,
    /// Date of the last change, from a sitemap or a feed, unix milliseconds.
    pub(crate) modified: Option<i64>,
    /// Id of the link in the link cache.
    pub(crate) id: Option<LinkId>,
    /// End of the link's path in [`SiteLinks::paths`].
    path_end: usize,
}

/// A page's links to pages of its site. Most targets are known, so the path of a link is copied out of the common
/// string only if the target is new.
#[derive(Default)]
pub(crate) struct SiteLinks {
    paths: String,
    links: Vec<SiteLink>,
    /// Targets of links that the link cache recognised. The visit knows these pages.
    repeated: Vec<PathKey>,
}

impl SiteLinks {
    pub(super) fn reserve_repeated(&mut self, links: usize) {
        self.repeated.reserve(links);
    }

    pub(super) fn push_repeated(&mut self, key: PathKey) {
        self.repeated.push(key);
    }

    pub(super) fn push(
        &mut self,
        path: &str,
        key: PathKey,
        hop: Hop,
        modified: Option<i64>,
        id: Option<LinkId>,
    ) {
        self.paths.push_str(path);
        self.links.push(SiteLink {
            key,
            hop,
            modified,
            id,
            path_end: self.paths.len(),
        });
    }

    /// Number of links, including those that the link cache recognised.
    pub(crate) fn count(&self) -> usize {
        self.repeated.len() + self.links.len()
    }

    /// The targets of all links.
    pub(crate) fn keys(&self) -> impl Iterator<Item = PathKey> {
        let others = self.links.iter().map(|link| link.key);
        self.repeated.iter().copied().chain(others)
    }

    /// The links that the link cache did not recognise, with their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &SiteLink)> {
        let mut start = 0;
        self.links.iter().map(move |link| {
            let path = &self.paths[start..link.path_end];
            start = link.path_end;
            (path, link)
        })
    }
}
