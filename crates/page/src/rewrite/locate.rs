//! Finds the byte ranges of the links in an HTML document, for [`LinkRewriter`](crate::LinkRewriter).
//!
//! Makes one pass over the tokens of the stored bytes, without decoding them. This works for every character set that
//! is a superset of ASCII, because all delimiters are ASCII.

use std::ops::Range;

use crate::LinkKind;
use crate::format::script_file::is_script_type;
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::element::Element;
use crate::html_syntax::keys;
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::open_elements::OpenElements;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};
use crate::links::{rel, xml_stylesheet};

/// A part of the document that contains links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    /// The attribute value without its quotes, or the style sheet. Never empty.
    pub(crate) range: Range<usize>,
    pub(crate) syntax: SpanSyntax,
}

/// The syntax of the links in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanSyntax {
    /// An attribute whose value is one URL.
    Url(LinkKind),
    /// An attribute with several URLs, such as `srcset`.
    Srcset,
    /// The `content` of a meta refresh.
    Refresh,
    /// A `style` attribute.
    StyleAttribute,
    /// The content of a `style` element.
    StyleSheet,
    /// The content of a `script` element, or a whole script.
    Script,
    /// The `srcdoc` of a frame.
    Srcdoc,
    /// The name of a `crossorigin` attribute. If the page is a local file, browsers refuse files that are loaded with
    /// this attribute. So the attribute is renamed to a name without effect.
    CrossOrigin,
    /// An attribute that must be emptied, because it would break the replaced links: `base`, `integrity`, a content
    /// security policy.
    Clear,
}

/// Returns the spans of a document in order, and the range of its first `<base href>`.
pub(crate) fn find(document: &[u8], xml: bool) -> (Vec<LinkSpan>, Option<Range<usize>>) {
    let mut locator = LinkLocator {
        document,
        xml,
        spans: Vec::new(),
        base: None,
        open_elements: OpenElements::default(),
        tag: TagAttributes::default(),
        in_style: false,
        in_script: false,
    };
    tokenizer::run(document, &mut locator);
    let (mut spans, base) = (locator.spans, locator.base);
    // The span of a `link` or `meta` is added when the tag is complete, so spans of later attributes may come before
    // it.
    spans.sort_by_key(|span| span.range.start);
    (spans, base)
}

/// The current tag. Attributes of `link` and `meta` are kept until the tag is complete, because the meaning of one
/// attribute depends on the others.
#[derive(Debug)]
struct TagAttributes<'a> {
    element: Element,
    start: bool,
    href: &'a [u8],
    rel: &'a [u8],
    pragma: &'a [u8],
    content: &'a [u8],
    script_type: &'a [u8],
}

impl Default for TagAttributes<'_> {
    fn default() -> Self {
        TagAttributes {
            element: Element::Other,
            start: false,
            href: &[],
            rel: &[],
            pragma: &[],
            content: &[],
            script_type: &[],
        }
    }
}

struct LinkLocator<'a> {
    document: &'a [u8],
    xml: bool,
    spans: Vec<LinkSpan>,
    base: Option<Range<usize>>,
    open_elements: OpenElements,
    tag: TagAttributes<'a>,
    in_style: bool,
    in_script: bool,
}

impl<'a> LinkLocator<'a> {
    /// The range of a slice of the document.
    fn range_of(&self, slice: &[u8]) -> Range<usize> {
        let start = slice.as_ptr().addr() - self.document.as_ptr().addr();
        start..start + slice.len()
    }

    fn add(&mut self, slice: &'a [u8], syntax: SpanSyntax) {
        if !slice.is_empty() {
            let range = self.range_of(slice);
            self.spans.push(LinkSpan { range, syntax });
        }
    }

    /// Adds the spans of a complete tag that depend on several attributes.
    fn finish_tag(&mut self) {
        match self.tag.element {
            Element::Link => {
                let relation = decode(self.tag.rel, TextKind::AttributeValue);
                let kind = rel::link_kind(&relation, true).unwrap_or(LinkKind::Canonical);
                self.add(self.tag.href, SpanSyntax::Url(kind));
            }
            Element::Meta => {
                let pragma = decode(self.tag.pragma, TextKind::AttributeValue);
                let pragma = pragma.trim_ascii();
                if pragma.eq_ignore_ascii_case(b"refresh") {
                    self.add(self.tag.content, SpanSyntax::Refresh);
                } else if pragma.eq_ignore_ascii_case(b"content-security-policy") {
                    self.add(self.tag.content, SpanSyntax::Clear);
                }
            }
            _ => {}
        }
    }
}

