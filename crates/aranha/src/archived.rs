//! A page of a collection, found by its URL: what the frontier recorded and what the archive holds.
//!
//! Works while a crawl is running: both are opened for reading only.

use std::path::{Path, PathBuf};

use aranha_engine::config::Layers;
use aranha_engine::{Collection as Folder, Config};
use aranha_frontier::{PageRecord, View};
use aranha_url::{CanonUrl, Canonicaliser, Scope};
use aranha_volume::{Location, Reader, Record};

use crate::collection::Collection;
use crate::complaint::Complaint;
use crate::session;

/// Decoded bodies are read up to this; a crawl's own limit is lower by default.
pub(crate) const LARGEST: usize = 1 << 30;

/// A collection opened for reading.
pub(crate) struct Archived {
    pub(crate) view: View,
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    blacklist: PathBuf,
}

impl Archived {
    /// Opens what a crawl left, or is writing.
    pub(crate) fn open(collection: &Collection) -> Result<Self, Complaint> {
        let view = View::open(&collection.folder).map_err(|error| session::refused(&error))?;
        let files = collection.configuration().into_iter().collect();
        let (config, _) = Config::load(&Layers {
            files,
            ..Layers::default()
        })?;
        let canon = Canonicaliser::new(config.url.clone());
        Ok(Self {
            view,
            config,
            canon,
            blacklist: Folder::at(&collection.folder).blacklist(),
        })
    }

    /// Adds the collection's own black list to a scope.
    pub(crate) fn shut_out(&self, scope: &mut Scope) -> Result<(), Complaint> {
        let Ok(lines) = std::fs::read_to_string(&self.blacklist) else {
            return Ok(());
        };
        scope.shut_out(&lines).map_err(|error| {
            Complaint::failed(format!("{}: {error}", self.blacklist.display()))
                .hint("put the line right, or take it out")
        })
    }

    /// The URL as the frontier knows it.
    pub(crate) fn url(&self, text: &str) -> Result<CanonUrl, Complaint> {
        let mut urls = session::seeds(&self.canon, [("argument".to_owned(), text.to_owned())])?;
        Ok(urls.remove(0))
    }

    /// The newest stored answer of a page, with the record that tells where it is.
    pub(crate) fn page(
        &self,
        folder: &Path,
        text: &str,
    ) -> Result<(PageRecord, Record), Complaint> {
        let url = self.url(text)?;
        let why = format!(
            "`aranha why {url} -c {}` tells what is known about it",
            folder.display()
        );
        let mut records = self
            .view
            .explain(&url)
            .map_err(|error| session::refused(&error))?
            .records;
        if records.is_empty() {
            return Err(Complaint::failed(format!("{url} has not been fetched")).hint(why));
        }
        records.retain(|record| record.location.is_some());
        let Some(record) = records.pop() else {
            return Err(
                Complaint::failed(format!("{url} brought no answer that could be stored"))
                    .hint(why),
            );
        };
        let place = record
            .location
            .expect("only records with a location were kept");
        let location = Location {
            volume: place.volume,
            offset: place.offset,
            length: place.length,
        };
        let stored = Reader::open(folder)
            .and_then(|reader| reader.read_resolved(location))
            .map_err(|error| {
                Complaint::failed(error.to_string()).hint(format!(
                    "`aranha check -c {}` reads the whole archive and lists what is wrong",
                    folder.display()
                ))
            })?;
        Ok((record, stored))
    }
}

/// `2026-11-15 20:42:23`, in UTC.
pub(crate) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .unwrap_or_default()
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// RFC 3339, for programs.
pub(crate) fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}
