//! Reads single records by their location, or a whole volume record by record, and finds the originals of revisit
//! records. Reader and writer share only the files, so the reader also works in another process during a crawl.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::compress::members::MemberReader;
use crate::files::volumes::{self, Volume, VolumeFolder};
use crate::index::entry;
use crate::index::lookup;
use crate::rebuild;
use crate::record::parsed::WarcRecord;
use crate::record::revisit::{self, REFERS_TO_LOCATION};
use crate::{Location, VolumeError};

/// Reads the archive of a collection, also while a crawl writes to it.
#[derive(Debug)]
pub struct ArchiveReader {
    archive: PathBuf,
    indexes: PathBuf,
    folder: VolumeFolder,
}

impl ArchiveReader {
    /// Opens the collection's `archive/` and `indexes/` for reading.
    pub fn open(dir: &Path) -> Result<Self, VolumeError> {
        let archive = dir.join("archive");
        volumes::list(&archive)?; // fail now if the directory cannot be read
        Ok(Self {
            folder: VolumeFolder::new(&archive),
            archive,
            indexes: dir.join("indexes"),
        })
    }

    /// All volumes, in order of their identifiers.
    pub fn volumes(&self) -> Result<Vec<Volume>, VolumeError> {
        Ok(volumes::list(&self.archive)?.into_values().collect())
    }

    /// The record at this location, as stored.
    pub fn read(&self, location: Location) -> Result<WarcRecord, VolumeError> {
        let (file, path) = self.folder.open(location.volume)?;
        let damaged = |fault: String| VolumeError::Damaged {
            path: path.clone(),
            offset: location.offset,
            fault,
        };
        let mut bytes = vec![0; location.length as usize];
        file.read_exact_at(&mut bytes, location.offset)
            .map_err(|error| damaged(error.to_string()))?;
        let mut members = MemberReader::new(bytes.as_slice(), location.offset);
        match members.next() {
            Ok(Some(member)) if member.length == u64::from(location.length) => {
                WarcRecord::parse(member.bytes).map_err(damaged)
            }
            Ok(_) => Err(damaged(
                "the record does not have the length of its location".to_owned(),
            )),
            Err(error) => Err(damaged(error.to_string())),
        }
    }

    /// The record at this location. If it is a revisit record, its original is attached, so that it has a body.
    pub fn read_resolved(&self, location: Location) -> Result<WarcRecord, VolumeError> {
        self.resolve(self.read(location)?)
    }

    /// Attaches the original to a revisit record. If the original is not found, [`WarcRecord::original`] is `None`.
    /// Other records are returned unchanged.
    pub fn resolve(&self, record: WarcRecord) -> Result<WarcRecord, VolumeError> {
        if !record.is_revisit() {
            return Ok(record);
        }
        Ok(match self.original(&record)? {
            Some(original) => record.with_original(original),
            None => record,
        })
    }

    /// The record to which a revisit record refers. Tries the location in the record, then the indexes, then reads the
    /// volumes that have no index yet.
    fn original(&self, revisit: &WarcRecord) -> Result<Option<WarcRecord>, VolumeError> {
        let Some(id) = revisit.header("WARC-Refers-To") else {
            return Ok(None);
        };
        if let Some(record) = self.read_referred(revisit)
            && record.header("WARC-Record-ID") == Some(id)
        {
            return Ok(Some(record));
        }
        let url = revisit
            .header("WARC-Refers-To-Target-URI")
            .unwrap_or_default();
        // Both searches use the same list of volumes. If each search made its own list, both could miss a volume that
        // is closed in between.
        let volumes = self.volumes()?;
        for location in self.captures_in(&volumes, url)? {
            if let Ok(record) = self.read(location)
                && record.header("WARC-Record-ID") == Some(id)
            {
                return Ok(Some(record));
            }
        }
        for volume in volumes.iter().filter(|volume| volume.open) {
            for record in self.records(volume)?.flatten() {
                if record.1.header("WARC-Record-ID") == Some(id) {
                    return Ok(Some(record.1));
                }
            }
        }
        Ok(None)
    }

    /// The record at the location in the [`REFERS_TO_LOCATION`] field.
    fn read_referred(&self, revisit: &WarcRecord) -> Option<WarcRecord> {
        let (volume, offset) = revisit::parse_location(revisit.header(REFERS_TO_LOCATION)?)?;
        let (file, _) = self.folder.open(volume).ok()?;
        let source = lookup::reader_at(file, offset).ok()?;
        let member = MemberReader::new(source, 0).next().ok()??;
        WarcRecord::parse(member.bytes).ok()
    }

    /// The locations of a URL's responses and revisit records in the indexes of closed volumes, oldest volume first.
    pub fn captures(&self, url: &str) -> Result<Vec<Location>, VolumeError> {
        self.captures_in(&self.volumes()?, url)
    }

    fn captures_in(&self, volumes: &[Volume], url: &str) -> Result<Vec<Location>, VolumeError> {
        let mut found = Vec::new();
        for volume in volumes.iter().filter(|volume| !volume.open) {
            let path = self.indexes.join(entry::file_name(&volume.name()));
            found.extend(lookup::captures(&path, volume.id, url)?);
        }
        Ok(found)
    }

    /// Calls `visit` with every complete record of a closed volume, in order. Damaged records are skipped.
    pub fn for_each_record(
        &self,
        volume: &Volume,
        mut visit: impl FnMut(Location, &WarcRecord),
    ) -> Result<(), VolumeError> {
        rebuild::for_each_record(volume, |offset, length, record| {
            if let Ok(length) = u32::try_from(length) {
                let volume = volume.id;
                visit(
                    Location {
                        volume,
                        offset,
                        length,
                    },
                    record,
                );
            }
        })
    }

    /// The records of a volume in order, each with its location. The first incomplete record ends the iteration, with
    /// an error unless the volume is open.
    pub fn records(&self, volume: &Volume) -> Result<VolumeRecords, VolumeError> {
        let (file, path) = self.folder.open(volume.id)?;
        Ok(VolumeRecords {
            members: MemberReader::new(BufReader::with_capacity(1 << 18, file), 0),
            path,
            volume: volume.clone(),
            ended: false,
        })
    }
}

/// Iterator over the records of a volume.
#[derive(Debug)]
pub struct VolumeRecords {
    members: MemberReader<BufReader<File>>,
    path: PathBuf,
    volume: Volume,
    ended: bool,
}

impl VolumeRecords {
    fn read(&mut self) -> Result<Option<(Location, WarcRecord)>, VolumeError> {
        let offset = self.members.position();
        let damaged = |fault: String| VolumeError::Damaged {
            path: self.path.clone(),
            offset,
            fault,
        };
        let member = match self.members.next() {
            Ok(Some(member)) => member,
            Ok(None) => return Ok(None),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let length = u32::try_from(member.length)
            .map_err(|_| damaged("the record is longer than 4 GiB".to_owned()))?;
        let record = WarcRecord::parse(member.bytes).map_err(damaged)?;
        Ok(Some((
            Location {
                volume: self.volume.id,
                offset,
                length,
            },
            record,
        )))
    }
}

impl Iterator for VolumeRecords {
    type Item = Result<(Location, WarcRecord), VolumeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.read() {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                (!self.volume.open).then_some(Err(error))
            }
        }
    }
}
