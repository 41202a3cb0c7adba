//! Revisit records (WARC 1.1, 6.7): records of responses whose bodies are not stored again.
//!
//! There are two cases:
//! - **Not modified**: the server answered 304 to a conditional request. [`Revisit::not_modified`] finds the stored
//!   response of the earlier version. The profile is `server-not-modified`.
//! - **Duplicate payload**: the same payload is stored already, under any URL. The duplicate index
//!   ([`crate::duplicates`]) finds the original, and [`Revisit::same_payload`] makes the record. The profile is
//!   `identical-payload-digest`.
//!
//! In both cases the block is only the HTTP head ([`Revisit::block`]). `WARC-Payload-Digest` is the digest of the
//! original, because replay tools use it to find the original. [`Revisit::put_fields`] writes the fields that identify
//! the original.

use std::sync::{Arc, OnceLock};

use aranha_units::calendar;

use crate::duplicates::segment::PayloadLocation;
use crate::files::volumes::VolumeFolder;
use crate::index::entry::PayloadForm;
use crate::record::digest::{self, Digest};
use crate::record::header::{WarcDate, put_field};
use crate::record::id::RecordId;
use crate::record::parsed;
use crate::{EarlierVersion, Exchange, Location, VolumeId, compress};

const SERVER_NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
const IDENTICAL_PAYLOAD_DIGEST: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// Extension field with the volume number and the offset of the original, separated by a colon. With it,
/// [`crate::ArchiveReader`] finds the original without a search.
pub(crate) const REFERS_TO_LOCATION: &str = "Aranha-Refers-To-Location";

/// The part of a revisit record that a response record does not have: its profile and its original.
#[derive(Debug)]
pub(crate) struct Revisit {
    /// `WARC-Profile`.
    profile: &'static str,
    pub(crate) original: Arc<Original>,
}

impl Revisit {
    /// The revisit record of a 304 response, which refers to the earlier version. If the record of that version cannot
    /// be read, because another node has it, the revisit record states only the URL, date, digest and location of the
    /// version. Other tools find that version by URL and date.
    pub(crate) fn not_modified(
        volumes: &VolumeFolder,
        earlier: &EarlierVersion,
        url: &Arc<str>,
    ) -> Self {
        let found = earlier
            .location
            .and_then(|location| Original::of_version(volumes, location));
        let unread = || Original {
            name: OriginalName::Read {
                id: String::new(),
                date: calendar::rfc3339(earlier.time_ms),
            },
            url: url.clone(),
            digest: earlier.digest,
            form: PayloadForm::Plain,
            position: earlier.location.map_or_else(OnceLock::new, |location| {
                OnceLock::from((location.volume, location.offset))
            }),
        };
        Self {
            profile: SERVER_NOT_MODIFIED,
            original: Arc::new(found.unwrap_or_else(unread)),
        }
    }

    /// The revisit record of a payload that is stored already. It refers to the record with the payload.
    pub(crate) fn same_payload(original: Arc<Original>) -> Self {
        Self {
            profile: IDENTICAL_PAYLOAD_DIGEST,
            original,
        }
    }

    /// The block of the record: the HTTP head, without the body.
    pub(crate) fn block(exchange: &Exchange) -> &[u8] {
        exchange.split().0
    }

    /// Appends the profile and the fields that identify the original.
    pub(crate) fn put_fields(&self, out: &mut Vec<u8>) {
        put_field(out, "WARC-Profile", self.profile);
        let original = &*self.original;
        match &original.name {
            OriginalName::Written { id, .. } => put_field(out, "WARC-Refers-To", id),
            OriginalName::Read { id, .. } if id.is_empty() => {}
            OriginalName::Read { id, .. } => put_field(out, "WARC-Refers-To", id.as_str()),
        }
        put_field(out, "WARC-Refers-To-Target-URI", &*original.url);
        match &original.name {
            OriginalName::Written { time_ms, .. } => {
                put_field(out, "WARC-Refers-To-Date", &WarcDate(*time_ms));
            }
            OriginalName::Read { date, .. } => {
                put_field(out, "WARC-Refers-To-Date", date.as_str());
            }
        }
        // The position is unknown until the original is written. Until then the field is left out.
        if let Some((volume, offset)) = original.position.get() {
            let location = format!("{}:{offset}", u64::from(*volume));
            put_field(out, REFERS_TO_LOCATION, location.as_str());
        }
    }
}

/// A stored response that a revisit record may refer to.
#[derive(Debug)]
pub(crate) struct Original {
    pub(crate) name: OriginalName,
    pub(crate) url: Arc<str>,
    /// `WARC-Payload-Digest`.
    pub(crate) digest: Digest,
    pub(crate) form: PayloadForm,
    /// Volume and offset. Set when the record is written.
    pub(crate) position: OnceLock<(VolumeId, u64)>,
}

/// Identifier and date of an original. Many originals are in memory, so the identifiers and dates that this process
/// generated are kept as numbers, which take less memory than text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OriginalName {
    /// Identifier and date of a record that this process writes.
    Written { id: RecordId, time_ms: i64 },
    /// Identifier and date of a record that was read from a volume. The identifier is empty if it is unknown.
    Read { id: String, date: String },
}

