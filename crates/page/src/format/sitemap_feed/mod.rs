//! Reads sitemaps, sitemap indexes and feeds (RSS 2, RSS 1, Atom).
//!
//! Collects the links and their dates (`lastmod`, `updated`, `pubDate`). The dates help to schedule revisits. The root
//! element shows whether a document is a sitemap or a feed; other XML documents are ignored.
//!
//! Sources: the sitemaps.org protocol; Google's `xhtml:link` and image extensions; RFC 4287 (Atom); the RSS 2.0 and
//! RSS 1.0 specifications.
//!
//! **Invariants.** Time is linear in the document. The number of links is bounded by `Options::max_links`. A sitemap is
//! an exception: it may have the 50,000 entries that its protocol allows, and `max_links` alternates and images besides
//! them.

mod date;
pub(super) mod gzip;
mod xml;

use self::xml::{XmlEvent, XmlReader, XmlTag, unescape};
use crate::html_syntax::name::key_of;
use crate::links::collector::LinkCollector;
use crate::links::rel;
use crate::text::builder::{Separator, TextBuilder, into_string};
use crate::{LinkKind, Options, Page, language};

/// Maximum bytes of a title.
const MAX_TITLE_BYTES: usize = 2048;

/// Reads a sitemap or feed into `page`. Other XML documents leave the page unchanged.
pub(crate) fn read(document: &str, options: &Options, page: &mut Page) {
    let mut reader = XmlReader::new(document.as_bytes());
    let root = reader.find_map(|event| match event {
        XmlEvent::Start(tag) => Some(tag),
        _ => None,
    });
    let Some((root, kind)) = root.and_then(|tag| Some((tag, list_kind(&tag)?))) else {
        return;
    };
    let mut list = ListReader {
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
        in_source: false,
        page,
    };
    list.root(&root);
    for event in reader {
        list.event(event);
    }
    list.finish();
}

/// Integer keys of element names (`html_syntax/name`).
mod keys {
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

fn list_kind(root: &XmlTag<'_>) -> Option<ListKind> {
    let is = |name: &[u8]| root.name.eq_ignore_ascii_case(name);
    if is(b"urlset") || is(b"sitemapindex") {
        Some(ListKind::Sitemap)
    } else if is(b"rss") || is(b"rdf") || is(b"feed") {
        Some(ListKind::Feed)
    } else {
        None
    }
}

/// An element whose text is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListField {
    /// The URL of an entry.
    Url,
    Image,
    /// The `guid` of an RSS entry, which may be its URL.
    Guid,
    Date,
    Title,
    Language,
}

/// One entry of a sitemap or feed.
#[derive(Debug, Default)]
struct ListEntry {
    date: Option<i64>,
    /// Indexes of the URLs of this entry in the list of links.
    links: Vec<usize>,
    /// The `guid`, which is used as the URL if the entry has no link.
    guid: Vec<u8>,
}

struct ListReader<'a> {
    kind: ListKind,
    /// Namespace prefix of the root element. Elements with a different prefix belong to an extension.
    prefix: &'a [u8],
    options: &'a Options,
    links: LinkCollector,
    /// The date of each link, at the same index as in `links`.
    dates: Vec<Option<i64>>,
    field: Option<ListField>,
    /// Text of `field` so far.
    value: Vec<u8>,
    entry: Option<ListEntry>,
    /// Whether the reader is inside an Atom `source`, which describes another feed and is ignored.
    in_source: bool,
    page: &'a mut Page,
}

