//! Deletes contents from an archive, for `aranha forget`: every response, revisit and metadata record of the named
//! pages becomes a [`tombstone`] of the same length, in place. Request records are not changed.
//!
//! 1. The records are found by their locations in the frontier, and in the indexes. The indexes also have the records
//!    that a crash left without a page in the frontier.
//! 2. Copies are found by their payload digest, in the indexes and in the frontier. If a revisit record of another page
//!    refers to a forgotten response, it loses its body. If the caller wants that, copies become tombstones too.
//! 3. The changes are written to a file of their own, which is durable before a volume is changed ([`redo`]).
//!
//! A volume in an object store is first copied back to `archive/`. Then it is changed and marked, so that the next
//! upload replaces the copy in the store. The duplicate index needs no change, because it uses an entry only if the
//! record has the payload digest, and a tombstone has none.

pub(crate) mod redo;
pub(crate) mod tombstone;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use aranha_units::calendar;

use crate::compress::Compression;
use crate::compress::members::MemberReader;
use crate::files::store_journal::UploadLock;
use crate::files::volumes::{self, Volume};
use crate::forget::redo::Changes;
use crate::forget::tombstone::Tombstone;
use crate::index::entry;
use crate::index::lookup;
use crate::record::digest;
use crate::s3::range::VolumeFile;
use crate::write::archive::lock;
use crate::{ArchiveReader, Location, VolumeError, VolumeId, WarcRecord};

/// What to forget.
pub struct ForgetRequest<'a> {
    /// Locations of records of the pages, according to the frontier.
    pub locations: BTreeSet<Location>,
    /// Whether a stored URL is that of a page to forget.
    pub is_target: &'a dyn Fn(&str) -> bool,
    /// Locations of other pages with the same payload, with their URLs, according to the frontier. The frontier
    /// compares payloads without transfer coding, and the indexes compare them as they are stored.
    pub known_copies: BTreeMap<Location, String>,
    /// Whether other pages with the same payload are forgotten too.
    pub copies: bool,
    /// The reason, for the tombstones.
    pub reason: &'a str,
    /// The time, in unix milliseconds.
    pub time_ms: i64,
    /// Find the records, but change nothing.
    pub dry_run: bool,
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Response and revisit records.
    pub records: u64,
    /// Records that were tombstones already.
    pub already: u64,
    /// Names of the changed volumes.
    pub volumes: BTreeSet<String>,
    /// Names of the changed volumes that were copied back from an object store.
    pub remote: BTreeSet<String>,
    /// Size of the volumes that were copied back, in bytes.
    pub downloaded: u64,
    /// URLs of the forgotten records.
    pub urls: BTreeSet<String>,
    /// URLs of other pages with the same payload.
    pub copies: BTreeSet<String>,
}

/// Forgets pages. No crawl may be writing to the archive.
pub fn forget(dir: &Path, request: &ForgetRequest<'_>) -> Result<Forgotten, VolumeError> {
    let archive = dir.join("archive");
    let _lock = lock(&archive)?;
    let Some(_uploads) = UploadLock::acquire(&dir.join("indexes"))? else {
        return Err(VolumeError::InUse { path: archive });
    };
    complete_changes(dir)?;
    let Plan {
        changes,
        remote,
        found,
    } = plan(dir, request)?;
    if !request.dry_run && !changes.is_empty() {
        for volume in &remote {
            download(&archive, volume)?;
        }
        redo::write(&archive, &changes)?;
        complete_changes(dir)?;
    }
    Ok(found)
}

/// The changes to make.
pub(crate) struct Plan {
    pub(crate) changes: Changes,
    /// The volumes to copy back from object stores.
    remote: Vec<Volume>,
    found: Forgotten,
}

/// Finds the records of the pages, and makes their tombstones.
pub(crate) fn plan(dir: &Path, request: &ForgetRequest<'_>) -> Result<Plan, VolumeError> {
    let mut search = Search {
        reader: ArchiveReader::open(dir)?,
        indexes: dir.join("indexes"),
        volumes: volumes::list(&dir.join("archive"))?,
        digests: BTreeSet::new(),
        found: Forgotten::default(),
        changes: BTreeMap::new(),
        date: calendar::rfc3339_shortest(request.time_ms / 1000 * 1000),
        reason: request.reason,
    };
    let mut targets = request.locations.clone();
    search.for_each_line(|location, line| {
        if (request.is_target)(&line.url) {
            targets.insert(location);
        }
    })?;
    for location in &targets {
        search.add(*location)?;
    }
    let mut copies = request.known_copies.clone();
    copies.retain(|location, _| !targets.contains(location));
    search.for_each_line(|location, line| {
        let label = line.digest.as_ref().map(|digest| format!("sha1:{digest}"));
        let is_copy = label.is_some_and(|label| search.digests.contains(&label));
        if is_copy && !targets.contains(&location) {
            copies.insert(location, line.url.clone());
        }
    })?;
    search.found.copies = copies.values().cloned().collect();
    if request.copies {
        for location in copies.keys() {
            search.add(*location)?;
        }
    }
    let Search {
        mut found,
        changes,
        volumes,
        ..
    } = search;
    found.volumes = changes.keys().cloned().collect();
    let is_remote = |volume: &Volume| volume.is_remote() && changes.contains_key(&volume.name());
    let remote: Vec<Volume> = volumes.into_values().filter(is_remote).collect();
    found.downloaded = remote.iter().map(Volume::size).sum();
    found.remote = remote.iter().map(Volume::name).collect();
    Ok(Plan {
        changes,
        remote,
        found,
    })
}

