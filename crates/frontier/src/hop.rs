//! How a page was discovered: the kind of link that led to it.
//!
//! Each kind has a letter, shown in `logs/crawl.log`, `aranha pages --json` and `aranha why`, and stored as one byte
//! with the page. Kinds that exist in Heritrix have the letter that Heritrix uses.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of link that led to a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Hop {
    /// `-`: a seed. Heritrix writes an empty discovery path as `-`.
    Seed,
    /// `L`: an ordinary link: an anchor, an image map area, a canonical or alternate link, a feed or one of its items.
    Link,
    /// `R`: a redirect: an HTTP status 3xx with a target, or a meta refresh.
    Redirect,
    /// `E`: an embedded resource: a frame, an image, a style sheet, a script. The count is 1 ([`Hop::EMBED`]). If
    /// the page with this link is itself an embedded resource that is out of scope, the count is one higher than that of
    /// this page.
    Embed(EmbedCount),
    /// `R`: the target of a redirect of an embedded resource. It has the count of the resource that redirected to
    /// it. If that resource was itself the target of a redirect, the count is one higher.
    EmbedRedirect(EmbedCount),
    /// `S`: the address that a form submits to.
    Form,
    /// `X`: a string in a script that looks like a URL (Heritrix: speculative).
    Script,
    /// `M`: a sitemap (Heritrix: manifest), or a URL that a sitemap lists.
    Sitemap,
    /// `P`: robots.txt (Heritrix: prerequisite). It is logged, but never stored as a page.
    RobotsTxt,
    /// `T`: a request for a path that cannot exist, to learn how the site answers for missing pages. It is logged, but
    /// never stored as a page. Not in Heritrix.
    SoftNotFoundProbe,
    /// `N`: a change notification from outside (`signals.jsonl`): IndexNow, WebSub, the user. Not in
    /// Heritrix.
    Signal,
    /// `C`: a page in the cache of a proxy, requested by the users of the proxy. Not in Heritrix.
    ProxyCache,
}

/// Number of embedded resources in a row, counted after the last page in scope: 1 to [`Hop::MAX_EMBEDS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct EmbedCount(u8);

impl EmbedCount {
    /// `None` if the count is 0 or exceeds [`Hop::MAX_EMBEDS`].
    fn new(count: u8) -> Option<EmbedCount> {
        (1..=Hop::MAX_EMBEDS)
            .contains(&count)
            .then_some(EmbedCount(count))
    }
}

impl Hop {
    /// An embedded resource of a page in scope.
    pub const EMBED: Hop = Hop::Embed(EmbedCount(1));

    /// Maximum number of embedded resources in a row, counted after the last page in scope. For example, a frame, its
    /// style sheet, an imported style sheet and a font are four in a row. If the resource with the maximum count is out
    /// of scope, the resources that it embeds are not fetched.
    pub const MAX_EMBEDS: u8 = 5;

    /// The letter of the kind.
    pub fn letter(self) -> char {
        char::from(match self {
            Hop::Embed(_) => b'E',
            Hop::EmbedRedirect(_) => b'R',
            other => other.byte(),
        })
    }

    /// The stored byte: the letter, or for embedded resources a byte of their own for each count.
    pub fn byte(self) -> u8 {
        match self {
            Hop::Seed => b'-',
            Hop::Link => b'L',
            Hop::Redirect => b'R',
            Hop::EMBED => b'E',
            Hop::Embed(EmbedCount(count)) => b'0' + count,
            Hop::EmbedRedirect(EmbedCount(count)) => b'a' + count - 1,
            Hop::Form => b'S',
            Hop::Script => b'X',
            Hop::Sitemap => b'M',
            Hop::RobotsTxt => b'P',
            Hop::SoftNotFoundProbe => b'T',
            Hop::Signal => b'N',
            Hop::ProxyCache => b'C',
        }
    }

    /// The kind with this stored byte, if there is one.
    pub fn from_byte(byte: u8) -> Option<Hop> {
        Some(match byte {
            b'-' => Hop::Seed,
            b'L' => Hop::Link,
            b'R' => Hop::Redirect,
            b'E' => Hop::EMBED,
            b'2'..=b'9' => Hop::Embed(EmbedCount::new(byte - b'0')?),
            b'a'..=b'z' => Hop::EmbedRedirect(EmbedCount::new(byte - b'a' + 1)?),
            b'S' => Hop::Form,
            b'X' => Hop::Script,
            b'M' => Hop::Sitemap,
            b'P' => Hop::RobotsTxt,
            b'T' => Hop::SoftNotFoundProbe,
            b'N' => Hop::Signal,
            b'C' => Hop::ProxyCache,
            _ => return None,
        })
    }