impl ListReader<'_> {
    fn root(&mut self, tag: &XmlTag<'_>) {
        let base = tag.attribute(b"xml:base").map(unescape_value);
        let base = base.filter(|base| !base.is_empty() && self.links.fits(base));
        self.page.base = base.map(into_string);
        self.page.language = tag.attribute(b"xml:lang").and_then(language::parse_tag);
    }

    fn event(&mut self, event: XmlEvent<'_>) {
        match event {
            XmlEvent::Start(tag) => {
                self.field = None;
                if self.kind == ListKind::Sitemap {
                    self.start_in_sitemap(&tag);
                } else {
                    self.start_in_feed(&tag);
                }
                self.value.clear();
            }
            XmlEvent::Text(text) if self.field.is_some() => unescape(text, &mut self.value),
            XmlEvent::Cdata(text) if self.field.is_some() => self.value.extend_from_slice(text),
            XmlEvent::Text(_) | XmlEvent::Cdata(_) => {}
            XmlEvent::End(name) => {
                if let Some(field) = self.field.take() {
                    let value = std::mem::take(&mut self.value);
                    self.end_field(field, &value);
                    self.value = value;
                }
                match (self.kind, key_of(name)) {
                    (ListKind::Sitemap, keys::URL | keys::SITEMAP)
                    | (ListKind::Feed, keys::ITEM | keys::ENTRY) => self.end_entry(),
                    (ListKind::Feed, keys::SOURCE) => self.in_source = false,
                    _ => {}
                }
            }
        }
    }

    fn start_in_sitemap(&mut self, tag: &XmlTag<'_>) {
        let own = tag.prefix == self.prefix;
        match key_of(tag.name) {
            keys::URL | keys::SITEMAP if own => self.begin_entry(),
            keys::LOC if own => self.field = Some(ListField::Url),
            keys::LASTMOD if own => self.field = Some(ListField::Date),
            keys::LOC if self.options.assets => self.field = Some(ListField::Image),
            keys::LINK => {
                let href = tag.attribute(b"href");
                let relation = tag.attribute(b"rel").unwrap_or_default();
                if let Some(href) = href
                    && rel::link_kind(relation, false) == Some(LinkKind::Alternate)
                {
                    self.links
                        .add_secondary(&unescape_value(href), LinkKind::Alternate);
                }
            }
            _ => {}
        }
    }

    fn start_in_feed(&mut self, tag: &XmlTag<'_>) {
        // RSS 2 has no prefix. In RSS 1, the root has the prefix `rdf` and the items have none. Atom elements occur in
        // both.
        let own = tag.prefix.is_empty() || tag.prefix == self.prefix || tag.prefix == b"atom";
        let dublin_core = matches!(tag.prefix, b"dc" | b"dcterms");
        match key_of(tag.name) {
            keys::ITEM | keys::ENTRY if own => self.begin_entry(),
            keys::SOURCE if own => self.in_source = !tag.empty,
            _ if self.in_source => {}
            keys::LINK if own => self.feed_link(tag),
            keys::GUID if own => {
                let is_url = tag
                    .attribute(b"isPermaLink")
                    .is_none_or(|value| value == b"true");
                self.field = is_url.then_some(ListField::Guid);
            }
            keys::PUBDATE | keys::UPDATED | keys::PUBLISHED | keys::MODIFIED | keys::ISSUED
                if own =>
            {
                self.field = Some(ListField::Date);
            }
            keys::DATE | keys::MODIFIED if dublin_core => self.field = Some(ListField::Date),
            keys::TITLE if own && self.entry.is_none() => self.field = Some(ListField::Title),
            keys::LANGUAGE if own => self.field = Some(ListField::Language),
            keys::ENCLOSURE if own && self.options.assets => {
                if let Some(url) = tag.attribute(b"url") {
                    self.links.add(&unescape_value(url), LinkKind::Asset, false);
                }
            }
            _ => {}
        }
    }

    /// Reads a `link` element. Atom has the URL in an attribute, RSS in the text of the element.
    fn feed_link(&mut self, tag: &XmlTag<'_>) {
        let Some(href) = tag.attribute(b"href") else {
            self.field = (!tag.empty).then_some(ListField::Url);
            return;
        };
        let href = unescape_value(href);
        match tag.attribute(b"rel").unwrap_or(b"alternate") {
            b"alternate" => self.add_url(&href),
            b"enclosure" if self.options.assets => {
                self.links.add(&href, LinkKind::Asset, false);
            }
            b"next" | b"prev" | b"previous" | b"first" | b"last" | b"prev-archive"
            | b"next-archive" | b"current" | b"related" | b"via" | b"replies" => {
                self.links.add(&href, LinkKind::Link, false);
            }
            // Links with another relation, such as `self`, `hub` or `edit`, do not lead to pages.
            _ => {}
        }
    }

    /// Begins an entry. An entry that is still open, because its end tag is missing, ends here.
    fn begin_entry(&mut self) {
        self.end_entry();
        self.entry = Some(ListEntry::default());
    }

    /// Ends the current entry and assigns its date to its links.
    fn end_entry(&mut self) {
        self.in_source = false;
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        if entry.links.is_empty() && entry.guid.starts_with(b"http") {
            let index = self.links.add(&entry.guid, LinkKind::Feed, false);
            entry.links.extend(index);
        }
        let Some(date) = entry.date else {
            return;
        };
        for index in entry.links {
            if index >= self.dates.len() {
                self.dates.resize(index + 1, None);
            }
            self.dates[index] = self.dates[index].max(Some(date));
        }
    }

    /// Adds the URL of an entry. In a feed, a URL outside all entries is the URL of the site that the feed describes.
    fn add_url(&mut self, href: &[u8]) {
        if href.trim_ascii().is_empty() {
            return;
        }
        let kind = match (self.kind, &self.entry) {
            (ListKind::Sitemap, _) => LinkKind::Sitemap,
            (ListKind::Feed, Some(_)) => LinkKind::Feed,
            (ListKind::Feed, None) => LinkKind::Link,
        };
        let index = self.links.add(href, kind, false);
        if let Some(entry) = &mut self.entry {
            entry.links.extend(index);
        }
    }

    /// Stores the text of a complete element.
    fn end_field(&mut self, field: ListField, value: &[u8]) {
        match field {
            ListField::Url => self.add_url(value),
            ListField::Image => self.links.add_secondary(value, LinkKind::Asset),
            ListField::Guid => {
                if let Some(entry) = &mut self.entry {
                    entry.guid = value.trim_ascii().to_vec();
                }
            }
            ListField::Date => {
                if let Some(entry) = &mut self.entry {
                    entry.date = entry.date.max(date::parse(value));
                }
            }
            ListField::Title => {
                if self.page.title.is_none() {
                    let mut title = TextBuilder::new(MAX_TITLE_BYTES, 0, false);
                    title.push(value);
                    title.separate(Separator::Line);
                    self.page.title = Some(title.finish().0).filter(|title| !title.is_empty());
                }
            }
            ListField::Language => {
                self.page.language = self
                    .page
                    .language
                    .take()
                    .or_else(|| language::parse_tag(value));
            }
        }
    }

    fn finish(&mut self) {
        self.end_entry();
        self.page.links = self.links.finish(&mut self.page.remarks);
        let dates = self.dates.iter().enumerate();
        self.page.link_dates = dates
            .filter_map(|(index, date)| Some((index, (*date)?)))
            .collect();
    }
}

