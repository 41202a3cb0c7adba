//! HTML: one pass over the tokens.
//!
//! Third step of [`read`](crate::read). The `tokenizer` calls [`Pass`] with slices of the document; tags are put together in
//! one reused `Tag`, text goes straight to where it is folded, and what a complete tag means is said in `harvest`.
//! There is no tree. What a tree would have to tell the tokenizer (WHATWG HTML, section 13.2.6) is known here in
//! small: which elements hold raw text, whether we are inside `<svg>` or `<math>`, how deep in `<template>`.
//!
//! **What always holds.** Every event is handled in time proportional to its bytes, and nesting is counted, not
//! stacked: 100,000 open tags are a number. Fallback content (`noscript`, `noframes`, `noembed`) is read as HTML;
//! what a `noscript` leaves open ends with it.
//!
//! Read `Pass::start` first, then `harvest`.

use self::extract::Harvest;
use crate::html_syntax::element::Element;
use crate::html_syntax::open_elements::Foreign;
mod browser_notice;
mod extract;
mod robots_meta;
mod tag;
use self::tag::{Attribute, Tag};
use crate::html_syntax::character_reference::{Place, decode, pieces};
use crate::html_syntax::name::Name;
use crate::html_syntax::raw_text::Raw;
use crate::html_syntax::tokenizer::{self, Sink};
use crate::text::builder::Gap;
use crate::{Options, Page, PageRemark};

/// Reads HTML into `page`. `xml` says that `/>` ends any element and that CDATA sections are text.
pub(crate) fn read(html: &str, xml: bool, options: &Options, page: &mut Page) {
    let mut pass = Pass {
        tag: Tag::new(),
        harvest: Harvest::new(options, html.len()),
        options,
        page,
        xml,
        content: if options.text {
            Content::Text
        } else {
            Content::Mute
        },
        raw: None,
        templates: 0,
        foreign: Foreign::default(),
    };
    let in_tag = tokenizer::run(html.as_bytes(), &mut pass);
    pass.harvest.finish(pass.page);
    if in_tag || pass.raw.is_some_and(|raw| raw != Element::Plaintext) {
        pass.page.remarks.push(PageRemark::Unterminated);
    }
}

/// What the characters between tags are at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Title,
    /// A script or a style sheet that somebody looks into.
    Raw,
    /// Nobody's.
    Mute,
}

struct Pass<'a> {
    tag: Tag<'a>,
    harvest: Harvest<'a>,
    options: &'a Options,
    page: &'a mut Page,
    xml: bool,
    content: Content,
    /// The element whose raw text we are in.
    raw: Option<Element>,
    templates: u32,
    foreign: Foreign,
}

impl Pass<'_> {
    /// A start tag is complete.
    fn start(&mut self, self_closing: bool) -> Option<Raw> {
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
                Content::Title
            }
            Some(Element::Script) if self.options.scripts => Content::Raw,
            Some(Element::Style) if self.options.assets => Content::Raw,
            Some(Element::Title | Element::Script | Element::Style | Element::Iframe) => {
                Content::Mute
            }
            _ if self.templates > 0 || !self.options.text => Content::Mute,
            _ => Content::Text,
        };
    }

    #[inline]
    fn separate(&mut self, gap: Gap) {
        self.harvest.text.separate(gap);
    }
}

impl<'a> Sink<'a> for Pass<'a> {
    #[inline]
    fn text(&mut self, characters: &'a [u8], place: Place) {
        match self.content {
            // White space is folded and control characters are white: only references matter.
            Content::Text if place == Place::Plain => self.harvest.text.push(characters),
            Content::Text => pieces(characters, place, |piece| self.harvest.text.push(piece)),
            Content::Title => pieces(characters, place, |piece| self.harvest.title.push(piece)),
            Content::Raw => {
                let text = decode(characters, place);
                match self.raw {
                    Some(Element::Script) => self.harvest.script(&text),
                    _ => self.harvest.style(&text),
                }
            }
            Content::Mute => {}
        }
    }

    #[inline]
    fn open(&mut self, start: bool, name: Name<'a>) -> bool {
        self.tag.open(start, name);
        start && self.tag.is_heard(self.options)
    }

    #[inline]
    fn attribute(&mut self, name: Name<'a>, value: &'a [u8]) {
        match self.tag.attribute(name, value, self.options) {
            None => {}
            Some((Attribute::Style, value)) => self.harvest.style(&value),
            Some((_, value)) => self.harvest.script(&value),
        }
    }

    #[inline]
    fn close(&mut self, self_closing: bool) -> Option<Raw> {
        if self.tag.start {
            self.start(self_closing)
        } else {
            self.end();
            None
        }
    }

    fn is_foreign(&self) -> bool {
        self.xml || self.foreign.inside()
    }

    fn in_noscript(&self) -> bool {
        self.foreign.in_noscript()
    }
}