    /// The kind of link in words, with an article: `a link`.
    pub fn words(self) -> &'static str {
        match self {
            Hop::Seed => "a seed",
            Hop::Link => "a link",
            Hop::Redirect | Hop::EmbedRedirect(_) => "a redirect",
            Hop::Embed(_) => "an embedded resource",
            Hop::Form => "a form",
            Hop::Script => "a URL in a script",
            Hop::Sitemap => "a sitemap",
            Hop::RobotsTxt => "robots.txt",
            Hop::SoftNotFoundProbe => "a test request",
            Hop::Signal => "a change notification",
            Hop::ProxyCache => "the cache of a proxy",
        }
    }

    /// Whether the page is the target of a redirect.
    pub fn is_redirect(self) -> bool {
        matches!(self, Hop::Redirect | Hop::EmbedRedirect(_))
    }

    /// Number of embedded resources since the last page in scope, including this one; 0 if this is not an embedded
    /// resource.
    pub fn embeds(self) -> u8 {
        match self {
            Hop::Embed(count) | Hop::EmbedRedirect(count) => count.0,
            _ => 0,
        }
    }

    /// The kind of the resources that a page of this kind embeds, if the page is out of scope. `None` if the count of
    /// the page is already [`Hop::MAX_EMBEDS`].
    pub fn next_embed(self) -> Option<Hop> {
        EmbedCount::new(self.embeds() + 1).map(Hop::Embed)
    }

    /// The kind of the target, if an embedded resource of this kind redirects. The first redirect keeps the count, and
    /// each further redirect in a row adds one. `None` if this is not the kind of an embedded resource, or if the count
    /// would exceed [`Hop::MAX_EMBEDS`].
    pub fn embed_redirect(self) -> Option<Hop> {
        let count = match self {
            Hop::Embed(count) => Some(count),
            Hop::EmbedRedirect(count) => EmbedCount::new(count.0 + 1),
            _ => None,
        };
        count.map(Hop::EmbedRedirect)
    }

    /// The hop of a stored page, from its byte. Versions up to 0.1 wrote `S` for both forms and signals. The `via` of a
    /// form is the page that contains the form, and the `via` of a signal is empty, so `S` with an empty `via` is a
    /// signal.
    pub(crate) fn from_stored(byte: u8, via: &str) -> Option<Hop> {
        match byte {
            b'S' if via.is_empty() => Some(Hop::Signal),
            byte => Hop::from_byte(byte),
        }
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Write::write_char(f, self.letter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collections store these bytes, so they must not change.
    #[test]
    fn every_kind_has_its_own_byte() {
        let bytes: Vec<u8> = (0..=u8::MAX)
            .filter(|byte| Hop::from_byte(*byte).is_some())
            .collect();
        assert_eq!(bytes, b"-2345CELMNPRSTXabcde");
        for byte in bytes {
            let hop = Hop::from_byte(byte).expect("is a kind");
            assert_eq!(hop.byte(), byte);
            let letter = match byte {
                b'2'..=b'5' => 'E',
                b'a'..=b'e' => 'R',
                other => char::from(other),
            };
            assert_eq!(hop.letter(), letter);
        }
    }

    #[test]
    fn embedded_resources_in_a_row_are_counted() {
        let (mut hop, mut redirect) = (Hop::Link, Hop::EMBED);
        for count in 1..=Hop::MAX_EMBEDS {
            hop = hop.next_embed().expect("within the limit");
            assert_eq!((hop.embeds(), hop.letter()), (count, 'E'));
            let moved = hop.embed_redirect().expect("within the limit");
            assert_eq!((moved.embeds(), moved.letter()), (count, 'R'));
            redirect = redirect.embed_redirect().expect("within the limit");
            assert_eq!(redirect.embeds(), count);
        }
        assert_eq!(hop.next_embed(), None);
        assert_eq!(redirect.embed_redirect(), None);
        for other in [Hop::Seed, Hop::Link, Hop::Redirect, Hop::ProxyCache] {
            assert_eq!((other.embeds(), other.embed_redirect()), (0, None));
            assert_eq!(other.is_redirect(), other == Hop::Redirect);
        }
    }

    #[test]
    fn a_stored_s_without_via_is_a_signal() {
        assert_eq!(Hop::from_stored(b'S', ""), Some(Hop::Signal));
        let via = "https://example.org/";
        assert_eq!(Hop::from_stored(b'S', via), Some(Hop::Form));
        assert_eq!(Hop::from_stored(b'N', ""), Some(Hop::Signal));
    }
}
