//! Table of the HTML elements that matter to a crawler: their links, their effect on text layout, and their content model.
//!
//! Elements that are not in the table are treated as inline mark-up without meaning.

use crate::html_syntax::name::key;
use crate::html_syntax::raw_text::ContentModel;
use crate::text::builder::Separator;

/// Elements told apart; those treated alike share a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Inline, unknown, or the end tag of anything: nothing to do.
    Other,
    Anchor,
    Area,
    Audio,
    Base,
    /// Starts and ends a line.
    Block,
    Body,
    Break,
    Button,
    /// Separated by a space from its neighbours.
    Cell,
    Embed,
    ForeignObject,
    Form,
    Frame,
    Html,
    Iframe,
    Image,
    Input,
    Link,
    Math,
    Meta,
    Noscript,
    Object,
    Plaintext,
    Script,
    Source,
    Style,
    Svg,
    SvgImage,
    Template,
    Textarea,
    Title,
    Track,
    Video,
    Xmp,
}

use Element as E;

const NAMES: &[(&[u8], Element)] = &[
    (b"a", E::Anchor),
    (b"address", E::Block),
    (b"area", E::Area),
    (b"article", E::Block),
    (b"aside", E::Block),
    (b"audio", E::Audio),
    (b"base", E::Base),
    (b"blockquote", E::Block),
    (b"body", E::Body),
    (b"br", E::Break),
    (b"button", E::Button),
    (b"caption", E::Block),
    (b"center", E::Block),
    (b"dd", E::Block),
    (b"details", E::Block),
    (b"dialog", E::Block),
    (b"dir", E::Block),
    (b"div", E::Block),
    (b"dl", E::Block),
    (b"dt", E::Block),
    (b"embed", E::Embed),
    (b"fieldset", E::Block),
    (b"figcaption", E::Block),
    (b"figure", E::Block),
    (b"footer", E::Block),
    (b"foreignobject", E::ForeignObject),
    (b"form", E::Form),
    (b"frame", E::Frame),
    (b"h1", E::Block),
    (b"h2", E::Block),
    (b"h3", E::Block),
    (b"h4", E::Block),
    (b"h5", E::Block),
    (b"h6", E::Block),
    (b"header", E::Block),
    (b"hgroup", E::Block),
    (b"hr", E::Block),
    (b"html", E::Html),
    (b"iframe", E::Iframe),
    (b"image", E::SvgImage),
    (b"img", E::Image),
    (b"input", E::Input),
    (b"legend", E::Block),
    (b"li", E::Block),
    (b"link", E::Link),
    (b"main", E::Block),
    (b"math", E::Math),
    (b"menu", E::Block),
    (b"meta", E::Meta),
    (b"nav", E::Block),
    (b"noframes", E::Block),
    (b"noscript", E::Noscript),
    (b"object", E::Object),
    (b"ol", E::Block),
    (b"optgroup", E::Block),
    (b"option", E::Block),
    (b"p", E::Block),
    (b"plaintext", E::Plaintext),
    (b"pre", E::Block),
    (b"script", E::Script),
    (b"search", E::Block),
    (b"section", E::Block),
    (b"source", E::Source),
    (b"style", E::Style),
    (b"summary", E::Block),
    (b"svg", E::Svg),
    (b"table", E::Block),
    (b"tbody", E::Block),
    (b"td", E::Cell),
    (b"template", E::Template),
    (b"textarea", E::Textarea),
    (b"tfoot", E::Block),
    (b"th", E::Cell),
    (b"thead", E::Block),
    (b"title", E::Title),
    (b"tr", E::Block),
    (b"track", E::Track),
    (b"ul", E::Block),
    (b"video", E::Video),
    (b"xmp", E::Xmp),
];

const SLOTS: usize = 256;

/// Open addressing, filled by the compiler: one multiplication and, nearly always, one comparison per tag.
static TABLE: [(u128, Element); SLOTS] = {
    let mut table = [(0, Element::Other); SLOTS];
    let mut index = 0;
    while index < NAMES.len() {
        let (name, element) = NAMES[index];
        let key = key(name);
        let mut at = slot(key);
        while table[at].0 != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = (key, element);
        index += 1;
    }
    table
};

const fn slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}

impl Element {
    /// Looks up a name by its key.
    #[inline]
    pub(crate) fn from_key(key: u128) -> Element {
        let mut at = slot(key);
        loop {
            let (found, element) = TABLE[at];
            if found == key || found == 0 {
                return element;
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// How what follows the start tag is read, if not as tags and text (WHATWG HTML, section 13.2.6, "generic raw
    /// text element parsing algorithm" and its callers). `noscript`, `noframes` and `noembed` are not here on
    /// purpose: what a browser without scripts or frames would show has links in it.
    pub(crate) fn raw(self) -> Option<ContentModel> {
        Some(match self {
            Element::Title | Element::Textarea => ContentModel::Rcdata,
            Element::Script => ContentModel::Script,
            Element::Style | Element::Iframe | Element::Xmp => ContentModel::RawText,
            Element::Plaintext => ContentModel::Plaintext,
            _ => return None,
        })
    }

    /// Whether its attributes matter to every crawl, not only to one that wants assets or scripts.
    #[inline]
    pub(crate) fn has_attributes(self) -> bool {
        matches!(
            self,
            Element::Anchor
                | Element::Area
                | Element::Base
                | Element::Form
                | Element::Frame
                | Element::Html
                | Element::Iframe
                | Element::Link
                | Element::Meta
        )
    }

    /// What separates the text before a tag of this element from the text after it.
    #[inline]
    pub(crate) fn gap(self) -> Separator {
        match self {
            Element::Block
            | Element::Body
            | Element::Break
            | Element::Form
            | Element::Html
            | Element::Plaintext
            | Element::Title
            | Element::Xmp => Separator::Line,
            Element::Cell
            | Element::Button
            | Element::Iframe
            | Element::Input
            | Element::Object
            | Element::Textarea
            | Element::Svg => Separator::Space,
            _ => Separator::None,
        }
    }

    /// Whether this start tag ends a forgotten `<svg>` or `<math>` (section 13.2.6.5). The list there is longer;
    /// these are the ones that matter once the rest of a page hangs on it.
    pub(crate) fn closes_foreign_content(self) -> bool {
        matches!(
            self,
            Element::Block
                | Element::Body
                | Element::Break
                | Element::Embed
                | Element::Image
                | Element::Meta
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        for (name, element) in NAMES {
            assert_eq!(Element::from_key(key(name)), *element);
        }
        for name in [&b"span"[..], b"", b"aa", b"divdiv", b"blockquot"] {
            assert_eq!(Element::from_key(key(name)), Element::Other);
        }
        assert_eq!(Element::from_key(0), Element::Other);
    }
}
