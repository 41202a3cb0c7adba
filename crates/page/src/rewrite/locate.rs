//! Finds the byte ranges of the links in an HTML document, for [`LinkRewriter`](crate::LinkRewriter).
//!
//! Makes one pass over the tokens of the stored bytes, without decoding them. This works for every character set that is a
//! superset of ASCII, because all delimiters are ASCII.

use std::ops::Range;

use crate::LinkKind;
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::element::Element;
use crate::html_syntax::name::{HtmlName, key};
use crate::html_syntax::open_elements::OpenElements;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};
use crate::links::rel;

/// A part of the document that holds links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    /// The value without its quotes, or the style sheet; never empty.
    pub(crate) range: Range<usize>,
    pub(crate) form: SpanSyntax,
}

/// How the links are written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanSyntax {
    /// An attribute that is one URL.
    Url(LinkKind),
    /// An attribute with several URLs, such as `srcset`.
    Srcset,
    /// The `content` of a meta refresh.
    Refresh,
    /// A `style` attribute.
    StyleAttribute,
    /// The content of a `style` element.
    StyleSheet,
    /// An attribute to empty, because it would defeat the replaced links: `base`, `integrity`, a content security policy.
    Clear,
}

/// The spots of a document in order, and the value of its first `<base href>` as written.
pub(crate) fn find(document: &[u8], xml: bool) -> (Vec<LinkSpan>, Option<Range<usize>>) {
    let mut finder = LinkLocator {
        document,
        xml,
        spots: Vec::new(),
        base: None,
        foreign: OpenElements::default(),
        tag: TagAttributes::default(),
        in_style: false,
    };
    tokenizer::run(document, &mut finder);
    let (mut spots, base) = (finder.spots, finder.base);
    // What a link or a meta element means is known at its end, when other attributes have been noted.
    spots.sort_by_key(|spot| spot.range.start);
    (spots, base)
}

mod known {
    use super::key;

    pub(super) const ACTION: u128 = key(b"action");
    pub(super) const BACKGROUND: u128 = key(b"background");
    pub(super) const CONTENT: u128 = key(b"content");
    pub(super) const DATA: u128 = key(b"data");
    pub(super) const DATA_SRC: u128 = key(b"data-src");
    pub(super) const DATA_SRCSET: u128 = key(b"data-srcset");
    pub(super) const FORMACTION: u128 = key(b"formaction");
    pub(super) const HREF: u128 = key(b"href");
    pub(super) const HTTP_EQUIV: u128 = key(b"http-equiv");
    pub(super) const IMAGESRCSET: u128 = key(b"imagesrcset");
    pub(super) const INTEGRITY: u128 = key(b"integrity");
    pub(super) const POSTER: u128 = key(b"poster");
    pub(super) const REL: u128 = key(b"rel");
    pub(super) const SRC: u128 = key(b"src");
    pub(super) const SRCSET: u128 = key(b"srcset");
    pub(super) const STYLE: u128 = key(b"style");
    pub(super) const USE: u128 = key(b"use");
    pub(super) const XLINK_HREF: u128 = key(b"xlink:href");
}

/// The tag being read.
#[derive(Debug)]
struct TagAttributes<'a> {
    element: Element,
    name: u128,
    start: bool,
    href: &'a [u8],
    rel: &'a [u8],
    pragma: &'a [u8],
    content: &'a [u8],
}

impl Default for TagAttributes<'_> {
    fn default() -> Self {
        TagAttributes {
            element: Element::Other,
            name: 0,
            start: false,
            href: &[],
            rel: &[],
            pragma: &[],
            content: &[],
        }
    }
}

struct LinkLocator<'a> {
    document: &'a [u8],
    xml: bool,
    spots: Vec<LinkSpan>,
    base: Option<Range<usize>>,
    foreign: OpenElements,
    tag: TagAttributes<'a>,
    in_style: bool,
}

impl<'a> LinkLocator<'a> {
    /// Where a slice of the document stands in it.
    fn range(&self, slice: &[u8]) -> Range<usize> {
        let start = slice.as_ptr().addr() - self.document.as_ptr().addr();
        start..start + slice.len()
    }

    fn note(&mut self, slice: &'a [u8], form: SpanSyntax) {
        if !slice.is_empty() {
            let range = self.range(slice);
            self.spots.push(LinkSpan { range, form });
        }
    }

