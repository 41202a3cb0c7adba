//! `aranha check`: every record, every digest, every index line.
//!
//! Reads each volume from end to end. A record must parse, have the length it says and the digests it says; a revisit
//! must have its original; the index must have exactly the lines that the records give. Behind a damaged record the
//! reading goes on at the next place that the index knows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::VolumeError;
use crate::compress::members::MemberReader;
use crate::files::name::DAMAGED;
use crate::files::volumes::Volume;
use crate::index::entry::{self, IndexEntry};
use crate::index::lookup::{self, CdxjLine};
use crate::read::reader::ArchiveReader;
use crate::record::digest;
use crate::record::parsed::WarcRecord;

/// Faults that are kept; more are only counted.
const MOST_FAULTS: usize = 1000;

/// How far a check has come.
#[derive(Debug, Clone)]
pub struct CheckProgress {
    /// The file being read.
    pub path: PathBuf,
    /// Records read so far, in all files.
    pub records: u64,
    /// Bytes read so far, in all files.
    pub bytes: u64,
    /// Bytes to read in all.
    pub total: u64,
}

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    /// Volumes read.
    pub files: u64,
    /// Of these, still `.open`: read up to the last whole record, and without an index to compare.
    pub open: u64,
    /// Records read.
    pub records: u64,
    /// Of these, responses.
    pub responses: u64,
    /// Of these, revisits.
    pub revisits: u64,
    /// Index lines compared.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// What is wrong, the first thousand; empty when all is well.
    pub faults: Vec<CheckFault>,
    /// How many things are wrong.
    pub fault_count: u64,
    /// Files that an earlier repair set aside.
    pub damaged_files: Vec<PathBuf>,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.fault_count == 0
    }

    fn fault(&mut self, path: &Path, offset: u64, fault: impl Into<String>) {
        self.fault_count += 1;
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(CheckFault {
                path: path.to_path_buf(),
                offset,
                problem: fault.into(),
            });
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub struct CheckFault {
    /// The file.
    pub path: PathBuf,
    /// Where in it; the line number for an index.
    pub offset: u64,
    /// What is wrong.
    pub problem: String,
}

/// Verifies every volume under `dir`; `progress` is called some times a second at most volumes' speed.
pub fn check(
    dir: &Path,
    mut progress: impl FnMut(&CheckProgress),
) -> Result<CheckReport, VolumeError> {
    let reader = ArchiveReader::open(dir)?;
    let volumes = reader.volumes()?;
    let size = |volume: &Volume| std::fs::metadata(&volume.path).map_or(0, |data| data.len());
    let total = volumes.iter().map(size).sum();
    let mut check = Checker {
        reader,
        indexes: dir.join("indexes"),
        report: CheckReport::default(),
        total,
    };
    for volume in &volumes {
        check.volume(volume, &mut progress)?;
    }
    check.orphans()?;
    check.set_aside(&dir.join("archive"))?;
    Ok(check.report)
}

struct Checker {
    reader: ArchiveReader,
    indexes: PathBuf,
    report: CheckReport,
    total: u64,
}

impl Checker {
    fn volume(
        &mut self,
        volume: &Volume,
        progress: &mut impl FnMut(&CheckProgress),
    ) -> Result<(), VolumeError> {
        let index = self.indexes.join(entry::file_name(&volume.name()));
        let lines = if volume.open {
            None
        } else {
            self.read_index(&index)?
        };
        let entries = self.records(volume, lines.as_ref(), progress)?;
        self.report.files += 1;
        self.report.open += u64::from(volume.open);
        match lines {
            Some(lines) => self.compare(&index, &volume.name(), &lines, &entries),
            None if volume.open => {}
            None => self.report.fault(&index, 0, "there is no index"),
        }
        Ok(())
    }

    /// Reads all records of a volume, and gives what its index should say.
    fn records(
        &mut self,
        volume: &Volume,
        lines: Option<&IndexLines>,
        progress: &mut impl FnMut(&CheckProgress),
    ) -> Result<Vec<IndexEntry>, VolumeError> {
        let fault = |source| VolumeError::from_io(&volume.path, source);
        let open =
            || File::open(&volume.path).or_else(|_| File::open(volume.path.with_extension("")));
        let before = self.report.bytes;
        let mut entries = Vec::new();
        let mut start = 0;
        'reading: loop {
            let mut members = MemberReader::new(
                lookup::at(open().map_err(fault)?, start).map_err(fault)?,
                start,
            );
            let damage = loop {
                let offset = members.position();
                let member = match members.next() {
                    Ok(Some(member)) => member,
                    Ok(None) => break 'reading,
                    Err(error) => break (offset, error.to_string()),
                };
                let record = match WarcRecord::parse(member.bytes) {
                    Ok(record) => record,
                    Err(fault) => break (offset, fault),
                };
                self.record(volume, offset, &record);
                entries.extend(IndexEntry::of(&record, offset, member.length));
                self.report.bytes = before + offset + member.length;
                if self.report.records.is_multiple_of(256) {
                    progress(&self.progress(volume));
                }
            };
            if volume.open {
                break; // torn, or just being written
            }
            self.report.fault(&volume.path, damage.0, damage.1);
            match lines.and_then(|lines| lines.by_offset.range(damage.0 + 1..).next()) {
                Some((&next, _)) => start = next,
                None => break,
            }
        }
        progress(&self.progress(volume));
        Ok(entries)
    }

    fn progress(&self, volume: &Volume) -> CheckProgress {
        CheckProgress {
            path: volume.path.clone(),
            records: self.report.records,
            bytes: self.report.bytes,
            total: self.total,
        }
    }

    /// One record that parses.
    fn record(&mut self, volume: &Volume, offset: u64, record: &WarcRecord) {
        self.report.records += 1;
        let mut fault = |text: &str| self.report.fault(&volume.path, offset, text);
        for name in ["WARC-Type", "WARC-Record-ID"] {
            if record.header(name).is_none() {
                fault(&format!("no {name}"));
            }
        }
        if record.time_ms().is_none() {
            fault("no WARC-Date that can be read");
        }
        if offset == 0 && record.kind() != "warcinfo" {
            fault("the first record is no warcinfo");
        }
        let agrees = |name: &str, bytes: &[u8]| {
            record
                .header(name)
                .is_none_or(|label| label == digest::label(&digest::sha1(bytes)))
        };
        if !agrees("WARC-Block-Digest", record.block()) {
            fault("the block has another digest");
        }
        match record.kind() {
            "response" => {
                if !agrees("WARC-Payload-Digest", &record.http_body()) {
                    fault("the payload has another digest");
                }
                self.report.responses += 1;
            }
            "revisit" => {
                let alone = self
                    .reader
                    .resolve(record.clone())
                    .map_or(true, |record| record.original().is_none());
                if alone {
                    fault("the original of this revisit is not there");
                }
                self.report.revisits += 1;
            }
            _ => {}
        }
    }

    fn read_index(&mut self, path: &Path) -> Result<Option<IndexLines>, VolumeError> {
        let fault = |source| VolumeError::from_io(path, source);
        let Ok(file) = File::open(path) else {
            return Ok(None);
        };
        let mut source = BufReader::with_capacity(1 << 16, file);
        let mut lines = IndexLines::default();
        let (mut line, mut last, mut number) = (Vec::new(), Vec::new(), 0);
        loop {
            std::mem::swap(&mut line, &mut last);
            line.clear();
            if source.read_until(b'\n', &mut line).map_err(fault)? == 0 {
                return Ok(Some(lines));
            }
            number += 1;
            self.report.lines += 1;
            if line < last {
                self.report.fault(path, number, "the lines are not sorted");
            }
            match lookup::parse(&line) {
                Some(line) => {
                    lines.by_offset.insert(line.offset, (number, line));
                }
                None => self.report.fault(path, number, "not a CDXJ line"),
            }
        }
    }

    /// Whether the index has a line for each record, and no other.
    fn compare(&mut self, path: &Path, volume: &str, lines: &IndexLines, entries: &[IndexEntry]) {
        let mut left: BTreeMap<u64, u64> = lines
            .by_offset
            .iter()
            .map(|(offset, (number, _))| (*offset, *number))
            .collect();
        for entry in entries.iter().filter(|entry| entry.is_listed()) {
            left.remove(&entry.offset);
            let expected = lookup::parse(entry.line(volume).as_bytes());
            match (lines.by_offset.get(&entry.offset), expected) {
                (Some((number, line)), Some(expected)) if !same(line, &expected) => {
                    self.report
                        .fault(path, *number, "the record says otherwise");
                }
                (Some(_), _) => {}
                (None, _) => {
                    let text = format!("no line for the record at {}", entry.offset);
                    self.report.fault(path, 0, text);
                }
            }
        }
        for number in left.into_values() {
            self.report.fault(path, number, "there is no such record");
        }
    }

    /// Indexes without a volume. The indexes are listed first: a volume is there before its index is.
    fn orphans(&mut self) -> Result<(), VolumeError> {
        let indexes = files(&self.indexes)?;
        let volumes = self.reader.volumes()?;
        for path in indexes {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let of_volume = |volume: &Volume| entry::file_name(&volume.name()) == name;
            if path.extension().is_some_and(|end| end == "cdxj") && !volumes.iter().any(of_volume) {
                self.report
                    .fault(&path, 0, "the volume of this index is not there");
            }
        }
        Ok(())
    }

    fn set_aside(&mut self, archive: &Path) -> Result<(), VolumeError> {
        let damaged = |path: &PathBuf| path.to_string_lossy().ends_with(DAMAGED);
        self.report.damaged_files = files(archive)?.into_iter().filter(damaged).collect();
        Ok(())
    }
}

/// The lines of an index by the offset of their record, each with its number in the file.
#[derive(Default)]
struct IndexLines {
    by_offset: BTreeMap<u64, (u64, CdxjLine)>,
}

/// Whether a line is what the record gives. The status of an answer without a status line is known to the fetcher
/// alone.
fn same(line: &CdxjLine, expected: &CdxjLine) -> bool {
    let status = expected.status.is_none() || line.status == expected.status;
    status
        && (&line.key, &line.stamp, &line.url, &line.mime)
            == (
                &expected.key,
                &expected.stamp,
                &expected.url,
                &expected.mime,
            )
        && (&line.digest, line.length, line.offset, &line.filename)
            == (
                &expected.digest,
                expected.length,
                expected.offset,
                &expected.filename,
            )
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, VolumeError> {
    let fault = |source| VolumeError::from_io(folder, source);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fault(error)),
    };
    let mut paths = entries
        .map(|entry| Ok(entry.map_err(fault)?.path()))
        .collect::<Result<Vec<_>, VolumeError>>()?;
    paths.sort();
    Ok(paths)
}
