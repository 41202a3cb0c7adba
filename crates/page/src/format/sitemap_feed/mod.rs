//! Reads sitemaps, sitemap indexes and feeds (RSS 2, RSS 1, Atom).
//!
//! Collects the links and the date of each (`lastmod`, `updated`, `pubDate`), which helps to schedule revisits. The root
//! element decides the kind of list; other XML documents are ignored.
//!
//! Sources: the sitemaps.org protocol; Google's `xhtml:link` and image extensions; RFC 4287 (Atom); the RSS 2.0 and
//! RSS 1.0 specifications.
//!
//! **Invariants.** Time is linear in the document. The number of links is bounded by the options; a sitemap may have the
//! 50,000 entries that its protocol allows.

use self::xml::{XmlEvent, XmlReader, XmlTag, unescape};
use crate::html_syntax::name::key_of;
use crate::links::collector::LinkCollector;
use crate::links::rel;
use crate::text::builder::{Separator, TextBuilder, string};
use crate::{LinkKind, Options, Page, language};
mod date;
pub(super) mod gzip;
mod xml;

/// Bytes of a title worth keeping.
const TITLE: usize = 2048;

/// Reads a list into `page`; leaves it alone when the document is none.
pub(crate) fn read(document: &str, options: &Options, page: &mut Page) {
    let mut reader = XmlReader::new(document.as_bytes());
    let root = reader.find_map(|event| match event {
        XmlEvent::Start(tag) => Some(tag),
        _ => None,
    });
    let Some((root, kind)) = root.and_then(|tag| Some((tag, kind(&tag)?))) else {
        return;
    };
    let mut listing = ListReader {
        kind,
        prefix: root.prefix,
        options,
        links: match kind {
            ListKind::Sitemap => LinkCollector::for_sitemap(options),
            ListKind::Feed => LinkCollector::new(options),
        },
        dates: Vec::new(),
        field: None,
        value: Vec::new(),
        entry: None,
        aside: false,
        page,
    };
    listing.root(&root);
    for event in reader {
        listing.event(event);
    }
    listing.finish();
}

/// Names of elements as numbers.
mod known {
    use crate::html_syntax::name::key;

    pub(super) const DATE: u128 = key(b"date");
    pub(super) const ENCLOSURE: u128 = key(b"enclosure");
    pub(super) const ENTRY: u128 = key(b"entry");
    pub(super) const GUID: u128 = key(b"guid");
    pub(super) const ISSUED: u128 = key(b"issued");
    pub(super) const ITEM: u128 = key(b"item");
    pub(super) const LANGUAGE: u128 = key(b"language");
    pub(super) const LASTMOD: u128 = key(b"lastmod");
    pub(super) const LINK: u128 = key(b"link");
    pub(super) const LOC: u128 = key(b"loc");
    pub(super) const MODIFIED: u128 = key(b"modified");
    pub(super) const PUBDATE: u128 = key(b"pubdate");
    pub(super) const PUBLISHED: u128 = key(b"published");
    pub(super) const SITEMAP: u128 = key(b"sitemap");
    pub(super) const SOURCE: u128 = key(b"source");
    pub(super) const TITLE: u128 = key(b"title");
    pub(super) const UPDATED: u128 = key(b"updated");
    pub(super) const URL: u128 = key(b"url");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListKind {
    Sitemap,
    Feed,
}

fn kind(root: &XmlTag<'_>) -> Option<ListKind> {
    let is = |name: &[u8]| root.name.eq_ignore_ascii_case(name);
    if is(b"urlset") || is(b"sitemapindex") {
        Some(ListKind::Sitemap)
    } else if is(b"rss") || is(b"rdf") || is(b"feed") {
        Some(ListKind::Feed)
    } else {
        None
    }
}

/// An element whose characters are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListField {
    /// The address of an entry.
    Address,
    Image,
    /// An identifier that may be an address.
    Identifier,
    Date,
    Title,
    Language,
}

/// One entry of the list.
#[derive(Debug, Default)]
struct ListEntry {
    date: Option<i64>,
    /// Places of its addresses among the links.
    places: Vec<usize>,
    identifier: Vec<u8>,
}

struct ListReader<'a> {
    kind: ListKind,
    /// The root's: elements with another are somebody else's.
    prefix: &'a [u8],
    options: &'a Options,
    links: LinkCollector,
    /// By the place of the link.
    dates: Vec<Option<i64>>,
    field: Option<ListField>,
    value: Vec<u8>,
    entry: Option<ListEntry>,
    /// Inside an Atom `source`, which tells of another feed.
    aside: bool,
    page: &'a mut Page,
}