/// Makes the changes of a `forget` that a crash has interrupted. Returns whether there were any.
pub(crate) fn complete_changes(dir: &Path) -> Result<bool, VolumeError> {
    let archive = dir.join("archive");
    let Some(changes) = redo::read(&archive)? else {
        return Ok(false);
    };
    redo::apply(&archive, &dir.join("indexes"), &changes)?;
    Ok(true)
}

/// Copies a volume from a store to `archive/`.
fn download(archive: &Path, volume: &Volume) -> Result<(), VolumeError> {
    let path = archive.join(volume.name());
    let partial = archive.join(format!("{}.download", volume.name()));
    let fault = |source| VolumeError::from_io(&partial, source);
    let mut source =
        VolumeFile::open(volume).map_err(|source| VolumeError::from_io(&volume.path, source))?;
    let mut file = File::create(&partial).map_err(fault)?;
    io::copy(&mut source, &mut file)
        .and_then(|_| file.sync_all())
        .and_then(|()| std::fs::rename(&partial, &path))
        .and_then(|()| File::open(archive)?.sync_all())
        .map_err(fault)
}

struct Search<'a> {
    reader: ArchiveReader,
    indexes: PathBuf,
    volumes: BTreeMap<VolumeId, Volume>,
    /// Labelled payload digests of the records.
    digests: BTreeSet<String>,
    found: Forgotten,
    changes: Changes,
    date: String,
    reason: &'a str,
}

impl Search<'_> {
    /// Calls `visit` with every line of every index.
    fn for_each_line(
        &self,
        mut visit: impl FnMut(Location, &lookup::CdxjLine),
    ) -> Result<(), VolumeError> {
        for volume in self.volumes.values() {
            let path = self.indexes.join(entry::file_name(&volume.name()));
            let Ok(file) = File::open(&path) else {
                continue;
            };
            let mut source = BufReader::with_capacity(1 << 18, file);
            let mut text = Vec::new();
            while source
                .read_until(b'\n', &mut text)
                .map_err(|source| VolumeError::from_io(&path, source))?
                > 0
            {
                if let Some(line) = lookup::parse(&text) {
                    visit(line.location(volume.id), &line);
                }
                text.clear();
            }
        }
        Ok(())
    }

    /// Adds the tombstones of a response or revisit record and of the metadata record of the same exchange.
    fn add(&mut self, location: Location) -> Result<(), VolumeError> {
        let record = self.reader.read(location)?;
        let Some(volume) = self.volumes.get(&location.volume).cloned() else {
            return Ok(());
        };
        if record.forgotten().is_some() {
            self.found.already += 1;
            return Ok(());
        }
        // Many pages have an empty body. They are not copies of one another.
        let empty = digest::label(&digest::sha1(b""));
        let label = record.header("WARC-Payload-Digest");
        let label = label.filter(|label| *label != empty);
        self.digests.extend(label.map(str::to_owned));
        self.found.urls.extend(record.url().map(str::to_owned));
        self.found.records += 1;
        self.change(
            &volume,
            location.offset,
            u64::from(location.length),
            &record,
        )?;
        // The other records of the exchange follow.
        let file = VolumeFile::open(&volume)
            .map_err(|source| VolumeError::from_io(&volume.path, source))?;
        let next = location.offset + u64::from(location.length);
        let source = lookup::reader_at(file, next)
            .map_err(|source| VolumeError::from_io(&volume.path, source))?;
        let mut members = MemberReader::new(source, next);
        let id = record.header("WARC-Record-ID").map(str::to_owned);
        while let Ok(Some(member)) = members.next() {
            let (offset, length) = (member.offset, member.length);
            let Ok(companion) = WarcRecord::of_member(member) else {
                break;
            };
            if companion.header("WARC-Concurrent-To") != id.as_deref() {
                break;
            }
            if companion.kind() == "metadata" {
                self.change(&volume, offset, length, &companion)?;
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        volume: &Volume,
        offset: u64,
        length: u64,
        record: &WarcRecord,
    ) -> Result<(), VolumeError> {
        let name = volume.name();
        let compression = Compression::ALL
            .into_iter()
            .find(|kind| name.ends_with(kind.extension()))
            .unwrap_or_default();
        let tombstone = Tombstone::of(record, length, compression, &self.date, self.reason);
        let tombstone = tombstone.ok_or_else(|| VolumeError::Damaged {
            path: volume.path.clone(),
            offset,
            fault: "the record is too short for a tombstone".to_owned(),
        })?;
        self.changes
            .entry(name)
            .or_default()
            .insert(offset, tombstone);
        Ok(())
    }
}
