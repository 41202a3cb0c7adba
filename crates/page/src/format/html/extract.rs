//! Extracts links, metadata and text from complete tags, and fills the [`Page`] at the end of the pass.

use std::ops::Range;

use super::super::{script_file, style_sheet};
use super::tag::{Attribute, CurrentTag};
use super::{DocumentPlace, browser_notice, read_at, robots_meta};
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::html_syntax::element::Element;
use crate::links::collector::LinkCollector;
use crate::links::{meta_refresh, rel, script, srcset, xml_stylesheet};
use crate::text::builder::{TextBuilder, into_string};
use crate::{LinkKind, Options, Page, PageRemark, language, text};

/// Maximum bytes of a title or description.
const MAX_METADATA_BYTES: usize = 2048;
/// Maximum number of robots meta tags.
const MAX_ROBOTS_TAGS: usize = 32;
/// Maximum number of `<noscript>` elements whose place in the text is recorded.
const MAX_NOSCRIPT: usize = 32;

/// The links, metadata and text found so far.
#[derive(Debug)]
pub(crate) struct Extractor<'a> {
    pub(crate) text: TextBuilder,
    pub(crate) title: TextBuilder,
    links: LinkCollector,
    options: &'a Options,
    title_seen: bool,
    /// `<meta name=description>`.
    description: Option<String>,
    /// `<meta property=og:description>`, used if there is no description.
    og_description: Option<String>,
    /// `<html lang>`.
    language: Option<String>,
    /// `<meta http-equiv=content-language>`, used if there is no `<html lang>`.
    pragma_language: Option<String>,
    canonical: Option<String>,
    base: Option<String>,
    has_icon: bool,
    place: DocumentPlace,
    robots: Vec<(String, String)>,
    /// The parts of the text that are inside `<noscript>`.
    noscript: Vec<Range<usize>>,
}

