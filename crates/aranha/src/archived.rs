//! A page of a collection, found by its URL: what the frontier recorded and what the archive holds, now or at a time.
//!
//! Works while a crawl is running: both are opened for reading only.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aranha_engine::config::Layers;
use aranha_engine::{Collection as Folder, Config};
use aranha_frontier::{Blocked, BlockedBy, PageRecord, View};
use aranha_units::calendar;
use aranha_url::{CanonUrl, Canonicaliser, Scope};
use aranha_volume::{ArchiveReader, WarcRecord};

use crate::collection::Collection;
use crate::complaint::Complaint;
use crate::history::Kind;
use crate::when::When;
use crate::{history, session, settings};

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
        let (config, _) = settings::load(&Layers {
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

    /// The scope of the crawl as it is now: configuration, black lists, seeds.
    pub(crate) fn scope(&self) -> Result<Scope, Complaint> {
        let mut scope = self.config.scope()?;
        self.read_blacklist(&mut scope)?;
        let seeds = self.view.seeds();
        for seed in seeds.map_err(|error| session::refused(&error))? {
            if let Ok(seed) = self.canon.canon(&seed) {
                scope.add_seed(&seed);
            }
        }
        Ok(scope)
    }

    /// Adds the collection's own black list to a scope.
    fn read_blacklist(&self, scope: &mut Scope) -> Result<(), Complaint> {
        let lines = match std::fs::read_to_string(&self.blacklist) {
            Ok(lines) => lines,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let sentence = format!("{}: {error}", self.blacklist.display());
                return Err(Complaint::failed(sentence)
                    .hint("the black list must be a text file in UTF-8 that you may read"));
            }
        };
        scope.block(&lines).map_err(|error| {
            Complaint::failed(format!("{}: {error}", self.blacklist.display()))
                .hint("put the line right, or take it out")
        })
    }

    /// The URL as the frontier knows it.
    pub(crate) fn url(&self, text: &str) -> Result<CanonUrl, Complaint> {
        let mut urls = session::seeds(&self.canon, [("argument".to_owned(), text.to_owned())])?;
        Ok(urls.remove(0))
    }

    /// Every fetch of a page, oldest first; never none.
    pub(crate) fn records(
        &self,
        folder: &Path,
        text: &str,
    ) -> Result<(CanonUrl, Vec<PageRecord>), Complaint> {
        let url = self.url(text)?;
        let known = self
            .view
            .explain(&url)
            .map_err(|error| session::refused(&error))?;
        if known.records.is_empty() {
            return Err(
                Complaint::failed(format!("{url} has not been fetched")).hint(why(&url, folder))
            );
        }
        Ok((url, known.records))
    }

    /// The newest stored answer of a page, at a time or of all, with the record that tells where it is. An error counts
    /// only where there is nothing else; where the server only said that nothing had changed, it is the answer that had
    /// brought the content.
    pub(crate) fn page(
        &self,
        folder: &Path,
        text: &str,
        at: Option<When>,
    ) -> Result<(PageRecord, WarcRecord), Complaint> {
        let (url, records) = self.records(folder, text)?;
        let stored = |record: &PageRecord| record.location.is_some();
        let Some(first) = records.iter().find(|record| stored(record)) else {
            return Err(
                Complaint::failed(format!("{url} brought no answer that could be stored"))
                    .hint(why(&url, folder)),
            );
        };
        let known = |record: &PageRecord| at.is_none_or(|at| record.time <= at.ms());
        let told = |record: &PageRecord| history::kind(record) != Kind::Failed;
        let newest = |wanted: &dyn Fn(&PageRecord) -> bool| {
            let fits = |record: &PageRecord| stored(record) && known(record) && wanted(record);
            records.iter().rposition(fits)
        };
        // The page behind an error is still what it was.
        let current = newest(&told).or_else(|| newest(&|_| true));
        match (current, at) {
            (Some(index), _) => bytes(folder, &url, &records, index),
            (None, at) => Err(too_early(&url, folder, at, first)),
        }
    }
}

/// The answer that holds the bytes of `records[index]`, which has a location.
pub(crate) fn bytes(
    folder: &Path,
    url: &CanonUrl,
    records: &[PageRecord],
    index: usize,
) -> Result<(PageRecord, WarcRecord), Complaint> {
    let damaged = |fault: String| {
        Complaint::failed(fault).hint(format!(
            "`aranha check -c {}` reads the whole archive and lists what is wrong",
            folder.display()
        ))
    };
    let reader = ArchiveReader::open(folder).map_err(|error| damaged(error.to_string()))?;
    let mut fault = None;
    for record in history::places(records, index) {
        let Some(place) = record.location else {
            continue;
        };
        match reader.read_resolved(place) {
            Ok(stored) if stored.is_revisit() && stored.original().is_none() => {}
            Ok(stored) => return Ok((record.clone(), stored)),
            Err(error) => fault = fault.or(Some(error.to_string())),
        }
    }
    Err(damaged(fault.unwrap_or_else(|| {
        format!(
            "the content of {url} of {} UTC is not in the archive",
            calendar::date_time(records[index].time)
        )
    })))
}

/// The name by which `aranha unblock` opens a site that is set aside: the entry of the black list, or the site's own.
pub(crate) fn unblock_name<'a>(site: &'a str, blocked: &'a Blocked) -> &'a str {
    match blocked.by {
        BlockedBy::User => &blocked.reason,
        BlockedBy::Trap => site,
    }
}

fn why(url: &CanonUrl, folder: &Path) -> String {
    format!(
        "`aranha why {url} -c {}` tells what is known about it",
        folder.display()
    )
}

/// There is no version yet at the time asked for.
pub(crate) fn too_early(
    url: &CanonUrl,
    folder: &Path,
    at: Option<When>,
    first: &PageRecord,
) -> Complaint {
    let at = at.map_or_else(
        || "then".to_owned(),
        |at| format!("at {} UTC", calendar::date_time(at.ms())),
    );
    Complaint::failed(format!(
        "there was no version of {url} {at}: the first is of {} UTC",
        calendar::date_time(first.time)
    ))
    .hint(format!(
        "`aranha history {url} -c {}` lists them all",
        folder.display()
    ))
}