fn unescape_value(value: &[u8]) -> Vec<u8> {
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
            .map(|(index, link)| {
                let date = page.link_dates.iter().find(|(dated, _)| *dated == index);
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
    fn sitemap_entries_with_dates() {
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
    fn feed_entries_with_dates() {
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
    fn other_documents_have_no_links() {
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
    fn feed_links_are_limited() {
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
            [crate::PageRemark::LinksTruncated { dropped: 2 }]
        );
    }

    /// The first 50,000 entries of a sitemap are read, however many secondary links it has. Further entries are
    /// dropped.
    #[test]
    fn sitemap_entries_and_secondary_links_are_limited() {
        let check = |entries: usize, options: &Options, expected: [usize; 2], dropped: usize| {
            let mut document = String::from("<urlset>");
            for number in 0..entries {
                let alternate = format!("<xhtml:link rel='alternate' href='/de/{number}'/>");
                let entry = [
                    "<url>",
                    &alternate,
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
                [crate::PageRemark::LinksTruncated { dropped }]
            );
        };
        check(50_000, &Options::default(), [50_000, 20_000], 30_000);
        let few = Options {
            max_links: 10,
            ..Options::default()
        };
        check(60_000, &few, [50_000, 10], 119_990 - 50_000);
    }

    /// Entities that the document type defines are not expanded.
    #[test]
    fn entity_bombs_stay_as_written() {
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
