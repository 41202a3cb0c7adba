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
    /// `E`: embedded by an embedded resource that is out of scope. The number counts the embedded resources since the last
    /// page in scope; [`Hop::Embed`] is the first.
    Embed2 = b'2',
    /// `E`: the third in a row.
    Embed3 = b'3',
    /// `E`: the fourth in a row.
    Embed4 = b'4',
    /// `E`: the fifth in a row, and the last that is fetched.
    Embed5 = b'5',
    /// `R`: the target of a redirect of an embedded resource. It stands in its place and has the same number.
    EmbedRedirect = b'a',
    /// `R`: in place of the second embedded resource in a row, or after two redirects in a row.
    EmbedRedirect2 = b'b',
    /// `R`: in place of the third in a row.
    EmbedRedirect3 = b'c',
    /// `R`: in place of the fourth in a row.
    EmbedRedirect4 = b'd',
    /// `R`: in place of the fifth in a row.
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

    /// Maximum number of embedded resources in a row out of scope: page, frame, style sheet, imported style sheet, font.
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

    /// Number of embedded resources since the last page in scope, including this one; 0 for other kinds.
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

    /// The kind of an embedded resource of a page that was reached by this kind and is out of scope. `None` after
    /// [`Hop::MAX_EMBEDS`].
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

    /// The kind of the target to which an embedded resource redirects. A second redirect in a row counts as an embedded
    /// resource. `None` for other kinds, and after [`Hop::MAX_EMBEDS`].
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
