//! Reads HTML in one pass over the tokens.
//!
//! The `tokenizer` passes slices of the document to [`HtmlReader`]. One reused `CurrentTag` collects the attributes of
//! a tag, text goes directly to the `TextBuilder`, and `extract` takes links and metadata from each complete tag. No
//! tree is built. A browser uses its tree to know which elements are open (WHATWG HTML, 13.2.6). Instead of a
//! tree, the reader keeps the current raw text element, and counts of open elements such as `<svg>`, `<math>`,
//! `<noscript>` and `<template>`.
//!
//! **Invariants.** Each token takes time proportional to its length. Nested elements are counted, without a stack.
//! Fallback content (`noscript`, `noframes`, `noembed`) is read as HTML. The end tag of a `noscript` also ends all
//! elements that are still open inside it.
//!
//! Read `HtmlReader::start` first, then `extract`.

mod browser_notice;
mod extract;
mod robots_meta;
mod tag;

use self::extract::Extractor;
use self::tag::{Attribute, CurrentTag};
use super::script_file;
use crate::html_syntax::character_reference::{TextKind, decode, decode_pieces};
use crate::html_syntax::element::Element;
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::open_elements::OpenElements;
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};
use crate::text::builder::Separator;
use crate::{Options, Page, PageRemark};

/// Where a document is: at a URL of its own, or in the `srcdoc` of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentPlace {
    Url,
    Srcdoc,
}

/// Reads HTML into `page`. With `xml`, `/>` ends any element and CDATA sections are text.
pub(crate) fn read(html: &str, xml: bool, options: &Options, page: &mut Page) {
    read_at(DocumentPlace::Url, html, xml, options, page);
}

fn read_at(place: DocumentPlace, html: &str, xml: bool, options: &Options, page: &mut Page) {
    let mut reader = HtmlReader {
        tag: CurrentTag::new(),
        extractor: Extractor::new(options, html.len(), place),
        options,
        page,
        xml,
        target: if options.text {
            TextTarget::Text
        } else {
            TextTarget::Discard
        },
        raw_element: None,
        open_templates: 0,
        open_elements: OpenElements::default(),
    };
    let in_tag = tokenizer::run(html.as_bytes(), &mut reader);
    reader.extractor.finish(reader.page);
    if in_tag
        || reader
            .raw_element
            .is_some_and(|element| element != Element::Plaintext)
    {
        reader.page.remarks.push(PageRemark::Unterminated);
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
    extractor: Extractor<'a>,
    options: &'a Options,
    page: &'a mut Page,
    xml: bool,
    target: TextTarget,
    /// The raw text element that is being read.
    raw_element: Option<Element>,
    open_templates: u32,
    open_elements: OpenElements,
}

impl HtmlReader<'_> {
    /// Handles a complete start tag. Returns the content model if raw text follows.
    fn start(&mut self, self_closing: bool) -> Option<ContentModel> {
        let element = self.tag.element;
        if element == Element::Other {
            return None;
        }
        self.separate(element.separator());
        let closed = self.open_elements.start(element, self_closing, self.xml);
        if element == Element::Template && !closed {
            self.open_templates += 1;
            self.choose_target();
        }
        if element == Element::Noscript && !closed {
            self.extractor.start_noscript();
        }
        self.extractor.start_tag(element, &self.tag);
        if closed {
            return None;
        }
        let model = element.content_model()?;
        self.raw_element = Some(element);
        self.choose_target();
        Some(model)
    }

    /// Handles a complete end tag.
    fn end(&mut self) {
        let element = self.tag.element;
        if self.raw_element.take().is_some() {
            self.choose_target();
        }
        if element == Element::Other {
            return;
        }
        self.open_elements.end(element);
        if element == Element::Noscript {
            self.extractor.end_noscript();
        }
        if element == Element::Template {
            self.open_templates = self.open_templates.saturating_sub(1);
            self.choose_target();
        }
        self.separate(element.separator());
    }

    /// Decides where the characters after this tag are sent.
    fn choose_target(&mut self) {
        self.target = match self.raw_element {
            Some(Element::Title)
                if !self.open_elements.in_foreign_content() && self.extractor.wants_title() =>
            {
                TextTarget::Title
            }
            Some(Element::Script) if self.reads_script() => TextTarget::Embedded,
            Some(Element::Style) if self.options.assets => TextTarget::Embedded,
            Some(Element::Title | Element::Script | Element::Style | Element::Iframe) => {
                TextTarget::Discard
            }
            _ if self.open_templates > 0 || !self.options.text => TextTarget::Discard,
            _ => TextTarget::Text,
        };
    }

    /// Whether the script that begins here is searched for URLs. Data blocks such as JSON-LD are not.
    fn reads_script(&self) -> bool {
        let is_script = || {
            let media_type = self.tag.get(Attribute::Type).unwrap_or_default();
            script_file::is_script_type(&media_type)
        };
        self.options.scripts || self.options.assets && is_script()
    }

    #[inline]
    fn separate(&mut self, separator: Separator) {
        self.extractor.text.separate(separator);
    }
}

impl<'a> TokenSink<'a> for HtmlReader<'a> {
    #[inline]
    fn text(&mut self, characters: &'a [u8], kind: TextKind) {
        match self.target {
            // The text builder folds white space and control characters, so only character references need decoding.
            TextTarget::Text if kind == TextKind::Plain => self.extractor.text.push(characters),
            TextTarget::Text => {
                decode_pieces(characters, kind, |piece| self.extractor.text.push(piece));
            }
            TextTarget::Title => {
                decode_pieces(characters, kind, |piece| self.extractor.title.push(piece));
            }
            TextTarget::Embedded => {
                let text = decode(characters, kind);
                match self.raw_element {
                    Some(Element::Script) => self.extractor.script(&text),
                    _ => self.extractor.style(&text),
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
            Some((Attribute::Style, value)) => self.extractor.style(&value),
            Some((_, value)) => self.extractor.script(&value),
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

    fn instruction(&mut self, data: &'a [u8]) {
        if self.xml {
            self.extractor.instruction(data);
        }
    }

    fn allows_cdata(&self) -> bool {
        self.xml || self.open_elements.in_foreign_content()
    }

    fn in_noscript(&self) -> bool {
        self.open_elements.in_noscript()
    }
}
