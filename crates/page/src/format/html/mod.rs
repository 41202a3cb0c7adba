//! Reads HTML in one pass over the tokens.
//!
//! The `tokenizer` passes slices of the document to [`HtmlReader`]. One reused `CurrentTag` collects the attributes of a
//! tag, text goes directly to the `TextBuilder`, and `extract` takes links and metadata from each complete tag. No tree is
//! built. The reader itself keeps the state that the tokenizer needs from a tree (WHATWG HTML, 13.2.6): elements with raw
//! text, foreign content (`<svg>`, `<math>`), and the depth of `<template>`.
//!
//! **Invariants.** Each token takes time proportional to its length. Nesting is counted, not stacked. Fallback content
//! (`noscript`, `noframes`, `noembed`) is read as HTML; the end of a `noscript` ends everything left open in it.
//!
//! Read `HtmlReader::start` first, then `extract`.

use self::extract::Extractor;
use crate::html_syntax::element::Element;
use crate::html_syntax::open_elements::OpenElements;
mod browser_notice;
mod extract;
mod robots_meta;
mod tag;
use self::tag::{Attribute, CurrentTag};
use crate::html_syntax::character_reference::{TextKind, decode, pieces};
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};
use crate::text::builder::Separator;
use crate::{Options, Page, PageRemark};

/// Reads HTML into `page`. `xml` says that `/>` ends any element and that CDATA sections are text.
pub(crate) fn read(html: &str, xml: bool, options: &Options, page: &mut Page) {
    let mut pass = HtmlReader {
        tag: CurrentTag::new(),
        harvest: Extractor::new(options, html.len()),
        options,
        page,
        xml,
        content: if options.text {
            TextTarget::Text
        } else {
            TextTarget::Discard
        },
        raw: None,
        templates: 0,
        foreign: OpenElements::default(),
    };
    let in_tag = tokenizer::run(html.as_bytes(), &mut pass);
    pass.harvest.finish(pass.page);
    if in_tag || pass.raw.is_some_and(|raw| raw != Element::Plaintext) {
        pass.page.remarks.push(PageRemark::Unterminated);
    }
}

/// Where the characters between tags are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextTarget {
    Text,
    Title,
    /// A script or style sheet that is searched for URLs.
    Embedded,
    Discard,
}

struct HtmlReader<'a> {
    tag: CurrentTag<'a>,
    harvest: Extractor<'a>,
    options: &'a Options,
    page: &'a mut Page,
    xml: bool,
    content: TextTarget,
    /// The element whose raw text we are in.
    raw: Option<Element>,
    templates: u32,
    foreign: OpenElements,
}

impl HtmlReader<'_> {
    /// A start tag is complete.
    fn start(&mut self, self_closing: bool) -> Option<ContentModel> {
        let element = self.tag.element;
        if element == Element::Other {
            return None;
        }
        self.separate(element.gap());
        let closed = self.foreign.start(element, self_closing, self.xml);
        if element == Element::Template && !closed {
            self.templates += 1;
            self.settle();
        }
        self.harvest.element(element, &self.tag);
        if closed {
            return None;
        }
        let raw = element.raw()?;
        self.raw = Some(element);
        self.settle();
        Some(raw)
    }

    /// An end tag is complete.
    fn end(&mut self) {
        let element = self.tag.element;
        if self.raw.take().is_some() {
            self.settle();
        }
        if element == Element::Other {
            return;
        }
        self.foreign.end(element);
        if element == Element::Template {
            self.templates = self.templates.saturating_sub(1);
            self.settle();
        }
        self.separate(element.gap());
    }

    /// Decides who gets the characters from here on.
    fn settle(&mut self) {
        self.content = match self.raw {
            Some(Element::Title) if !self.foreign.inside() && self.harvest.wants_title() => {
                TextTarget::Title
            }
            Some(Element::Script) if self.options.scripts => TextTarget::Embedded,
            Some(Element::Style) if self.options.assets => TextTarget::Embedded,
            Some(Element::Title | Element::Script | Element::Style | Element::Iframe) => {
                TextTarget::Discard
            }
            _ if self.templates > 0 || !self.options.text => TextTarget::Discard,
            _ => TextTarget::Text,
        };
    }

    #[inline]
    fn separate(&mut self, gap: Separator) {
        self.harvest.text.separate(gap);
    }
}

impl<'a> TokenSink<'a> for HtmlReader<'a> {
    #[inline]
    fn text(&mut self, characters: &'a [u8], place: TextKind) {
        match self.content {
            // White space is folded and control characters are white: only references matter.
            TextTarget::Text if place == TextKind::Plain => self.harvest.text.push(characters),
            TextTarget::Text => pieces(characters, place, |piece| self.harvest.text.push(piece)),
            TextTarget::Title => pieces(characters, place, |piece| self.harvest.title.push(piece)),
            TextTarget::Embedded => {
                let text = decode(characters, place);
                match self.raw {
                    Some(Element::Script) => self.harvest.script(&text),
                    _ => self.harvest.style(&text),
                }
            }
            TextTarget::Discard => {}
        }
    }

    #[inline]
    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.tag.open(start, name);
        start && self.tag.wants_attributes(self.options)
    }

    #[inline]
    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        match self.tag.attribute(name, value, self.options) {
            None => {}
            Some((Attribute::Style, value)) => self.harvest.style(&value),
            Some((_, value)) => self.harvest.script(&value),
        }
    }

    #[inline]
    fn close(&mut self, self_closing: bool) -> Option<ContentModel> {
        if self.tag.start {
            self.start(self_closing)
        } else {
            self.end();
            None
        }
    }

    fn allows_cdata(&self) -> bool {
        self.xml || self.foreign.inside()
    }

    fn in_noscript(&self) -> bool {
        self.foreign.in_noscript()
    }
}