    /// The tag is complete, and with it what depends on several attributes.
    fn settle(&mut self) {
        match self.tag.element {
            Element::Link => {
                let relation = decode(self.tag.rel, TextKind::AttributeValue);
                let kind = rel::kind(&relation).unwrap_or(LinkKind::Canonical);
                self.note(self.tag.href, SpanSyntax::Url(kind));
            }
            Element::Meta => {
                let pragma = decode(self.tag.pragma, TextKind::AttributeValue);
                let pragma = pragma.trim_ascii();
                if pragma.eq_ignore_ascii_case(b"refresh") {
                    self.note(self.tag.content, SpanSyntax::Refresh);
                } else if pragma.eq_ignore_ascii_case(b"content-security-policy") {
                    self.note(self.tag.content, SpanSyntax::Clear);
                }
            }
            _ => {}
        }
    }
}

/// What an attribute is that stands for itself.
fn form(element: Element, tag: u128, attribute: u128) -> Option<SpanSyntax> {
    let asset = Some(SpanSyntax::Url(LinkKind::Asset));
    match (element, attribute) {
        (Element::Anchor, known::HREF | known::XLINK_HREF) => {
            Some(SpanSyntax::Url(LinkKind::Anchor))
        }
        (Element::Area, known::HREF) => Some(SpanSyntax::Url(LinkKind::Area)),
        (Element::Frame | Element::Iframe, known::SRC) => Some(SpanSyntax::Url(LinkKind::Frame)),
        (Element::Form, known::ACTION) | (Element::Button | Element::Input, known::FORMACTION) => {
            Some(SpanSyntax::Url(LinkKind::Form))
        }
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
        )
        | (Element::Image | Element::Source, known::DATA_SRC)
        | (Element::SvgImage | Element::Script, known::HREF | known::XLINK_HREF)
        | (Element::Video, known::POSTER)
        | (Element::Object, known::DATA)
        | (_, known::BACKGROUND) => asset,
        (Element::Other, known::HREF | known::XLINK_HREF) if tag == known::USE => asset,
        (Element::Image | Element::Source, known::SRCSET | known::DATA_SRCSET)
        | (Element::Link, known::IMAGESRCSET) => Some(SpanSyntax::Srcset),
        (Element::Link | Element::Script, known::INTEGRITY) => Some(SpanSyntax::Clear),
        (_, known::STYLE) => Some(SpanSyntax::StyleAttribute),
        _ => None,
    }
}

impl<'a> TokenSink<'a> for LinkLocator<'a> {
    fn text(&mut self, characters: &'a [u8], _: TextKind) {
        if self.in_style {
            self.note(characters, SpanSyntax::StyleSheet);
        }
    }

    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.tag = TagAttributes {
            element: Element::from_key(name.key),
            name: name.key,
            start,
            ..TagAttributes::default()
        };
        self.in_style = false;
        start
    }

    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        if value.is_empty() {
            return;
        }
        let kept = match (self.tag.element, name.key) {
            (Element::Base, known::HREF) => {
                let range = self.range(value);
                self.base.get_or_insert(range);
                return self.note(value, SpanSyntax::Clear);
            }
            (Element::Link, known::HREF) => &mut self.tag.href,
            (Element::Link, known::REL) => &mut self.tag.rel,
            (Element::Meta, known::HTTP_EQUIV) => &mut self.tag.pragma,
            (Element::Meta, known::CONTENT) => &mut self.tag.content,
            (element, key) => {
                if let Some(form) = form(element, self.tag.name, key) {
                    self.note(value, form);
                }
                return;
            }
        };
        if kept.is_empty() {
            *kept = value;
        }
    }

    fn close(&mut self, self_closing: bool) -> Option<ContentModel> {
        let element = self.tag.element;
        if !self.tag.start {
            self.foreign.end(element);
            return None;
        }
        self.settle();
        if self.foreign.start(element, self_closing, self.xml) {
            return None;
        }
        self.in_style = element == Element::Style;
        element.raw()
    }

    fn allows_cdata(&self) -> bool {
        self.xml || self.foreign.inside()
    }

    fn in_noscript(&self) -> bool {
        self.foreign.in_noscript()
    }
}
