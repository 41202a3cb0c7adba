//! A fetch record as JSON, for `pages`, `why` and `history`. docs/json.md documents the fields.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aranha_frontier::{Flags, Location, PageRecord};
use aranha_units::calendar;
use aranha_volume::{ArchiveReader, VolumeId};
use data_encoding::BASE32;
use serde_json::{Value, json};

/// Converts the fetch records of one collection to JSON.
pub(crate) struct FetchJson {
    folder: PathBuf,
    /// File names by volume. `archive/` is listed whenever a volume is not in this map. This happens for the first
    /// record, and after a running crawl has begun a new volume.
    names: RefCell<BTreeMap<VolumeId, Option<String>>>,
}

impl FetchJson {
    /// A converter for the collection in this folder.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            names: RefCell::default(),
        }
    }

    /// The JSON object of one fetch of the page `url`.
    pub(crate) fn record(&self, url: &str, record: &PageRecord) -> Value {
        json!({
            "url": url,
            "status": record.outcome.status(),
            "outcome": record.outcome.to_string(),
            "time": calendar::rfc3339(record.time),
            "milliseconds": record.duration_ms,
            "type": record.media_type,
            "size": record.size,
            "digest": record.digest.map(|digest| format!("sha1:{}", BASE32.encode(&digest))),
            "text_digest": format!("{:016x}", record.text_digest),
            "language_found": record.language.as_ref().map(|language| &language.code),
            "language_confidence": record.language.as_ref().map(|language| language.confidence),
            "depth": record.depth,
            "via": record.via,
            "hop": record.hop.letter(),
            "redirect": record.redirect,
            "duplicate": record.revisit,
            "truncated": record.flags.has(Flags::TRUNCATED),
            "noindex": record.flags.has(Flags::NOINDEX),
            "kept": !record.flags.has(Flags::NOT_KEPT),
            "nofollow": record.flags.has(Flags::NOFOLLOW),
            "tries": record.tries,
            "next": record.next.map(calendar::rfc3339),
            "archive": record.location.map(|location| self.location(location)),
        })
    }

    fn location(&self, location: Location) -> Value {
        json!({
            "volume": self.file_name(location.volume),
            "volume_id": location.volume.to_string(),
            "offset": location.offset,
            "length": location.length,
        })
    }

    /// The name of the volume, or the name that it will have when it is closed. `None` if the volume is not in
    /// `archive/`.
    fn file_name(&self, id: VolumeId) -> Option<String> {
        if let Some(name) = self.names.borrow().get(&id) {
            return name.clone();
        }
        let volumes = ArchiveReader::open(&self.folder).and_then(|reader| reader.volumes());
        let mut names = self.names.borrow_mut();
        for volume in volumes.unwrap_or_default() {
            names.insert(volume.id, Some(volume.name()));
        }
        names.entry(id).or_default().clone()
    }
}
