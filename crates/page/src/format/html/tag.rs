//! The tag being read: its element and the attributes that are kept.
//!
//! `HtmlReader` reuses one `CurrentTag`. Values are slices of the document. A value is decoded when it is used, and
//! copied only if it contains something to decode. If a tag has several attributes with the same name, only the first
//! counts (WHATWG HTML).

use std::borrow::Cow;

use crate::Options;
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::element::Element;
use crate::html_syntax::keys;
use crate::html_syntax::name::HtmlName;

/// Attributes with an effect on links, metadata or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    Action,
    Content,
    /// The URL of an asset in `data` of an object, in `poster` of a video, or in the obsolete `background`.
    SecondAsset,
    Href,
    HttpEquiv,
    Lang,
    /// `data-src`, which scripts copy to `src` when the image comes into view.
    LazySrc,
    /// `data-srcset`, which scripts copy to `srcset`.
    LazySrcset,
    Method,
    Name,
    Property,
    Rel,
    Src,
    /// `srcdoc` of a frame: the HTML of the page in the frame.
    Srcdoc,
    Srcset,
    /// `style`. Its value is searched for URLs immediately and not kept.
    Style,
    /// `type` of a script.
    Type,
    /// An event handler such as `onclick`. Its value is searched for URLs immediately and not kept.
    Handler,
}

const COUNT: usize = Attribute::Handler as usize + 1;

/// The element and attributes of the tag being read.
#[derive(Debug)]
pub(crate) struct CurrentTag<'a> {
    pub(crate) element: Element,
    pub(crate) start: bool,
    /// One bit per [`Attribute`] that the tag has.
    present: u32,
    /// Values as written, indexed by [`Attribute`]. A value is valid only if its bit in `present` is set.
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

    /// Whether an attribute of this tag may have an effect with these options.
    #[inline]
    pub(crate) fn wants_attributes(&self, options: &Options) -> bool {
        options.assets || options.scripts || self.element.has_used_attributes()
    }

    /// Stores the value of an attribute as written. The values of `style` and of event handlers are not stored, but
    /// decoded and returned. The reason is that all event handlers of a tag share one [`Attribute`], which has room for
    /// one value.
    #[inline]
    pub(crate) fn attribute(
        &mut self,
        name: HtmlName<'_>,
        value: &'a [u8],
        options: &Options,
    ) -> Option<(Attribute, Cow<'a, [u8]>)> {
        let attribute = used_attribute(self.element, name.key, options)?;
        if matches!(attribute, Attribute::Style | Attribute::Handler) {
            return Some((attribute, decode(value, TextKind::AttributeValue)));
        }
        if self.present & bit(attribute) == 0 {
            self.present |= bit(attribute);
            self.values[attribute as usize] = value;
        }
        None
    }

    /// Returns the decoded value of an attribute. The value is empty if the attribute was written without one.
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

/// Maps an attribute name to its meaning in this element. `None` if it is not used.
#[inline]
fn used_attribute(element: Element, name: u128, options: &Options) -> Option<Attribute> {
    let found = match (element, name) {
        (
            Element::Anchor | Element::Area | Element::Link | Element::Base,
            keys::HREF | keys::XLINK_HREF,
        ) => Some(Attribute::Href),
        (Element::Anchor | Element::Area | Element::Link, keys::REL) => Some(Attribute::Rel),
        (Element::Meta, keys::NAME) => Some(Attribute::Name),
        (Element::Meta, keys::CONTENT) => Some(Attribute::Content),
        (Element::Meta, keys::HTTP_EQUIV) => Some(Attribute::HttpEquiv),
        (Element::Meta, keys::PROPERTY) => Some(Attribute::Property),
        (Element::Html, keys::LANG | keys::XML_LANG) => Some(Attribute::Lang),
        (Element::Frame | Element::Iframe, keys::SRC) => Some(Attribute::Src),
        (Element::Iframe, keys::SRCDOC) => Some(Attribute::Srcdoc),
        (Element::Form, keys::ACTION) if options.forms => Some(Attribute::Action),
        (Element::Form, keys::METHOD) if options.forms => Some(Attribute::Method),
        _ => None,
    };
    if found.is_none() && options.assets {
        let asset = asset_attribute(element, name);
        if asset.is_some() {
            return asset;
        }
    }
    let handler = (options.scripts || options.assets) && name & 0xFFFF == keys::ON && name > 0xFFFF;
    found.or(handler.then_some(Attribute::Handler))
}

/// Attributes that contain the URL of an asset.
fn asset_attribute(element: Element, name: u128) -> Option<Attribute> {
    match (element, name) {
        (_, keys::SRC) if element.has_asset_src() => Some(Attribute::Src),
        (Element::Image | Element::Source, keys::SRCSET) | (Element::Link, keys::IMAGESRCSET) => {
            Some(Attribute::Srcset)
        }
        (Element::Image | Element::Source, keys::DATA_SRC) => Some(Attribute::LazySrc),
        (Element::Image | Element::Source, keys::DATA_SRCSET) => Some(Attribute::LazySrcset),
        (Element::SvgImage | Element::Script, keys::HREF | keys::XLINK_HREF) => {
            Some(Attribute::Href)
        }
        (Element::Video, keys::POSTER) | (Element::Object, keys::DATA) | (_, keys::BACKGROUND) => {
            Some(Attribute::SecondAsset)
        }
        (Element::Script, keys::TYPE) => Some(Attribute::Type),
        (_, keys::STYLE) => Some(Attribute::Style),
        _ => None,
    }
}
