//! Reads one page of a collection: its fetch records, and its newest stored response at a point in time.

use aranha_frontier::{Explanation, PageRecord};
use aranha_page::{Input, Link, LinkKind, Page};
use aranha_url::{Base, CanonUrl};
use aranha_volume::{ArchiveReader, WarcRecord};

use crate::collection_reader::CollectionReader;
use crate::documents::{DocumentReading, Documents};
use crate::error::CommandError;
use crate::own_volumes::OwnVolumes;
use crate::page_history::{self, ResponseKind};
use crate::point_in_time::PointInTime;
use crate::shared_args::VersionArgs;
use aranha_units::calendar;

/// Maximum number of bytes of a decoded body. The rest is cut off. The default limit of a crawl (`fetch.max_decoded`)
/// is lower.
pub(crate) const MAX_DECODED_BODY: usize = 1 << 30;

/// Opens the collection and reads the version of the page that the arguments name.
pub(crate) fn open(
    arguments: &VersionArgs,
) -> Result<(CollectionReader, PageRecord, WarcRecord), CommandError> {
    let collection = CollectionReader::open(&arguments.page.collection)?;
    let (record, stored) = collection.page(&arguments.page.url, arguments.at.time)?;
    Ok((collection, record, stored))
}

impl CollectionReader {
    /// All fetch records of a page, from the oldest to the newest. If the page was never fetched, returns an error.
    pub(crate) fn records(&self, url: &str) -> Result<(CanonUrl, Vec<PageRecord>), CommandError> {
        let (url, Explanation { records, .. }) = self.stored_url(url)?;
        if records.is_empty() {
            return Err(
                CommandError::failed(format!("{url} has not been fetched")).hint(self.why(&url))
            );
        }
        Ok((url, records))
    }

    /// The newest stored response of a page, with its fetch record. With `at`, later responses are ignored.
    ///
    /// An error response is returned only if no other response was stored. If the newest response is a 304, the earlier
    /// response with the content is returned.
    fn page(
        &self,
        url: &str,
        at: Option<PointInTime>,
    ) -> Result<(PageRecord, WarcRecord), CommandError> {
        let (url, records) = self.records(url)?;
        let stored = |record: &PageRecord| record.location.is_some();
        let Some(first) = records.iter().find(|record| stored(record)) else {
            let sentence = format!("no response of {url} was stored");
            return Err(CommandError::failed(sentence).hint(self.why(&url)));
        };
        let in_time = |record: &PageRecord| at.is_none_or(|at| record.time <= at.ms());
        let newest = |wanted: &dyn Fn(&PageRecord) -> bool| {
            let fits = |record: &PageRecord| stored(record) && in_time(record) && wanted(record);
            records.iter().rposition(fits)
        };
        let answered = |record: &PageRecord| page_history::kind(record) != ResponseKind::Failed;
        match newest(&answered).or_else(|| newest(&|_| true)) {
            Some(index) => self.stored(&url, &records, index),
            None => Err(self.no_version(&url, at, first)),
        }
    }

    /// The stored response that holds the content of `records[index]`. That record must have a location.
    pub(crate) fn stored(
        &self,
        url: &CanonUrl,
        records: &[PageRecord],
        index: usize,
    ) -> Result<(PageRecord, WarcRecord), CommandError> {
        let damaged = |fault: String| {
            CommandError::failed(fault).hint(format!(
                "`aranha check -c {}` verifies the whole archive and lists every fault",
                self.folder.display()
            ))
        };
        let own = OwnVolumes::of(&self.folder, &self.view)?;
        let sources = page_history::content_sources(records, index);
        let mut places = sources
            .iter()
            .filter_map(|record| own.elsewhere(record.location?.volume));
        let elsewhere: Option<String> = places.next();
        let reader = match (ArchiveReader::open(&self.folder), &elsewhere) {
            (Err(_), Some(place)) => return Err(stored_elsewhere(url, place)),
            (reader, _) => reader.map_err(|error| damaged(error.to_string()))?,
        };
        let mut fault = None;
        for record in page_history::content_sources(records, index) {
            let Some(place) = record.location else {
                continue;
            };
            match reader.read_resolved(place) {
                Ok(stored) if stored.is_revisit() && stored.original().is_none() => {}
                Ok(stored) if stored.forgotten().is_some() => {
                    return Err(self.content_forgotten(url, &stored));
                }
                Ok(stored) => return Ok((record.clone(), stored)),
                Err(error) => fault = fault.or(Some(error.to_string())),
            }
        }
        if let Some(place) = elsewhere {
            return Err(stored_elsewhere(url, &place));
        }
        Err(damaged(fault.unwrap_or_else(|| {
            format!(
                "the archive does not hold the content of {url} at {} UTC",
                calendar::date_time(records[index].time)
            )
        })))
    }

