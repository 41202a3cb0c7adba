//! How a page was discovered: the kind of link that led to it.
//!
//! Each kind has one letter, shown in `logs/crawl.log`, `aranha pages --json` and `aranha why`, and stored as one byte
//! with the page. Kinds that exist in Heritrix have the letter that Heritrix uses.

use std::fmt;

/// The kind of link that led to a page. The discriminant is the letter.
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
}

impl Hop {
    const ALL: [Hop; 11] = [
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
    ];

    /// The letter of the kind.
    pub fn letter(self) -> char {
        char::from(self as u8)
    }

    /// The kind with this letter, if there is one.
    pub fn from_letter(letter: u8) -> Option<Hop> {
        Hop::ALL.into_iter().find(|hop| *hop as u8 == letter)
    }

    /// The hop of a stored page, from its letter. Versions up to 0.1 wrote `S` for both forms and signals. The `via` of
    /// a form is the page that contains the form, and the `via` of a signal is empty, so `S` with an empty `via` is a
    /// signal.
    pub(crate) fn from_stored(letter: u8, via: &str) -> Option<Hop> {
        match letter {
            b'S' if via.is_empty() => Some(Hop::Signal),
            letter => Hop::from_letter(letter),
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
    fn every_kind_has_its_own_letter() {
        for hop in Hop::ALL {
            assert_eq!(Hop::from_letter(hop as u8), Some(hop));
            assert!(hop.letter().is_ascii_uppercase() || hop == Hop::Seed);
        }
        assert_eq!(Hop::from_letter(b'Z'), None);
    }

    #[test]
    fn a_stored_s_without_via_is_a_signal() {
        assert_eq!(Hop::from_stored(b'S', ""), Some(Hop::Signal));
        let via = "https://example.org/";
        assert_eq!(Hop::from_stored(b'S', via), Some(Hop::Form));
        assert_eq!(Hop::from_stored(b'N', ""), Some(Hop::Signal));
    }
}