impl Original {
    /// The original of a duplicate, in a closed volume. `None` if there is no response with this payload at the
    /// location, for example because the volume was moved away.
    pub(crate) fn of_payload(
        volumes: &VolumeFolder,
        location: PayloadLocation,
        key: &Digest,
    ) -> Option<Self> {
        let fields = header_at(volumes, location.volume, location.offset)?;
        let get = |name: &str| parsed::field(&fields, name);
        let stored = digest::parse(get("WARC-Payload-Digest")?)?;
        let is_match = get("WARC-Type")? == "response"
            && (location.form == PayloadForm::Chunked || stored == *key);
        is_match.then_some(Self {
            name: OriginalName::Read {
                id: get("WARC-Record-ID")?.to_owned(),
                date: get("WARC-Date")?.to_owned(),
            },
            url: get("WARC-Target-URI")?.into(),
            digest: stored,
            form: location.form,
            position: OnceLock::from((location.volume, location.offset)),
        })
    }

    /// The response with the body of an earlier version. If that version is itself a revisit record, the function
    /// returns the response to which it refers. `None` if the record of the version cannot be read.
    fn of_version(volumes: &VolumeFolder, location: Location) -> Option<Self> {
        let fields = header_at(volumes, location.volume, location.offset)?;
        let get = |name: &str| parsed::field(&fields, name);
        let named = |id: Option<&str>, url, date, position| {
            let original = Self {
                name: OriginalName::Read {
                    id: id?.to_owned(),
                    date: get(date)?.to_owned(),
                },
                url: get(url)?.into(),
                digest: digest::parse(get("WARC-Payload-Digest")?)?,
                form: PayloadForm::Plain,
                position: OnceLock::new(),
            };
            if let Some(position) = position {
                let _ = original.position.set(position);
            }
            Some(original)
        };
        if get("WARC-Type")? == "revisit" {
            let position = get(REFERS_TO_LOCATION).and_then(parse_location);
            // The identifier is unknown if another node has the original.
            return named(
                Some(get("WARC-Refers-To").unwrap_or_default()),
                "WARC-Refers-To-Target-URI",
                "WARC-Refers-To-Date",
                position,
            );
        }
        let position = Some((location.volume, location.offset));
        named(
            get("WARC-Record-ID"),
            "WARC-Target-URI",
            "WARC-Date",
            position,
        )
    }
}

/// Volume and offset in a [`REFERS_TO_LOCATION`] field.
pub(crate) fn parse_location(text: &str) -> Option<(VolumeId, u64)> {
    let (volume, offset) = text.split_once(':')?;
    let volume: u64 = volume.parse().ok()?;
    Some((VolumeId::from(volume), offset.parse().ok()?))
}

/// The header fields of the record at this offset. Reads and decompresses only the beginning of the record.
fn header_at(volumes: &VolumeFolder, id: VolumeId, offset: u64) -> Option<Vec<(String, String)>> {
    const MAX_COMPRESSED: usize = 8 << 10;
    const MAX_HEADER: u64 = 16 << 10;
    let (file, _) = volumes.open(id).ok()?;
    if file.is_away() {
        return None; // the crawl does not wait for a store that is away
    }
    let mut compressed = vec![0; MAX_COMPRESSED];
    let length = file.read_at(&mut compressed, offset).ok()?;
    let plain = compress::decompress_prefix(&compressed[..length], MAX_HEADER);
    let (fields, _) = parsed::parse_fields(&plain).ok()?;
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(revisit: &Revisit) -> String {
        let mut out = Vec::new();
        revisit.put_fields(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_304_without_a_readable_original_refers_by_url_and_date() {
        let folder = tempfile::tempdir().unwrap();
        let earlier = EarlierVersion {
            time_ms: 1_794_764_880_123,
            digest: [7; 20],
            location: None,
        };
        let volumes = VolumeFolder::new(folder.path());
        let revisit = Revisit::not_modified(&volumes, &earlier, &"http://a/".into());
        assert_eq!(revisit.original.digest, [7; 20]);
        assert_eq!(
            fields(&revisit),
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n\
             WARC-Refers-To-Target-URI: http://a/\r\n\
             WARC-Refers-To-Date: 2026-11-15T17:48:00.123Z\r\n"
        );
    }

    #[test]
    fn a_duplicate_payload_refers_to_identifier_url_date_and_location() {
        let revisit = Revisit::same_payload(Arc::new(Original {
            name: OriginalName::Read {
                id: "<urn:uuid:1>".to_owned(),
                date: "2026-11-15T17:48:00.123Z".to_owned(),
            },
            url: "http://a/".into(),
            digest: [7; 20],
            form: PayloadForm::Plain,
            position: OnceLock::from((VolumeId::new(0, 2), 77)),
        }));
        assert_eq!(
            fields(&revisit),
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n\
             WARC-Refers-To: <urn:uuid:1>\r\n\
             WARC-Refers-To-Target-URI: http://a/\r\n\
             WARC-Refers-To-Date: 2026-11-15T17:48:00.123Z\r\n\
             Aranha-Refers-To-Location: 2:77\r\n"
        );
        assert_eq!(parse_location("2:77"), Some((VolumeId::new(0, 2), 77)));
    }
}