impl ListReader<'_> {
    fn root(&mut self, tag: &XmlTag<'_>) {
        let base = tag.attribute(b"xml:base").map(unescaped);
        let base = base.filter(|base| !base.is_empty() && self.links.fits(base));
        self.page.base = base.map(string);
        self.page.language = tag.attribute(b"xml:lang").and_then(language::tag);
    }

    fn event(&mut self, event: XmlEvent<'_>) {
        match event {
            XmlEvent::Start(tag) => {
                self.field = None;
                if self.kind == ListKind::Sitemap {
                    self.in_sitemap(&tag);
                } else {
                    self.in_feed(&tag);
                }
                self.value.clear();
            }
            XmlEvent::Text(text) if self.field.is_some() => unescape(text, &mut self.value),
            XmlEvent::Data(text) if self.field.is_some() => self.value.extend_from_slice(text),
            XmlEvent::Text(_) | XmlEvent::Data(_) => {}
            XmlEvent::End(name) => {
                if let Some(field) = self.field.take() {
                    let value = std::mem::take(&mut self.value);
                    self.field(field, &value);
                    self.value = value;
                }
                match (self.kind, key_of(name)) {
                    (ListKind::Sitemap, known::URL | known::SITEMAP)
                    | (ListKind::Feed, known::ITEM | known::ENTRY) => self.end(),
                    (ListKind::Feed, known::SOURCE) => self.aside = false,
                    _ => {}
                }
            }
        }
    }

    fn in_sitemap(&mut self, tag: &XmlTag<'_>) {
        let own = tag.prefix == self.prefix;
        match key_of(tag.name) {
            known::URL | known::SITEMAP if own => self.begin(),
            known::LOC if own => self.field = Some(ListField::Address),
            known::LASTMOD if own => self.field = Some(ListField::Date),
            known::LOC if self.options.assets => self.field = Some(ListField::Image),
            known::LINK => {
                let href = tag.attribute(b"href");
                let relation = tag.attribute(b"rel").unwrap_or_default();
                if let Some(href) = href
                    && rel::kind(relation) == Some(LinkKind::Alternate)
                {
                    self.links
                        .add_secondary(&unescaped(href), LinkKind::Alternate);
                }
            }
            _ => {}
        }
    }

    fn in_feed(&mut self, tag: &XmlTag<'_>) {
        // RSS has no namespace, RSS 1's root has one that its items have not, Atom is at home in both.
        let own = tag.prefix.is_empty() || tag.prefix == self.prefix || tag.prefix == b"atom";
        let dublin = matches!(tag.prefix, b"dc" | b"dcterms");
        match key_of(tag.name) {
            known::ITEM | known::ENTRY if own => self.begin(),
            known::SOURCE if own => self.aside = !tag.empty,
            _ if self.aside => {}
            known::LINK if own => self.feed_link(tag),
            known::GUID if own => {
                let address = tag
                    .attribute(b"isPermaLink")
                    .is_none_or(|value| value == b"true");
                self.field = address.then_some(ListField::Identifier);
            }
            known::PUBDATE
            | known::UPDATED
            | known::PUBLISHED
            | known::MODIFIED
            | known::ISSUED
                if own =>
            {
                self.field = Some(ListField::Date);
            }
            known::DATE | known::MODIFIED if dublin => self.field = Some(ListField::Date),
            known::TITLE if own && self.entry.is_none() => self.field = Some(ListField::Title),
            known::LANGUAGE if own => self.field = Some(ListField::Language),
            known::ENCLOSURE if own && self.options.assets => {
                if let Some(url) = tag.attribute(b"url") {
                    self.links.add(&unescaped(url), LinkKind::Asset, false);
                }
            }
            _ => {}
        }
    }

    /// Atom's links have an attribute, RSS's hold characters.
    fn feed_link(&mut self, tag: &XmlTag<'_>) {
        let Some(href) = tag.attribute(b"href") else {
            self.field = (!tag.empty).then_some(ListField::Address);
            return;
        };
        let href = unescaped(href);
        match tag.attribute(b"rel").unwrap_or(b"alternate") {
            b"alternate" => self.address(&href),
            b"enclosure" if self.options.assets => {
                self.links.add(&href, LinkKind::Asset, false);
            }
            b"next" | b"prev" | b"previous" | b"first" | b"last" | b"prev-archive"
            | b"next-archive" | b"current" | b"related" | b"via" | b"replies" => {
                self.links.add(&href, LinkKind::Link, false);
            }
            // The feed itself, its hub, its editor.
            _ => {}
        }
    }

    /// A new entry; one that is still open ends here, so that a forgotten end tag mixes up nothing.
    fn begin(&mut self) {
        self.end();
        self.entry = Some(ListEntry::default());
    }

    /// Gives an entry's links their date.
    fn end(&mut self) {
        self.aside = false;
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        if entry.places.is_empty() && entry.identifier.starts_with(b"http") {
            let place = self.links.add(&entry.identifier, LinkKind::Feed, false);
            entry.places.extend(place);
        }
        let Some(date) = entry.date else {
            return;
        };
        for place in entry.places {
            if place >= self.dates.len() {
                self.dates.resize(place + 1, None);
            }
            self.dates[place] = self.dates[place].max(Some(date));
        }
    }

    /// The address of an entry, or of what the list is about.
    fn address(&mut self, href: &[u8]) {
        if href.trim_ascii().is_empty() {
            return;
        }
        let kind = match (self.kind, &self.entry) {
            (ListKind::Sitemap, _) => LinkKind::Sitemap,
            (ListKind::Feed, Some(_)) => LinkKind::Feed,
            (ListKind::Feed, None) => LinkKind::Link,
        };
        let place = self.links.add(href, kind, false);
        if let Some(entry) = &mut self.entry {
            entry.places.extend(place);
        }
    }

    /// An element ended whose characters were wanted.
    fn field(&mut self, field: ListField, value: &[u8]) {
        match field {
            ListField::Address => self.address(value),
            ListField::Image => self.links.add_secondary(value, LinkKind::Asset),
            ListField::Identifier => {
                if let Some(entry) = &mut self.entry {
                    entry.identifier = value.trim_ascii().to_vec();
                }
            }
            ListField::Date => {
                if let Some(entry) = &mut self.entry {
                    entry.date = entry.date.max(date::parse(value));
                }
            }
            ListField::Title => {
                if self.page.title.is_none() {
                    let mut title = TextBuilder::new(TITLE, 0, false);
                    title.push(value);
                    title.separate(Separator::Line);
                    self.page.title = Some(title.finish().0).filter(|title| !title.is_empty());
                }
            }
            ListField::Language => {
                self.page.language = self.page.language.take().or_else(|| language::tag(value));
            }
        }
    }

    fn finish(&mut self) {
        self.end();
        self.page.links = self.links.finish(&mut self.page.remarks);
        let dates = self.dates.iter().enumerate();
        self.page.link_dates = dates
            .filter_map(|(place, date)| Some((place, (*date)?)))
            .collect();
    }
}

fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    unescape(value, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, options: &Options, expected: &[&str]) -> Page {
        let mut page = Page::default();
        read(document, options, &mut page);
        let found: Vec<String> = page
            .links
            .iter()
            .enumerate()
            .map(|(place, link)| {
                let date = page.link_dates.iter().find(|(dated, _)| *dated == place);
                let date = date
                    .map(|(_, date)| format!(" {}", date / 1000))
                    .unwrap_or_default();
                format!("{} {}{date}", link.kind, link.href)
            })
            .collect();
        assert_eq!(found, expected, "{document}");
        page
    }

    #[test]
    fn sitemaps() {
        let document = r#"<?xml version="1.0" encoding="UTF-8"?>
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i" xmlns:xhtml="x">
            <url><loc> http://a/?b=1&amp;c=2 </loc><lastmod>1970-01-02</lastmod>
              <image:image><image:loc>http://a/i.png</image:loc></image:image>
              <xhtml:link rel="alternate" hreflang="de" href="http://a/de"/></url>
            <url><lastmod>when?</lastmod><loc><![CDATA[http://a/3]]></loc></url>
            <url><loc>http://a/3</loc><lastmod>1970-01-03</lastmod>
            <url><loc>http://a/4</loc></urlset>"#;
        check(
            document,
            &Options::default(),
            &[
                "sitemap http://a/?b=1&c=2 86400",
                "alternate http://a/de",
                "sitemap http://a/3 172800",
                "sitemap http://a/4",
            ],
        );
        let assets = Options {
            assets: true,
            ..Options::default()
        };
        let mut page = Page::default();
        read(document, &assets, &mut page);
        assert_eq!(page.links[1].kind, LinkKind::Asset);
        check(
            "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>http://a/1.xml</s:loc><s:lastmod>1970-01-02T00:00Z\
             </s:lastmod></s:sitemap></s:sitemapindex>",
            &Options::default(),
            &["sitemap http://a/1.xml 86400"],
        );
    }

    #[test]
    fn feeds() {
        let page = check(
            "<rss version='2.0'><channel><title>A &amp; B</title><link>http://a/</link><language>pt</language>\
             <atom:link href='http://a/feed' rel='self'/>\
             <item><title>1</title><source url='x'>y</source><link>http://a/1</link><pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate>\
             <enclosure url='http://a/1.mp3'/></item>\
             <item><guid isPermaLink='false'>http://a/no</guid></item>\
             <item><guid>http://a/2</guid><dc:date>1970-01-02</dc:date></item><link>http://a/end</link></channel></rss>",
            &Options::default(),
            &[
                "link http://a/",
                "feed http://a/1 86400",
                "feed http://a/2 86400",
                "link http://a/end",
            ],
        );
        assert_eq!(page.title.as_deref(), Some("A & B"));
        assert_eq!(page.language.as_deref(), Some("pt"));
        let page = check(
            "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b/' xml:lang='en'><title>T</title>\
             <link rel='self' href='x'/><link href='/'/><link rel='next' href='2'/>\
             <entry><title>e</title><link href='a?b&amp;c'/><published>1970-01-01</published>\
             <updated>1970-01-02T00:00:00Z</updated>\
             <source><link href='s'/><updated>2020-01-01</updated></source></entry></feed>",
            &Options::default(),
            &["link /", "link 2", "feed a?b&c 86400"],
        );
        assert_eq!(
            (page.base.as_deref(), page.language.as_deref()),
            (Some("http://b/"), Some("en"))
        );
        check(
            "<rdf:RDF xmlns='http://purl.org/rss/1.0/'><channel><link>http://a/</link></channel>\
             <item rdf:about='x'><link>http://a/1</link><dc:date>1970-01-02</dc:date></item></rdf:RDF>",
            &Options::default(),
            &["link http://a/", "feed http://a/1 86400"],
        );
    }

    #[test]
    fn other_documents() {
        for document in [
            "",
            "x",
            "<",
            "<svg><a href='x'/><loc>y</loc></svg>",
            "<!DOCTYPE html>",
            "<rss",
            "<urlset><url><loc>x",
        ] {
            check(document, &Options::default(), &[]);
        }
    }

    #[test]
    fn bounded() {
        let options = Options {
            max_links: 2,
            ..Options::default()
        };
        let entries = "<item><link>/1</link><pubDate>1970-01-02</pubDate></item>\
            <item><link>/2</link></item><item><link>/3</link><pubDate>1970-01-02</pubDate></item>";
        let document = format!("<rss>{entries}{entries}</rss>");
        let page = check(&document, &options, &["feed /1 86400", "feed /2"]);
        assert_eq!(
            page.remarks,
            [crate::PageRemark::LinksTruncated { left_out: 2 }]
        );
    }

    /// What the protocol allows is read, whatever stands beside it; what is over has an end.
    #[test]
    fn sitemaps_are_read_whole() {
        let check = |entries: usize, options: &Options, expected: [usize; 2], left_out: usize| {
            let mut document = String::from("<urlset>");
            for number in 0..entries {
                let other = format!("<xhtml:link rel='alternate' href='/de/{number}'/>");
                let entry = [
                    "<url>",
                    &other,
                    "<loc>/",
                    &number.to_string(),
                    "</loc></url>",
                ];
                document.push_str(&entry.concat());
            }
            document.push_str("</urlset>");
            let mut page = Page::default();
            read(&document, options, &mut page);
            let count = |kind| page.links.iter().filter(|link| link.kind == kind).count();
            let found = [count(LinkKind::Sitemap), count(LinkKind::Alternate)];
            assert_eq!(found, expected);
            assert_eq!(
                page.remarks,
                [crate::PageRemark::LinksTruncated { left_out }]
            );
        };
        check(50_000, &Options::default(), [50_000, 20_000], 30_000);
        let few = Options {
            max_links: 10,
            ..Options::default()
        };
        check(60_000, &few, [50_000, 10], 119_990 - 50_000);
    }

    /// Entities that a document defines are its own affair.
    #[test]
    fn entity_bombs_are_text() {
        let mut document = String::from("<!DOCTYPE urlset [<!ENTITY a0 'boom'>");
        for level in 1_u32..30 {
            let name = format!("&a{};", level - 1);
            let name = name.repeat(10);
            document.push_str("<!ENTITY a");
            document.push_str(&level.to_string());
            document.push_str(&[" '", &name, "'>"].concat());
        }
        document.push_str("<!ENTITY file SYSTEM 'file:///etc/passwd'>]>");
        document.push_str("<urlset><url><loc>/&a29;&file;</loc></url></urlset>");
        check(&document, &Options::default(), &["sitemap /&a29;&file;"]);
    }
}
