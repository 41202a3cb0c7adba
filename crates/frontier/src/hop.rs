//! How a page was discovered: the kind of link that led to it.
//!
//! Each kind has a letter, shown in `logs/crawl.log`, `aranha pages --json` and `aranha why`, and stored as one byte
//! with the page. Kinds that exist in Heritrix have the letter that Heritrix uses.

use std::fmt;

/// The kind of link that led to a page. The discriminant is the stored byte: the letter, except for the kinds that count
/// embedded resources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Hop {
    /// `-`: a seed. Heritrix writes an empty discovery path as `-`.
    Seed = b'-',
    /// `L`: an ordinary link: an anchor, an image map area, a canonical or alternate link, a feed or one of its items.
    Link = b'L',
    /// `R`: a redirect: an HTTP status 3xx with a target, or a meta refresh.
    Redirect = b'R',
    /// `E`: an embedded resource: a frame, an image, a style sheet, a script.
    Embed = b'E',
    /// `S`: the address that a form submits to.
    Form = b'S',
    /// `X`: a string in a script that looks like a URL (Heritrix: speculative).
    Script = b'X',
    /// `M`: a sitemap (Heritrix: manifest), or a URL that a sitemap lists.
    Sitemap = b'M',
    /// `P`: robots.txt (Heritrix: prerequisite). It is logged, but never stored as a page.
    RobotsTxt = b'P',
    /// `T`: a request for a path that cannot exist, to learn how the site answers for missing pages. It is logged, but
    /// never stored as a page. Not in Heritrix.
    SoftNotFoundProbe = b'T',
    /// `N`: a change notification from outside (`signals.jsonl`): IndexNow, WebSub, the user. Not in
    /// Heritrix.
    Signal = b'N',
    /// `C`: a page in the cache of a proxy, requested by the users of the proxy. Not in Heritrix.
    ProxyCache = b'C',
    /// `E`: the second embedded resource in a row: it is embedded by an embedded resource that is out of scope. The
    /// count starts after the last page in scope, so [`Hop::Embed`] is the first.
    Embed2 = b'2',
    /// `E`: the third embedded resource in a row.
    Embed3 = b'3',
    /// `E`: the fourth embedded resource in a row.
    Embed4 = b'4',
    /// `E`: the fifth embedded resource in a row. If it is out of scope, the resources that it embeds are not fetched.
    Embed5 = b'5',
    /// `R`: the target of a redirect of the first embedded resource. It takes the place of that resource in the count.
    EmbedRedirect = b'a',
    /// `R`: the target of a redirect of the second embedded resource in a row, or of [`Hop::EmbedRedirect`], because a
    /// second redirect in a row adds to the count.
    EmbedRedirect2 = b'b',
    /// `R`: the target of a redirect of the third embedded resource in a row, or of [`Hop::EmbedRedirect2`].
    EmbedRedirect3 = b'c',
    /// `R`: the target of a redirect of the fourth embedded resource in a row, or of [`Hop::EmbedRedirect3`].
    EmbedRedirect4 = b'd',
    /// `R`: the target of a redirect of the fifth embedded resource, or of [`Hop::EmbedRedirect4`].
    EmbedRedirect5 = b'e',
}

impl Hop {
    const ALL: [Hop; 20] = [
        Hop::Seed,
        Hop::Link,
        Hop::Redirect,
        Hop::Embed,
        Hop::Form,
        Hop::Script,
        Hop::Sitemap,
        Hop::RobotsTxt,
        Hop::SoftNotFoundProbe,
        Hop::Signal,
        Hop::ProxyCache,
        Hop::Embed2,
        Hop::Embed3,
        Hop::Embed4,
        Hop::Embed5,
        Hop::EmbedRedirect,
        Hop::EmbedRedirect2,
        Hop::EmbedRedirect3,
        Hop::EmbedRedirect4,
        Hop::EmbedRedirect5,
    ];

    /// Maximum number of embedded resources in a row, counted after the last page in scope. For example, a frame, its
    /// style sheet, an imported style sheet and a font are four in a row.
    pub const MAX_EMBEDS: u8 = 5;

    /// The letter of the kind.
    pub fn letter(self) -> char {
        char::from(match self {
            Hop::Embed2 | Hop::Embed3 | Hop::Embed4 | Hop::Embed5 => b'E',
            redirect if redirect.is_redirect() => b'R',
            other => other as u8,
        })
    }

    /// Whether the page is the target of a redirect.
    pub fn is_redirect(self) -> bool {
        self == Hop::Redirect || self as u8 >= Hop::EmbedRedirect as u8
    }

    /// Number of embedded resources since the last page in scope, including this one; 0 if this is not an embedded
    /// resource.
    pub fn embeds(self) -> u8 {
        match self {
            Hop::Embed | Hop::EmbedRedirect => 1,
            Hop::Embed2 | Hop::EmbedRedirect2 => 2,
            Hop::Embed3 | Hop::EmbedRedirect3 => 3,
            Hop::Embed4 | Hop::EmbedRedirect4 => 4,
            Hop::Embed5 | Hop::EmbedRedirect5 => 5,
            _ => 0,
        }
    }

    /// The kind of the resources that a page of this kind embeds, if the page is out of scope. `None` if the page is
    /// already number [`Hop::MAX_EMBEDS`] in a row.
    pub fn next_embed(self) -> Option<Hop> {
        match self.embeds() {
            0 => Some(Hop::Embed),
            1 => Some(Hop::Embed2),
            2 => Some(Hop::Embed3),
            3 => Some(Hop::Embed4),
            4 => Some(Hop::Embed5),
            _ => None,
        }
    }

    /// The kind of the target, if an embedded resource of this kind redirects. The first redirect keeps the count; each
    /// further redirect in a row adds one. `None` if this is not the kind of an embedded resource, or if the count
    /// would exceed [`Hop::MAX_EMBEDS`].
    pub fn embed_redirect(self) -> Option<Hop> {
        match self.embeds() + u8::from(self.is_redirect()) {
            _ if self.embeds() == 0 => None,
            1 => Some(Hop::EmbedRedirect),
            2 => Some(Hop::EmbedRedirect2),
            3 => Some(Hop::EmbedRedirect3),
            4 => Some(Hop::EmbedRedirect4),
            5 => Some(Hop::EmbedRedirect5),
            _ => None,
        }
    }

    /// The kind with this stored byte, if there is one.
    pub fn from_byte(byte: u8) -> Option<Hop> {
        Hop::ALL.into_iter().find(|hop| *hop as u8 == byte)
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

    #[test]
    fn every_kind_has_its_own_byte() {
        for hop in Hop::ALL {
            assert_eq!(Hop::from_byte(hop as u8), Some(hop));
            assert!(hop.letter().is_ascii_uppercase() || hop == Hop::Seed);
        }
        assert_eq!(Hop::from_byte(b'Z'), None);
    }

    #[test]
    fn embedded_resources_in_a_row_are_counted() {
        let (mut hop, mut redirect) = (Hop::Link, Hop::Embed);
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
