//! Table of the HTML elements that matter to a crawler: their links, their effect on text layout, and their content
//! model.
//!
//! Elements that are not in the table are treated as inline mark-up without meaning.

use crate::html_syntax::name::key;
use crate::html_syntax::raw_text::ContentModel;
use crate::text::builder::Separator;

/// An element, or a group of elements that are treated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// An inline or unknown element. It has no effect.
    Other,
    Anchor,
    Area,
    Audio,
    Base,
    /// A block element: line breaks separate it from the text around it.
    Block,
    Body,
    Break,
    Button,
    /// A table cell: a space separates it from the text around it.
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
    /// `image`, `use` or `feImage` of SVG. Outside SVG, `image` is another name of `img`.
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
    (b"feimage", E::SvgImage),
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
    (b"use", E::SvgImage),
    (b"video", E::Video),
    (b"xmp", E::Xmp),
];

const SLOTS: usize = 256;

/// Hash table with open addressing, filled at compile time. A lookup takes one multiplication and nearly always one
/// comparison.
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
    /// Whether the attribute `src` of this element names a file that a browser loads with the page.
    pub(crate) const fn has_asset_src(self) -> bool {
        matches!(
            self,
            Element::Image
                | Element::SvgImage
                | Element::Script
                | Element::Source
                | Element::Video
                | Element::Audio
                | Element::Track
                | Element::Embed
                | Element::Input
        )
    }

    /// Looks up the key of a name: see [`key_of`](super::name::key_of).
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

    /// How the content after the start tag is read. `None` if the content is tags and text, as in most elements (WHATWG
    /// HTML, 13.2.6, "generic raw text element parsing algorithm" and its callers). `noscript`, `noframes` and
    /// `noembed` are deliberately not in this list, because their content has links that browsers without scripts or
    /// frames show.
    pub(crate) fn content_model(self) -> Option<ContentModel> {
        Some(match self {
            Element::Title | Element::Textarea => ContentModel::Rcdata,
            Element::Script => ContentModel::Script,
            Element::Style | Element::Iframe | Element::Xmp => ContentModel::RawText,
            Element::Plaintext => ContentModel::Plaintext,
            _ => return None,
        })
    }

    /// Whether the attributes of this element are used even without `Options::assets` and `Options::scripts`.
    #[inline]
    pub(crate) fn has_used_attributes(self) -> bool {
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

    /// The separator between the text before and after a tag of this element.
    #[inline]
    pub(crate) fn separator(self) -> Separator {
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

    /// Whether this start tag ends an `<svg>` or `<math>` whose end tag is missing (WHATWG HTML, 13.2.6.5). The list of
    /// the standard is longer; these elements suffice to read the rest of a page as HTML.
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
    fn lookup_of_known_and_unknown_names() {
        for (name, element) in NAMES {
            assert_eq!(Element::from_key(key(name)), *element);
        }
        for name in [&b"span"[..], b"", b"aa", b"divdiv", b"blockquot"] {
            assert_eq!(Element::from_key(key(name)), Element::Other);
        }
        assert_eq!(Element::from_key(0), Element::Other);
    }
}
