//! The tag being read: its element and the attributes that are kept.
//!
//! `HtmlReader` reuses one `CurrentTag`. Values are slices of the document; they are decoded when they are read and copied
//! only if they contain something to decode. The first of several attributes with one name counts (WHATWG HTML).

use std::borrow::Cow;

use crate::Options;
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::element::Element;
use crate::html_syntax::name::HtmlName;

/// Attributes that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    Action,
    Content,
    /// `data` of an object, `poster` of a video, `background` of old: one more asset.
    Extra,
    Href,
    HttpEquiv,
    Lang,
    LazySrc,
    LazySrcset,
    Method,
    Name,
    Property,
    Rel,
    Src,
    Srcset,
    /// `style`, read when it ends.
    Style,
    /// `onclick` and its like, read when it ends.
    Handler,
}

const COUNT: usize = Attribute::Handler as usize + 1;

/// The current tag.
#[derive(Debug)]
pub(crate) struct CurrentTag<'a> {
    pub(crate) element: Element,
    pub(crate) start: bool,
    present: u32,
    /// As written.
    values: [&'a [u8]; COUNT],
}

impl<'a> CurrentTag<'a> {
    pub(crate) fn new() -> CurrentTag<'a> {
        CurrentTag {
            element: Element::Other,
            start: false,
            present: 0,
            values: [&[]; COUNT],
        }
    }

    #[inline]
    pub(crate) fn open(&mut self, start: bool, name: HtmlName<'_>) {
        self.element = Element::from_key(name.key);
        self.start = start;
        self.present = 0;
    }

    /// Whether any attribute of this tag may be wanted.
    #[inline]
    pub(crate) fn wants_attributes(&self, options: &Options) -> bool {
        options.assets || options.scripts || self.element.has_attributes()
    }

    /// Takes an attribute as written, and returns it if it is to be read at once: styles and event handlers can be
    /// many in one tag.
    #[inline]
    pub(crate) fn attribute(
        &mut self,
        name: HtmlName<'_>,
        value: &'a [u8],
        options: &Options,
    ) -> Option<(Attribute, Cow<'a, [u8]>)> {
        let attribute = wanted(self.element, name.key, options)?;
        if matches!(attribute, Attribute::Style | Attribute::Handler) {
            return Some((attribute, decode(value, TextKind::AttributeValue)));
        }
        if self.present & bit(attribute) == 0 {
            self.present |= bit(attribute);
            self.values[attribute as usize] = value;
        }
        None
    }

    /// The value of an attribute that was wanted; empty when it has none.
    #[inline]
    pub(crate) fn get(&self, attribute: Attribute) -> Option<Cow<'a, [u8]>> {
        if self.present & bit(attribute) == 0 {
            return None;
        }
        Some(decode(
            self.values[attribute as usize],
            TextKind::AttributeValue,
        ))
    }
}

fn bit(attribute: Attribute) -> u32 {
    1 << attribute as u32
}

/// Names as numbers.
mod known {
    use crate::html_syntax::name::key;

    pub(super) const ACTION: u128 = key(b"action");
    pub(super) const BACKGROUND: u128 = key(b"background");
    pub(super) const CONTENT: u128 = key(b"content");
    pub(super) const DATA: u128 = key(b"data");
    pub(super) const DATA_SRC: u128 = key(b"data-src");
    pub(super) const DATA_SRCSET: u128 = key(b"data-srcset");
    pub(super) const HREF: u128 = key(b"href");
    pub(super) const HTTP_EQUIV: u128 = key(b"http-equiv");
    pub(super) const IMAGESRCSET: u128 = key(b"imagesrcset");
    pub(super) const LANG: u128 = key(b"lang");
    pub(super) const METHOD: u128 = key(b"method");
    pub(super) const NAME: u128 = key(b"name");
    pub(super) const ON: u128 = key(b"on");
    pub(super) const POSTER: u128 = key(b"poster");
    pub(super) const PROPERTY: u128 = key(b"property");
    pub(super) const REL: u128 = key(b"rel");
    pub(super) const SRC: u128 = key(b"src");
    pub(super) const SRCSET: u128 = key(b"srcset");
    pub(super) const STYLE: u128 = key(b"style");
    pub(super) const XLINK_HREF: u128 = key(b"xlink:href");
    pub(super) const XML_LANG: u128 = key(b"xml:lang");
}

/// Which attributes of which elements are kept.
#[inline]
fn wanted(element: Element, name: u128, options: &Options) -> Option<Attribute> {
    let found = match (element, name) {
        (
            Element::Anchor | Element::Area | Element::Link | Element::Base,
            known::HREF | known::XLINK_HREF,
        ) => Some(Attribute::Href),
        (Element::Anchor | Element::Area | Element::Link, known::REL) => Some(Attribute::Rel),
        (Element::Meta, known::NAME) => Some(Attribute::Name),
        (Element::Meta, known::CONTENT) => Some(Attribute::Content),
        (Element::Meta, known::HTTP_EQUIV) => Some(Attribute::HttpEquiv),
        (Element::Meta, known::PROPERTY) => Some(Attribute::Property),
        (Element::Html, known::LANG | known::XML_LANG) => Some(Attribute::Lang),
        (Element::Frame | Element::Iframe, known::SRC) => Some(Attribute::Src),
        (Element::Form, known::ACTION) if options.forms => Some(Attribute::Action),
        (Element::Form, known::METHOD) if options.forms => Some(Attribute::Method),
        _ => None,
    };
    if found.is_none() && options.assets {
        let asset = asset(element, name);
        if asset.is_some() {
            return asset;
        }
    }
    let handler = options.scripts && name & 0xFFFF == known::ON && name > 0xFFFF;
    found.or(handler.then_some(Attribute::Handler))
}

/// Attributes that name what a page needs to be shown.
fn asset(element: Element, name: u128) -> Option<Attribute> {
    match (element, name) {
        (
            Element::Image
            | Element::Script
            | Element::Source
            | Element::Video
            | Element::Audio
            | Element::Track
            | Element::Embed
            | Element::Input,
            known::SRC,
        ) => Some(Attribute::Src),
        (Element::Image | Element::Source, known::SRCSET) | (Element::Link, known::IMAGESRCSET) => {
            Some(Attribute::Srcset)
        }
        // What scripts copy to src and srcset when the image comes into view.
        (Element::Image | Element::Source, known::DATA_SRC) => Some(Attribute::LazySrc),
        (Element::Image | Element::Source, known::DATA_SRCSET) => Some(Attribute::LazySrcset),
        (Element::SvgImage, known::HREF | known::XLINK_HREF) => Some(Attribute::Href),
        (Element::Video, known::POSTER)
        | (Element::Object, known::DATA)
        | (_, known::BACKGROUND) => Some(Attribute::Extra),
        (_, known::STYLE) => Some(Attribute::Style),
        _ => None,
    }
}
