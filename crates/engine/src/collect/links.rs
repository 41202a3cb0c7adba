//! Where a page leads: its links, and its redirect, which is a link, too (N11).

use std::sync::PoisonError;

use aranha_fetch::FetchResponse;
use aranha_frontier::{Hop, Outcome, Outside, Pending};
use aranha_page::{LinkKind, Page};
use aranha_robots::Directives;
use aranha_url::{Base, CanonUrl, PathKey, SiteKey};

use super::Collected;
use crate::links::link_cache::{Name, Names};
use crate::node::Context;

/// A link to a page of the same site.
#[derive(Clone, Copy)]
pub(crate) struct Inside {
    pub(crate) key: PathKey,
    pub(crate) hop: Hop,
    /// When a sitemap or a feed says that it changed last.
    pub(crate) dated: Option<i64>,
    /// What to remember it by.
    pub(crate) name: Option<Name>,
    /// Where its path ends in the text of all.
    end: usize,
}

/// A page's links to pages of its site. Nearly all lead to pages that are known: their paths lie in one text, and are
/// taken out of it only for those that do not.
#[derive(Default)]
pub(crate) struct Insides {
    text: String,
    list: Vec<Inside>,
    /// Where links lead that the visit has taken in before.
    repeated: Vec<PathKey>,
}

impl Insides {
    /// `link`: all but where its path ends.
    fn push(&mut self, path: &str, link: Inside) {
        self.text.push_str(path);
        let end = self.text.len();
        self.list.push(Inside { end, ..link });
    }

    /// How many links there are, some of them perhaps to one page.
    pub(crate) fn count(&self) -> usize {
        self.repeated.len() + self.list.len()
    }

    /// Where they lead.
    pub(crate) fn keys(&self) -> impl Iterator<Item = PathKey> {
        let others = self.list.iter().map(|link| link.key);
        self.repeated.iter().copied().chain(others)
    }

    /// Every link that is not repeated, with its path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Inside)> {
        let mut start = 0;
        self.list.iter().map(move |link| {
            let path = &self.text[start..link.end];
            start = link.end;
            (path, link)
        })
    }
}

/// Where a redirect leads, inside or outside, in scope or not.
pub(crate) struct Redirect {
    pub(crate) target: CanonUrl,
    /// Its path as the server wrote it: what to ask for when the canonical form is the page itself.
    pub(crate) literal: String,
}

/// Where a redirect leads; that it leads nowhere is an outcome.
pub(super) fn redirect(context: &Context, answer: &FetchResponse, collected: &mut Collected) {
    let target = answer
        .headers
        .get("location")
        .map(|value| String::from_utf8_lossy(value).into_owned());
    let base = Base::of(&collected.url);
    let record = &mut collected.done.record;
    match target
        .as_deref()
        .map(|href| (href, context.canon.join(&base, href)))
    {
        Some((href, Ok(target))) => {
            record.redirect = Some(target.as_str().to_owned());
            let literal = match context.literal.join(&base, href) {
                Ok(literal) => literal.path().to_owned(),
                Err(_) => target.path().to_owned(),
            };
            collected.redirect = Some(Redirect { target, literal });
        }
        Some((_, Err(rejected))) => {
            record.outcome = Outcome::NoTarget;
            collected.done.notes = rejected.to_string();
        }
        None => record.outcome = Outcome::NoTarget,
    }
}

/// What the page and its header say about following and indexing.
pub(super) fn directives(page: &Page, answer: &FetchResponse, product: &str) -> Directives {
    let mut all = Directives::default();
    for (name, content) in &page.robots {
        all |= Directives::meta(name, content, product);
    }
    for value in answer.headers.texts("x-robots-tag") {
        all |= Directives::header(value, product);
    }
    all
}

/// Canonicalises the page's links, leaves out what is out of scope, and sorts the rest into this
/// site's and other sites'.
pub(super) fn links(context: &Context, lease: u64, page: &Page, collected: &mut Collected) {
    let site: SiteKey = collected.url.site_key();
    let base = base(&collected.url, page);
    let scope = context.scope.read().unwrap_or_else(PoisonError::into_inner);
    let mut dates = page.link_dates.iter().peekable();
    let mut spare = String::new();
    let mut names = Names::new(&base, lease);
    collected.inside.repeated.reserve(page.links.len());
    for (place, link) in page.links.iter().enumerate() {
        let dated = dates
            .next_if(|(dated, _)| *dated == place)
            .map(|(_, date)| *date);
        if link.nofollow && !context.config.crawl.follow_nofollow {
            continue;
        }
        if scope.is_beyond(&link.href) {
            continue;
        }
        // A date is news, whatever it is the date of.
        let name = dated.map_or_else(|| names.of(&link.href), |_| None);
        if let Some(key) = name.and_then(|name| context.repeats.find(name)) {
            collected.inside.repeated.push(key);
            continue;
        }
        let Ok(url) = context.canon.join_into(&base, &link.href, &mut spare) else {
            continue;
        };
        let hop = hop_of(link.kind);
        let key = url.key();
        let depth = deeper(&collected.pending, hop);
        if scope.judge_page(&url, key, depth).inside {
            if key.site == site {
                let link = Inside {
                    key: key.path,
                    hop,
                    dated,
                    name,
                    end: 0,
                };
                collected.inside.push(url.path(), link);
            } else {
                context.web.prefetch_dns(url.host());
                let outside = outside(&url, &collected.pending, hop, &collected.url);
                collected.outside.push(outside);
            }
        }
        spare = url.into_string();
    }
}

/// What the page's links are read against.
fn base(url: &CanonUrl, page: &Page) -> Base {
    let mut own = Base::of(url);
    // Lists in XML know no queries but in UTF-8.
    if page.media_type.is_html() {
        own = own.with_charset(page.charset);
    }
    match &page.base {
        Some(href) => own.with_href(href),
        None => own,
    }
}

/// The kind of hop that a link of a page makes.
fn hop_of(kind: LinkKind) -> Hop {
    match kind {
        LinkKind::Anchor
        | LinkKind::Area
        | LinkKind::Canonical
        | LinkKind::Alternate
        | LinkKind::Feed
        | LinkKind::Link => Hop::Link,
        LinkKind::Frame | LinkKind::Asset => Hop::Embed,
        LinkKind::Refresh => Hop::Redirect,
        LinkKind::Form => Hop::Form,
        LinkKind::Script => Hop::Script,
        LinkKind::Sitemap => Hop::Sitemap,
    }
}

/// Links from a seed: a redirect leads no deeper, but a second in a row does.
pub(crate) fn deeper(from: &Pending, hop: Hop) -> u16 {
    if hop == Hop::Redirect && from.hop != Hop::Redirect {
        from.depth
    } else {
        from.depth.saturating_add(1)
    }
}

/// A link to another site, as its inbox takes it.
pub(crate) fn outside(url: &CanonUrl, from: &Pending, hop: Hop, via: &CanonUrl) -> Outside {
    Outside::of(url, deeper(from, hop), hop, via.as_str())
}

#[cfg(test)]
mod tests {
    use aranha_page::{Input, Options};
    use aranha_url::Canonicaliser;

    use super::*;

    #[test]
    fn queries_are_asked_for_in_the_encoding_of_the_page() {
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
            let base = base(&url, &page);
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