/// The syntax of an attribute whose meaning does not depend on other attributes.
fn syntax_of(element: Element, attribute: u128) -> Option<SpanSyntax> {
    let asset = Some(SpanSyntax::Url(LinkKind::Asset));
    match (element, attribute) {
        (Element::Anchor, keys::HREF | keys::XLINK_HREF) => Some(SpanSyntax::Url(LinkKind::Anchor)),
        (Element::Area, keys::HREF) => Some(SpanSyntax::Url(LinkKind::Area)),
        (Element::Frame | Element::Iframe, keys::SRC) => Some(SpanSyntax::Url(LinkKind::Frame)),
        (Element::Iframe, keys::SRCDOC) => Some(SpanSyntax::Srcdoc),
        (Element::Form, keys::ACTION) | (Element::Button | Element::Input, keys::FORMACTION) => {
            Some(SpanSyntax::Url(LinkKind::Form))
        }
        (_, keys::SRC) if element.has_asset_src() => asset,
        (Element::Image | Element::Source, keys::DATA_SRC)
        | (Element::SvgImage | Element::Script, keys::HREF | keys::XLINK_HREF)
        | (Element::Video, keys::POSTER)
        | (Element::Object, keys::DATA)
        | (_, keys::BACKGROUND) => asset,
        (Element::Image | Element::Source, keys::SRCSET | keys::DATA_SRCSET)
        | (Element::Link, keys::IMAGESRCSET) => Some(SpanSyntax::Srcset),
        (Element::Link | Element::Script, keys::INTEGRITY) => Some(SpanSyntax::Clear),
        (_, keys::STYLE) => Some(SpanSyntax::StyleAttribute),
        _ => None,
    }
}

impl<'a> TokenSink<'a> for LinkLocator<'a> {
    fn text(&mut self, characters: &'a [u8], _: TextKind) {
        if self.in_style {
            self.add(characters, SpanSyntax::StyleSheet);
        } else if self.in_script {
            self.add(characters, SpanSyntax::Script);
        }
    }

    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.tag = TagAttributes {
            element: Element::from_key(name.key),
            start,
            ..TagAttributes::default()
        };
        (self.in_style, self.in_script) = (false, false);
        start
    }

    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        if name.key == keys::CROSSORIGIN {
            return self.add(name.written, SpanSyntax::CrossOrigin);
        }
        if value.is_empty() {
            return;
        }
        let kept_value = match (self.tag.element, name.key) {
            (Element::Base, keys::HREF) => {
                let range = self.range_of(value);
                self.base.get_or_insert(range);
                return self.add(value, SpanSyntax::Clear);
            }
            (Element::Link, keys::HREF) => &mut self.tag.href,
            (Element::Link, keys::REL) => &mut self.tag.rel,
            (Element::Meta, keys::HTTP_EQUIV) => &mut self.tag.pragma,
            (Element::Meta, keys::CONTENT) => &mut self.tag.content,
            (Element::Script, keys::TYPE) => &mut self.tag.script_type,
            (element, key) => {
                if let Some(syntax) = syntax_of(element, key) {
                    self.add(value, syntax);
                }
                return;
            }
        };
        if kept_value.is_empty() {
            *kept_value = value;
        }
    }

    fn close(&mut self, self_closing: bool) -> Option<ContentModel> {
        let element = self.tag.element;
        if !self.tag.start {
            self.open_elements.end(element);
            return None;
        }
        self.finish_tag();
        if self.open_elements.start(element, self_closing, self.xml) {
            return None;
        }
        self.in_style = element == Element::Style;
        let script_type = decode(self.tag.script_type, TextKind::AttributeValue);
        self.in_script = element == Element::Script && is_script_type(&script_type);
        element.content_model()
    }

    fn instruction(&mut self, data: &'a [u8]) {
        if self.xml
            && let Some(href) = xml_stylesheet::href(data)
        {
            self.add(href, SpanSyntax::Url(LinkKind::Asset));
        }
    }

    fn allows_cdata(&self) -> bool {
        self.xml || self.open_elements.in_foreign_content()
    }

    fn in_noscript(&self) -> bool {
        self.open_elements.in_noscript()
    }
}
