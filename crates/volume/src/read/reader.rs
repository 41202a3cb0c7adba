//! Reads single records by their location, or a whole volume record by record, and finds the originals of revisit
//! records. Reader and writer share only the files, so the reader also works in another process during a crawl.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::compress;
use crate::compress::members::MemberReader;
use crate::files::volumes::{self, Volume, VolumeFolder};
use crate::index::entry;
use crate::index::lookup;
use crate::read::body_reader;
use crate::rebuild;
use crate::record::parsed::WarcRecord;
use crate::record::revisit::{self, REFERS_TO_LOCATION};
use crate::s3::client::is_read_error;
use crate::s3::range::VolumeFile;
use crate::{Location, VolumeError};

/// A body up to this length is copied from memory; a longer one is read from the volume again, block by block.
const MAX_COPIED: u64 = 1 << 20;

/// A record up to this compressed length is read at once.
const MAX_READ: u32 = 1 << 20;

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
        let fault = |error: io::Error| {
            if is_read_error(&error) {
                VolumeError::from_io(&path, error)
            } else {
                damaged(error.to_string())
            }
        };
        let member = if location.length <= MAX_READ {
            let mut bytes = vec![0; location.length as usize];
            file.read_exact_at(&mut bytes, location.offset)
                .map_err(fault)?;
            MemberReader::new(bytes.as_slice(), location.offset).next()
        } else {
            lookup::reader_at(file, location.offset)
                .and_then(|source| MemberReader::new(source, location.offset).next())
        };
        match member {
            Ok(Some(member)) if member.length == u64::from(location.length) => {
                let record = WarcRecord::of_member(member).map_err(damaged)?;
                Ok(record.at(location.volume, location.offset))
            }
            Ok(_) => Err(damaged(
                "the record does not have the length of its location".to_owned(),
            )),
            Err(error) => Err(fault(error)),
        }
    }

    /// The record at this location. If it is a revisit record, its original is attached, so that it has a body.
    pub fn read_resolved(&self, location: Location) -> Result<WarcRecord, VolumeError> {
        self.resolve(self.read(location)?)
    }

    /// Writes the body of a record: as stored if `raw` is set, otherwise without transfer and content coding. For a
    /// resolved revisit record, this is the body of the original. Even a large record takes little memory. If decoding
    /// fails, the bytes before the failure are written. The inner error is an error of `out`.
    pub fn copy_body(
        &self,
        record: &WarcRecord,
        raw: bool,
        out: &mut dyn Write,
    ) -> Result<io::Result<()>, VolumeError> {
        let stored = record.body_record();
        if stored.position.is_some() && stored.block_length() > MAX_COPIED {
            return self.stream_body(record, raw, out);
        }
        let body = if raw {
            record.http_body().to_vec()
        } else {
            record.body_decoded(usize::MAX)
        };
        Ok(out.write_all(&body))
    }

    fn stream_body(
        &self,
        record: &WarcRecord,
        raw: bool,
        out: &mut dyn Write,
    ) -> Result<io::Result<()>, VolumeError> {
        let stored = record.body_record();
        let Some((volume, offset)) = stored.position else {
            return Ok(Ok(()));
        };
        let (file, path) = self.folder.open(volume)?;
        let fault = |source| VolumeError::from_io(&path, source);
        let source = lookup::reader_at(file, offset).map_err(fault)?;
        let member = compress::decoder(source).map_err(fault)?;
        let body = body_reader::stored_body(member, stored).map_err(fault)?;
        let mut body: Box<dyn Read> = if raw {
            Box::new(body)
        } else {
            body_reader::decoded_body(body, record)
        };
        let mut buffer = vec![0; 1 << 18];
        loop {
            match body.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(Ok(())),
                Ok(count) => {
                    if let Err(error) = out.write_all(&buffer[..count]) {
                        return Ok(Err(error));
                    }
                }
            }
        }
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
        let record = WarcRecord::of_member(member).ok()?;
        Some(record.at(volume, offset))
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
    members: MemberReader<BufReader<VolumeFile>>,
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
            Err(error) if is_read_error(&error) => {
                return Err(VolumeError::from_io(&self.path, error));
            }
            Err(error) => return Err(damaged(error.to_string())),
        };
        let length = u32::try_from(member.length)
            .map_err(|_| damaged("the record is longer than 4 GiB".to_owned()))?;
        let record = WarcRecord::of_member(member).map_err(damaged)?;
        let record = record.at(self.volume.id, offset);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::{folder, small_options, write_all};
    use crate::{Exchange, Options};

    fn exchange(fields: &str, body: &[u8], payload: &[u8]) -> Exchange {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        Exchange {
            url: "http://example.org/".to_owned(),
            response: [head.as_bytes(), body].concat().into(),
            head_length: head.len(),
            payload: payload.to_vec().into(),
            ..Exchange::default()
        }
    }

    #[test]
    fn a_body_is_the_same_as_a_stream_and_in_memory() {
        let text = "as dez aranhas tecem as dez teias\n".repeat(3000);
        let text = text.as_bytes();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text).unwrap();
        let zlib = zlib.finish().unwrap();
        let zstd = zstd::encode_all(text, 1).unwrap();
        let mut chunks = Vec::new();
        for piece in gzip.chunks(100) {
            chunks.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            chunks.extend_from_slice(piece);
            chunks.extend_from_slice(b"\r\n");
        }
        chunks.extend_from_slice(b"0\r\n\r\n");
        let chunked = "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n";
        let exchanges = [
            exchange("", text, text),
            exchange("A: b\r\n", text, text), // a revisit record
            exchange("Content-Encoding: gzip\r\n", &gzip, &gzip),
            exchange("Content-Encoding: deflate\r\n", &zlib, &zlib),
            exchange("Content-Encoding: zstd\r\n", &zstd, &zstd),
            exchange("Content-Encoding: gzip\r\n", text, text),
            exchange(chunked, &chunks, &gzip),
            exchange("Transfer-Encoding: chunked\r\n", text, text),
        ];
        let folder = folder();
        let options = Options {
            dedupe_minimum: 1,
            ..small_options()
        };
        let stored = write_all(folder.path(), options, exchanges);
        assert!(stored[1].revisit);
        let reader = ArchiveReader::open(folder.path()).unwrap();
        for (number, stored) in stored.iter().enumerate() {
            let record = reader.read_resolved(stored.location).unwrap();
            let stream = |raw| {
                let mut out = Vec::new();
                reader.stream_body(&record, raw, &mut out).unwrap().unwrap();
                out
            };
            assert!(stream(true) == record.http_body(), "{number}");
            assert!(stream(false) == record.body_decoded(usize::MAX), "{number}");
            assert!(stream(false) == text, "{number}");
        }
    }
}
