//! The base URLs of a page's links. Most links are relative to the page itself. Strings in a script are relative to the
//! page that loads the script.

use aranha_frontier::Pending;
use aranha_page::{Link, LinkKind, Page};
use aranha_url::{Base, CanonUrl};

use crate::node::Context;

/// The base URLs of the links of one page.
pub(super) struct Bases {
    pub(super) own: Base,
    /// For a script that another page or script loads.
    loader: Option<Loader>,
}

/// The page or script that loads a script.
struct Loader {
    base: Base,
    /// Whether a script loads the script. Then the folder of the page is not known.
    is_script: bool,
}

impl Bases {
    /// `from` is the entry of the page in the queue, and `url` is the URL of the page.
    pub(super) fn new(context: &Context, page: &Page, from: &Pending, url: &CanonUrl) -> Self {
        let loader = page.media_type.is_script().then(|| {
            let url = context.policy.requisites.canon(&from.via).ok()?;
            let extension = url.path_only().rsplit('.').next().unwrap_or_default();
            Some(Loader {
                base: Base::of(&url),
                is_script: matches!(extension, "js" | "mjs"),
            })
        });
        Self {
            own: own_base(url, page),
            loader: loader.flatten(),
        }
    }

    /// Whether the base of a link is the page itself.
    pub(super) fn is_own(&self, link: &Link) -> bool {
        self.loader.is_none() || link.kind != LinkKind::ScriptFile
    }

    /// The base of a link. `None` if the link is relative to a folder that is not known.
    pub(super) fn of(&self, link: &Link) -> Option<&Base> {
        match &self.loader {
            Some(loader) if !self.is_own(link) => {
                let has_folder = link.href.starts_with('/') || link.href.contains("://");
                (has_folder || !loader.is_script).then_some(&loader.base)
            }
            _ => Some(&self.own),
        }
    }
}

/// The URL of the page, or the URL in its `base` element.
fn own_base(url: &CanonUrl, page: &Page) -> Base {
    let mut own = Base::of(url);
    // Sitemaps and feeds are XML, where queries are always in UTF-8.
    if page.media_type.is_html() {
        own = own.with_charset(page.charset);
    }
    match &page.base {
        Some(href) => own.with_href(href),
        None => own,
    }
}

#[cfg(test)]
mod tests {
    use aranha_page::{Input, Options};
    use aranha_url::Canonicaliser;

    use super::*;

    #[test]
    fn queries_keep_the_character_set_of_the_page() {
        let check = |content_type: &str, body: &[u8], expected: &str| {
            let canonicaliser = Canonicaliser::default();
            let url = canonicaliser.canon("http://example.org/").unwrap();
            let input = Input {
                url: url.as_str(),
                content_type: Some(content_type),
                body,
                content_language: None,
            };
            let page = aranha_page::read(&input, &Options::default());
            let base = own_base(&url, &page);
            let joined = canonicaliser.join(&base, &page.links[0].href).unwrap();
            assert_eq!(joined.path(), expected, "{content_type}");
        };
        let link = b"<a href='/s?t=\xED\xE0'>";
        check("text/html; charset=windows-1251", link, "/s?t=%ED%E0");
        let moved = b"<base href=/b/><a href='s?t=\xED\xE0'>";
        check("text/html; charset=windows-1251", moved, "/b/s?t=%ED%E0");
        let link = "<a href='/s?t=\u{43d}\u{430}'>".as_bytes();
        check("text/html; charset=utf-8", link, "/s?t=%D0%BD%D0%B0");
        let feed = b"<rss><link>/s?t=\xED\xE0</link></rss>";
        let kind = "application/rss+xml; charset=windows-1251";
        check(kind, feed, "/s?t=%D0%BD%D0%B0");
    }
}