impl<'a> Extractor<'a> {
    /// If the options ask for text, allocates a text buffer of a quarter of `document_length`.
    pub(crate) fn new(
        options: &'a Options,
        document_length: usize,
        place: DocumentPlace,
    ) -> Extractor<'a> {
        let mut text = TextBuilder::new(options.max_text, options.max_word, false);
        if options.text {
            text.reserve(document_length / 4);
        }
        Extractor {
            text,
            title: TextBuilder::new(MAX_METADATA_BYTES, 0, false),
            links: LinkCollector::new(options),
            options,
            title_seen: false,
            description: None,
            og_description: None,
            language: None,
            pragma_language: None,
            canonical: None,
            base: None,
            has_icon: false,
            place,
            robots: Vec::new(),
            noscript: Vec::new(),
        }
    }

    /// Whether the `<title>` that begins here is the first one, which is the title of the page.
    pub(crate) fn wants_title(&mut self) -> bool {
        !std::mem::replace(&mut self.title_seen, true)
    }

    /// Extracts the links and metadata of a start tag.
    pub(crate) fn start_tag(&mut self, element: Element, tag: &CurrentTag<'_>) {
        match element {
            Element::Anchor => self.hyperlink(tag, LinkKind::Anchor),
            Element::Area => self.hyperlink(tag, LinkKind::Area),
            Element::Frame | Element::Iframe => {
                self.add(tag, Attribute::Src, LinkKind::Frame);
                if let Some(html) = tag.get(Attribute::Srcdoc) {
                    self.add_srcdoc(&html);
                }
            }
            Element::Base => {
                // The length limit applies to the base too, because it becomes part of every resolved link.
                if self.base.is_none()
                    && let Some(href) = tag.get(Attribute::Href)
                    && self.links.fits(&href)
                {
                    self.base = Some(clean_href(&href));
                }
            }
            Element::Link => self.link(tag),
            Element::Meta => self.meta(tag),
            Element::Html => {
                if let Some(value) = tag.get(Attribute::Lang) {
                    self.language = self.language.take().or_else(|| language::parse_tag(&value));
                }
            }
            Element::Form => {
                let method = tag.get(Attribute::Method).unwrap_or_default();
                if method.trim_ascii().is_empty()
                    || method.trim_ascii().eq_ignore_ascii_case(b"get")
                {
                    self.add(tag, Attribute::Action, LinkKind::Form);
                }
            }
            _ => {}
        }
        if self.options.assets {
            self.add_assets(element, tag);
        }
    }

    /// Records where a `<noscript>` begins. Its range extends to the end of the text unless [`Extractor::end_noscript`]
    /// follows.
    pub(crate) fn start_noscript(&mut self) {
        if self.noscript.len() < MAX_NOSCRIPT {
            self.noscript.push(self.text.length()..usize::MAX);
        }
    }

    /// Records where the last `<noscript>` ends.
    pub(crate) fn end_noscript(&mut self) {
        if let Some(last) = self.noscript.last_mut() {
            last.end = last.end.min(self.text.length());
        }
    }

    /// Searches a complete inline script or event handler for URLs.
    pub(crate) fn script(&mut self, script: &[u8]) {
        if self.options.scripts {
            script::urls(script, |url| {
                self.links.add(url, LinkKind::Script, false);
            });
        }
        if self.options.assets {
            script_file::add_links(script, &mut self.links);
        }
    }

    /// Adds the style sheet of an `xml-stylesheet` instruction.
    pub(crate) fn instruction(&mut self, instruction: &[u8]) {
        if self.options.assets
            && let Some(href) = xml_stylesheet::href(instruction)
        {
            let href = decode(href, TextKind::AttributeValue);
            self.links.add(&href, LinkKind::Asset, false);
        }
    }

    /// Adds the links of the page that the `srcdoc` of a frame contains. These links are resolved with the base URL of
    /// the outer page. Therefore an inner page with its own `base` is skipped. `srcdoc` inside `srcdoc` is not read.
    fn add_srcdoc(&mut self, html: &[u8]) {
        if self.place == DocumentPlace::Srcdoc {
            return;
        }
        let options = Options {
            text: false,
            ..self.options.clone()
        };
        let mut framed = Page::default();
        let html = String::from_utf8_lossy(html);
        read_at(DocumentPlace::Srcdoc, &html, false, &options, &mut framed);
        if framed.base.is_none() {
            for link in framed.links {
                self.links
                    .add(link.href.as_bytes(), link.kind, link.nofollow);
            }
        }
    }

    /// Searches a complete style sheet or `style` attribute for URLs.
    pub(crate) fn style(&mut self, sheet: &[u8]) {
        style_sheet::add_links(sheet, &mut self.links);
    }

    fn add(&mut self, tag: &CurrentTag<'_>, attribute: Attribute, kind: LinkKind) {
        if let Some(href) = tag.get(attribute) {
            self.links.add(&href, kind, false);
        }
    }

    /// Adds an asset. An empty URL or a bare fragment (`<use href="#icon">`) refers to the page itself and is not
    /// added.
    fn add_asset(&mut self, tag: &CurrentTag<'_>, attribute: Attribute) {
        if let Some(href) = tag.get(attribute)
            && !matches!(href.trim_ascii_start(), [] | [b'#', ..])
        {
            self.links.add(&href, LinkKind::Asset, false);
        }
    }

    /// Adds the link of an `<a>` or `<area>`.
    fn hyperlink(&mut self, tag: &CurrentTag<'_>, kind: LinkKind) {
        let Some(href) = tag.get(Attribute::Href) else {
            return;
        };
        let nofollow = tag
            .get(Attribute::Rel)
            .is_some_and(|relation| rel::is_nofollow(&relation));
        self.links.add(&href, kind, nofollow);
        if (self.options.scripts || self.options.assets) && is_javascript_url(&href) {
            self.script(&href);
        }
    }

    /// Adds the link of a `<link>`, depending on its relation.
    fn link(&mut self, tag: &CurrentTag<'_>) {
        let Some(href) = tag.get(Attribute::Href) else {
            return;
        };
        let relation = tag.get(Attribute::Rel).unwrap_or_default();
        self.has_icon |= rel::is_icon(&relation);
        let Some(kind) = rel::link_kind(&relation, self.options.assets) else {
            return;
        };
        if kind == LinkKind::Canonical {
            self.canonical.get_or_insert_with(|| clean_href(&href));
        }
        if kind != LinkKind::Asset || self.options.assets {
            self.links.add(&href, kind, rel::is_nofollow(&relation));
        }
    }

    /// Reads a `<meta>`: a refresh, a language, a description or robots directives.
    fn meta(&mut self, tag: &CurrentTag<'_>) {
        let Some(content) = tag.get(Attribute::Content) else {
            return;
        };
        if let Some(pragma) = tag.get(Attribute::HttpEquiv) {
            let pragma = pragma.trim_ascii();
            if pragma.eq_ignore_ascii_case(b"refresh") {
                if let Some(url) = meta_refresh::target(&content) {
                    self.links.add(url, LinkKind::Refresh, false);
                }
            } else if pragma.eq_ignore_ascii_case(b"content-language") {
                self.pragma_language = self
                    .pragma_language
                    .take()
                    .or_else(|| language::parse_tag(&content));
            }
        }
        let Some(name) = tag
            .get(Attribute::Name)
            .or_else(|| tag.get(Attribute::Property))
        else {
            return;
        };
        let name = name.trim_ascii();
        if name.eq_ignore_ascii_case(b"description") {
            self.description = self.description.take().or_else(|| fold_text(&content));
        } else if name.eq_ignore_ascii_case(b"og:description") {
            self.og_description = self.og_description.take().or_else(|| fold_text(&content));
        } else if robots_meta::addresses_robots(name) && self.robots.len() < MAX_ROBOTS_TAGS {
            let name = into_string(name.to_ascii_lowercase());
            self.robots
                .push((name, fold_text(&content).unwrap_or_default()));
        }
    }

    fn add_assets(&mut self, element: Element, tag: &CurrentTag<'_>) {
        if !matches!(element, Element::Frame | Element::Iframe) {
            self.add_asset(tag, Attribute::Src);
        }
        self.add_asset(tag, Attribute::LazySrc);
        self.add_asset(tag, Attribute::SecondAsset);
        if matches!(element, Element::SvgImage | Element::Script) {
            self.add_asset(tag, Attribute::Href);
        }
        for attribute in [Attribute::Srcset, Attribute::LazySrcset] {
            if let Some(set) = tag.get(attribute) {
                srcset::urls(&set, |url| {
                    self.links.add(url, LinkKind::Asset, false);
                });
            }
        }
    }

    /// Moves the extracted links, metadata and text to `page`.
    pub(crate) fn finish(&mut self, page: &mut Page) {
        let (title, _) = self.title.finish();
        page.title = Some(title).filter(|title| !title.is_empty());
        page.description = self.description.take().or(self.og_description.take());
        page.language = self.language.take().or(self.pragma_language.take());
        page.canonical = self.canonical.take();
        page.base = self.base.take();
        page.has_icon = self.has_icon;
        page.robots = std::mem::take(&mut self.robots);
        page.links = self.links.finish(&mut page.remarks);
        text::store(&mut self.text, page);
        if browser_notice::is_browser_notice(&page.text, page.words, &self.noscript) {
            page.remarks.push(PageRemark::UnsupportedBrowser);
        }
    }
}

fn is_javascript_url(href: &[u8]) -> bool {
    let scheme = b"javascript:";
    href.trim_ascii_start()
        .get(..scheme.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// Folds the white space of an attribute value and truncates it. `None` if the result is empty.
fn fold_text(value: &[u8]) -> Option<String> {
    let mut text = TextBuilder::new(MAX_METADATA_BYTES, 0, false);
    text.push(value);
    Some(text.finish().0).filter(|text| !text.is_empty())
}

/// The href as a browser would read it: see [`clean`](crate::links::collector::clean).
fn clean_href(href: &[u8]) -> String {
    let mut scratch = Vec::new();
    String::from_utf8_lossy(crate::links::collector::clean(href, &mut scratch)).into_owned()
}
