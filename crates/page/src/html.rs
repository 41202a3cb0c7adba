//! HTML: one pass over html5gum's events.
//!
//! Third step of [`read`](crate::read). The tokenizer calls [`Pass`] with borrowed slices; tags are put together in
//! one reused `Tag`, text goes straight to where it is folded, and what a complete tag means is said in `harvest`.
//! There is no tree. What a tree would have to tell the tokenizer (WHATWG HTML, section 13.2.6) is known here in
//! small: which elements hold raw text, whether we are inside `<svg>` or `<math>`, how deep in `<template>`.
//!
//! **What always holds.** Every event is handled in time proportional to its bytes, and nesting is counted, not
//! stacked: 100,000 open tags are a number. Fallback content (`noscript`, `noframes`, `noembed`) is read as HTML.
//!
//! Read `Pass::start` first, then `harvest`.

use html5gum::{Emitter, Error, State, Tokenizer};

use crate::element::Element;
use crate::harvest::Harvest;
use crate::tag::{Attribute, Tag};
use crate::text::Gap;
use crate::{Options, Page, Remark};

/// Reads HTML into `page`. `xml` says that `/>` ends any element and that CDATA sections are text.
pub(crate) fn read(html: &str, xml: bool, options: &Options, page: &mut Page) {
    let pass = Pass {
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
        raw_name: 0,
        raw_text: Vec::new(),
        templates: 0,
        foreign: 0,
        integration: 0,
        in_tag: false,
    };
    // The tokenizer keeps the pass; what was found is put into the page when it announces the end.
    let Ok(()) = Tokenizer::new_with_emitter(html, pass).finish();
}

/// What the characters between tags are at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Title,
    /// Kept aside until the end tag: a script or a style sheet that somebody will look into.
    Raw,
    /// Nobody's.
    Mute,
}

struct Pass<'a> {
    tag: Tag,
    harvest: Harvest<'a>,
    options: &'a Options,
    page: &'a mut Page,
    xml: bool,
    content: Content,
    /// The element whose raw text we are in: only its own end tag ends it.
    raw: Option<Element>,
    raw_name: u128,
    raw_text: Vec<u8>,
    templates: u32,
    /// Open `<svg>` and `<math>` elements.
    foreign: u32,
    /// Open `<foreignObject>` elements, where HTML begins again.
    integration: u32,
    in_tag: bool,
}

impl Pass<'_> {
    fn in_foreign(&self) -> bool {
        self.foreign > self.integration
    }

    fn close_attribute(&mut self) {
        match self.tag.close_attribute(self.options) {
            None => {}
            Some((Attribute::Style, value)) => self.harvest.style(value),
            Some((_, value)) => self.harvest.script(value),
        }
    }

    /// A start tag is complete.
    fn start(&mut self) -> Option<State> {
        let element = self.tag.element();
        if element == Element::Other {
            return None;
        }
        if element.leaves_foreign() && self.in_foreign() {
            (self.foreign, self.integration) = (0, 0);
        }
        self.separate(element.gap());
        // Only in foreign content and XML does a solidus close anything.
        let closed = self.tag.self_closing && (self.xml || self.in_foreign());
        match element {
            Element::Svg | Element::Math if !self.tag.self_closing => self.foreign += 1,
            Element::ForeignObject if !closed && self.in_foreign() => self.integration += 1,
            Element::Template if !closed => {
                self.templates += 1;
                self.settle();
            }
            _ => {}
        }
        self.harvest.element(element, &self.tag);
        if closed {
            return None;
        }
        let state = element.state()?;
        self.raw = Some(element);
        self.raw_name = self.tag.name.key();
        self.settle();
        Some(state)
    }

    /// An end tag is complete.
    fn end(&mut self) {
        let element = self.tag.element();
        if let Some(raw) = self.raw.take() {
            let text = std::mem::take(&mut self.raw_text);
            match raw {
                Element::Script => self.harvest.script(&text),
                Element::Style => self.harvest.style(&text),
                _ => {}
            }
            self.raw_text = text;
            self.raw_text.clear();
            self.settle();
        }
        match element {
            Element::Other => return,
            Element::Svg | Element::Math => {
                self.foreign = self.foreign.saturating_sub(1);
                self.integration = self.integration.min(self.foreign);
            }
            Element::ForeignObject => self.integration = self.integration.saturating_sub(1),
            Element::Template => {
                self.templates = self.templates.saturating_sub(1);
                self.settle();
            }
            _ => {}
        }
        self.separate(element.gap());
    }

    /// Decides who gets the characters from here on.
    fn settle(&mut self) {
        self.content = match self.raw {
            Some(Element::Title) if !self.in_foreign() && self.harvest.wants_title() => {
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

impl Emitter for Pass<'_> {
    type Token = std::convert::Infallible;

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}

    fn emit_eof(&mut self) {
        self.harvest.finish(self.page);
        if self.in_tag || self.raw.is_some_and(|raw| raw != Element::Plaintext) {
            self.page.remarks.push(Remark::Unterminated);
        }
    }

    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Self::Token> {
        None
    }

    #[inline]
    fn emit_string(&mut self, characters: &[u8]) {
        match self.content {
            Content::Text => self.harvest.text.push(characters),
            Content::Title => self.harvest.title.push(characters),
            Content::Raw => self.raw_text.extend_from_slice(characters),
            Content::Mute => {}
        }
    }

    #[inline]
    fn init_start_tag(&mut self) {
        self.tag.open(true);
        self.in_tag = true;
    }

    #[inline]
    fn init_end_tag(&mut self) {
        self.tag.open(false);
    }

    #[inline]
    fn emit_current_tag(&mut self) -> Option<State> {
        self.in_tag = false;
        self.close_attribute();
        if self.tag.start {
            self.start()
        } else {
            self.end();
            None
        }
    }

    #[inline]
    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag.name.push(part);
    }

    #[inline]
    fn set_self_closing(&mut self) {
        self.tag.self_closing = true;
    }

    #[inline]
    fn init_attribute(&mut self) {
        self.close_attribute();
        self.tag.open_attribute(self.options);
    }

    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        self.tag.push_attribute_name(part);
    }

    #[inline]
    fn init_attribute_value(&mut self) {
        self.tag.open_value(self.options);
    }

    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        self.tag.push_value(part);
    }

    #[inline]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.raw.is_some() && !self.tag.start && self.tag.name.key() == self.raw_name
    }

    #[inline]
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.xml || self.in_foreign()
    }

    // Comments and doctypes say nothing to a crawler.
    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
