//! `archive/forget.jsonl`: the changes of a running `aranha forget`. The file is complete and durable before the first
//! byte of a volume is changed, and is removed when all changes are durable. After a crash in between, all changes are
//! made again. Making a change twice gives the same bytes.
//!
//! ```text
//! {"volume":"NAME","offset":N,"length":N,"compression":"gzip","record":"BASE64"}      one for each record
//! {"complete":3}                                                                      number of lines before
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::compress::Compression;
use crate::files::disk::{LocalDisk, write_atomically};
use crate::files::store_journal::{JournalLine, StoreJournal};
use crate::files::volumes::{self, Volume};
use crate::forget::tombstone::Tombstone;
use crate::index::entry::{self, IndexEntry};
use crate::index::lookup;
use crate::{VolumeError, WarcRecord};

const FILE_NAME: &str = "forget.jsonl";

/// The changes by name of the volume, each at its offset.
pub(crate) type Changes = BTreeMap<String, BTreeMap<u64, Tombstone>>;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Change {
        volume: String,
        offset: u64,
        length: u64,
        compression: Compression,
        record: String,
    },
    End {
        complete: u64,
    },
}

/// Makes the changes durable in the file.
pub(crate) fn write(archive: &Path, changes: &Changes) -> Result<(), VolumeError> {
    let path = archive.join(FILE_NAME);
    write_atomically(&LocalDisk, &path, |output| {
        let mut complete = 0;
        let put = |line: &Line| {
            let mut text = serde_json::to_vec(line).expect("a line is valid JSON");
            text.push(b'\n');
            output.append(&text)
        };
        for (volume, tombstones) in changes {
            for (offset, tombstone) in tombstones {
                put(&Line::Change {
                    volume: volume.clone(),
                    offset: *offset,
                    length: tombstone.length,
                    compression: tombstone.compression,
                    record: BASE64.encode(&tombstone.record),
                })?;
                complete += 1;
            }
        }
        put(&Line::End { complete })
    })
}

/// The changes in the file; `None` if there is no file.
pub(crate) fn read(archive: &Path) -> Result<Option<Changes>, VolumeError> {
    let path = archive.join(FILE_NAME);
    let fault = |source| VolumeError::from_io(&path, source);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(fault(source)),
    };
    let (mut changes, mut count, mut expected) = (Changes::new(), 0, None);
    for line in text.lines() {
        match serde_json::from_str(line).map_err(|error| fault(error.into()))? {
            Line::Change {
                volume,
                offset,
                length,
                compression,
                record,
            } => {
                let record = BASE64
                    .decode(record.as_bytes())
                    .map_err(|error| fault(io::Error::other(error)))?;
                let tombstone = Tombstone {
                    record,
                    length,
                    compression,
                };
                changes.entry(volume).or_default().insert(offset, tombstone);
                count += 1;
            }
            Line::End { complete } => expected = Some(complete),
        }
    }
    if expected != Some(count) {
        return Err(fault(io::Error::other("the file is not complete")));
    }
    Ok(Some(changes))
}

/// Makes the changes in the volumes and their indexes, then removes the file. The volumes must be local. Copies in object
/// stores are marked as old.
pub(crate) fn apply(archive: &Path, indexes: &Path, changes: &Changes) -> Result<(), VolumeError> {
    let volumes: BTreeMap<String, Volume> = volumes::list(archive)?
        .into_values()
        .map(|volume| (volume.name(), volume))
        .collect();
    let mut journal = StoreJournal::read(archive)?;
    for (name, tombstones) in changes {
        // The path of a volume that a crash left open changes when it is repaired, but its name does not.
        let Some(volume) = volumes.get(name).filter(|volume| !volume.is_remote()) else {
            return Err(VolumeError::Store {
                store: name.clone(),
                problem: "the volume is not on the local disk".to_owned(),
            });
        };
        // The copy is marked as old before the first byte of the volume is changed. Otherwise, after a crash, the copy
        // could still count as confirmed.
        if journal.is_stored(name) {
            let volume = name.clone();
            journal.append(JournalLine::Changed { volume })?;
        }
        let fault = |source| VolumeError::from_io(&volume.path, source);
        let file = File::options()
            .write(true)
            .open(&volume.path)
            .map_err(fault)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        for (offset, tombstone) in tombstones {
            out.seek(SeekFrom::Start(*offset)).map_err(fault)?;
            tombstone.write(&mut out).map_err(fault)?;
        }
        out.flush().map_err(fault)?;
        out.get_ref().sync_all().map_err(fault)?;
        let index = indexes.join(entry::file_name(name));
        if index.exists() {
            change_index(&index, name, tombstones)?;
        }
    }
    remove(archive)
}

fn remove(archive: &Path) -> Result<(), VolumeError> {
    let path: PathBuf = archive.join(FILE_NAME);
    let removed = std::fs::remove_file(&path).and_then(|()| File::open(archive)?.sync_all());
    removed.map_err(|source| VolumeError::from_io(&path, source))
}

/// Replaces the lines of the changed records.
fn change_index(
    path: &Path,
    volume: &str,
    tombstones: &BTreeMap<u64, Tombstone>,
) -> Result<(), VolumeError> {
    let fault = |source| VolumeError::from_io(path, source);
    let text = std::fs::read_to_string(path).map_err(fault)?;
    let offset_of = |line: &str| lookup::parse(line.as_bytes()).map(|line| line.offset);
    let is_kept = |line: &&str| offset_of(line).is_none_or(|at| !tombstones.contains_key(&at));
    let mut lines: Vec<String> = text
        .split_inclusive('\n')
        .filter(is_kept)
        .map(str::to_owned)
        .collect();
    for (offset, tombstone) in tombstones {
        let record = WarcRecord::parse(tombstone.record.clone())
            .map_err(|problem| fault(io::Error::other(problem)))?;
        if let Some(entry) = IndexEntry::of(&record, *offset, tombstone.length) {
            lines.push(entry.line(volume));
        }
    }
    lines.sort_unstable();
    write_atomically(&LocalDisk, path, |output| {
        lines
            .iter()
            .try_for_each(|line| output.append(line.as_bytes()))
    })
}