    /// The error for content that `aranha forget` has deleted.
    fn content_forgotten(&self, url: &CanonUrl, stored: &WarcRecord) -> CommandError {
        let (time, reason) = match stored.forgotten().unwrap_or_default().split_once(' ') {
            Some((time, reason)) => (time, format!(": {reason}")),
            None => (stored.forgotten().unwrap_or_default(), String::new()),
        };
        CommandError::failed(format!(
            "the content of {url} was deleted from the archive at {time}{reason}"
        ))
        .hint(format!(
            "`aranha history {url} -c {}` lists what is known about its versions",
            self.folder.display()
        ))
    }

    /// The error for a point in time before the first version of a page.
    pub(crate) fn no_version(
        &self,
        url: &CanonUrl,
        at: Option<PointInTime>,
        first: &PageRecord,
    ) -> CommandError {
        let at = at.map_or_else(
            || "at that time".to_owned(),
            |at| format!("at {} UTC", calendar::date_time(at.ms())),
        );
        CommandError::failed(format!(
            "there is no version of {url} {at}; the first version is from {} UTC",
            calendar::date_time(first.time)
        ))
        .hint(format!(
            "`aranha history {url} -c {}` lists all versions",
            self.folder.display()
        ))
    }

    fn why(&self, url: &CanonUrl) -> String {
        format!(
            "`aranha why {url} -c {}` shows what is known about the page",
            self.folder.display()
        )
    }
}

/// The error for a page whose stored response is in the folder of another node.
fn stored_elsewhere(url: &CanonUrl, place: &str) -> CommandError {
    CommandError::failed(format!("{url} is {place}"))
        .hint("run the command on that machine, with -c and that folder")
}

/// Parses a stored response. Documents such as PDF give a page without text.
pub(crate) fn parse(stored: &WarcRecord, options: &aranha_page::Options) -> Page {
    parse_with(stored, options, |input| aranha_page::read(input, options))
}

/// Parses a stored response. Documents such as PDF are read in a worker process. The second value is about the document.
pub(crate) fn parse_document(
    stored: &WarcRecord,
    options: &aranha_page::Options,
) -> (Page, Option<DocumentReading>) {
    let documents = Documents::new(1, options.clone());
    let mut reading = None;
    let page = parse_with(stored, options, |input| {
        let (page, document) = documents.read(input, None);
        reading = document;
        page
    });
    (page, reading)
}

fn parse_with(
    stored: &WarcRecord,
    options: &aranha_page::Options,
    read: impl FnOnce(&Input<'_>) -> Page,
) -> Page {
    let body = stored.body_decoded(MAX_DECODED_BODY);
    let content_type = stored.http_header("content-type");
    let content_language = stored.http_header("content-language");
    let input = Input {
        url: stored.url().unwrap_or_default(),
        content_type: content_type.as_deref(),
        body: &body,
        content_language: content_language.as_deref(),
    };
    let mut page = read(&input);
    for header in stored.http_headers("link") {
        page.add_link_header(&header, options);
    }
    page
}

/// The base URLs of a page's links.
pub(crate) struct LinkBases {
    /// The URL of the page, or the URL in its `base` element.
    own: Base,
    /// For a script, the page or script that loads it.
    loader: Option<Base>,
}

impl LinkBases {
    /// `record` is the fetch record of the page.
    pub(crate) fn new(
        collection: &CollectionReader,
        url: &CanonUrl,
        page: &Page,
        record: &PageRecord,
    ) -> Self {
        let mut own = Base::of(url);
        if page.media_type.is_html() {
            own = own.with_charset(page.charset);
        }
        if let Some(href) = &page.base {
            own = own.with_href(href);
        }
        let loader = page.media_type.is_script().then_some(&record.via);
        let loader = loader.and_then(|via| collection.literal.canon(via).ok());
        Self {
            own,
            loader: loader.as_ref().map(Base::of),
        }
    }

    pub(crate) fn of(&self, link: &Link) -> &Base {
        let loader = self.loader.as_ref();
        let is_relative_to_loader = link.kind == LinkKind::ScriptFile;
        loader
            .filter(|_| is_relative_to_loader)
            .unwrap_or(&self.own)
    }
}
