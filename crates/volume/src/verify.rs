//! Verifies all records, digests and index lines of an archive, for `aranha check`.
//!
//! Every volume is read completely. Every record must be valid, and its length and digests must be as stated in its
//! header. The original of every revisit record must exist, unless the volume with it belongs to another node. The index must have exactly the lines that the encoder
//! writes for the records. After a damaged record, reading continues at the next offset in the index.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::record::parsed::WarcRecord;
use crate::s3::client::is_read_error;
use crate::s3::range::VolumeFile;

/// Maximum number of faults in a report. Further faults are only counted.
const MAX_FAULTS: usize = 1000;

/// Progress of a check.
#[derive(Debug, Clone)]
pub struct CheckProgress {
    /// The volume being read.
    pub path: PathBuf,
    /// Records read so far, in all volumes.
    pub records: u64,
    /// Bytes read so far, in all volumes.
    pub bytes: u64,
    /// Size of all volumes in bytes.
    pub total: u64,
}

/// Result of a check.
#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    /// Volumes read.
    pub files: u64,
    /// Volumes that are still `.open`. They have no index. They are checked up to the last complete record.
    pub open: u64,
    /// Records read.
    pub records: u64,
    /// Response records.
    pub responses: u64,
    /// Revisit records.
    pub revisits: u64,
    /// Revisit records whose originals are in volumes of other nodes.
    pub originals_elsewhere: u64,
    /// Number of index lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The first 1,000 faults.
    pub faults: Vec<CheckFault>,
    /// Total number of faults, including those that are not in `faults`.
    pub fault_count: u64,
    /// Files that an earlier repair could not repair, with the suffix `.damaged`.
    pub damaged_files: Vec<PathBuf>,
}

impl CheckReport {
    /// Whether the check found no fault.
    pub fn is_sound(&self) -> bool {
        self.fault_count == 0
    }

    fn add_fault(&mut self, path: &Path, offset: u64, problem: impl Into<String>) {
        self.fault_count += 1;
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(CheckFault {
                path: path.to_path_buf(),
                offset,
                problem: problem.into(),
            });
        }
    }
}

/// One fault in a volume or an index.
#[derive(Debug, Clone)]
pub struct CheckFault {
    /// The file.
    pub path: PathBuf,
    /// Offset in the volume, or line number in the index.
    pub offset: u64,
    /// Description of the fault.
    pub problem: String,
}

/// Verifies the archive under `dir`. `progress` is called every 256 records and at the end of every volume.
pub fn check(
    dir: &Path,
    mut progress: impl FnMut(&CheckProgress),
) -> Result<CheckReport, VolumeError> {
    let reader = ArchiveReader::open(dir)?;
    let volumes = reader.volumes()?;
    let total = volumes.iter().map(Volume::size).sum();
    let mut checker = Checker {
        reader,
        indexes: dir.join("indexes"),
        report: CheckReport::default(),
        total,
        nodes: volumes.iter().map(|volume| volume.id.node()).collect(),
    };
    for volume in &volumes {
        checker.check_volume(volume, &mut progress)?;
    }
    checker.find_indexes_without_volume()?;
    checker.list_damaged_files(&dir.join("archive"))?;
    Ok(checker.report)
}

struct Checker {
    reader: ArchiveReader,
    indexes: PathBuf,
    report: CheckReport,
    total: u64,
    /// The numbers of the nodes whose volumes are here.
    nodes: BTreeSet<u32>,
}

impl Checker {
    fn check_volume(
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
        let entries = self.check_records(volume, lines.as_ref(), progress)?;
        self.report.files += 1;
        self.report.open += u64::from(volume.open);
        match lines {
            Some(lines) => self.compare_index(&index, &volume.name(), &lines, &entries),
            None if volume.open => {}
            None => self.report.add_fault(&index, 0, "the index is missing"),
        }
        Ok(())
    }

    /// Checks all records of a volume. Returns the entries that its index should have.
    fn check_records(
        &mut self,
        volume: &Volume,
        lines: Option<&IndexLines>,
        progress: &mut impl FnMut(&CheckProgress),
    ) -> Result<Vec<IndexEntry>, VolumeError> {
        let fault = |source| VolumeError::from_io(&volume.path, source);
        let open = || {
            VolumeFile::open(volume)
                .or_else(|_| File::open(volume.path.with_extension("")).map(VolumeFile::Local))
        };
        let before = self.report.bytes;
        let mut entries = Vec::new();
        let mut start = 0;
        'reading: loop {
            let mut members = MemberReader::new(
                lookup::reader_at(open().map_err(fault)?, start).map_err(fault)?,
                start,
            );
            let damage = loop {
                let offset = members.position();
                let (member, length) = match members.next() {
                    Ok(Some(member)) => {
                        let length = member.length;
                        (member, length)
                    }
                    Ok(None) => break 'reading,
                    // If a store does not deliver the rest of a volume, that part cannot be checked.
                    Err(error) if volume.is_remote() && is_read_error(&error) => {
                        return Err(fault(error));
                    }
                    Err(error) => break (offset, error.to_string()),
                };
                let record = match WarcRecord::of_member(member) {
                    Ok(record) => record,
                    Err(fault) => break (offset, fault),
                };
                self.check_record(volume, offset, &record);
                entries.extend(IndexEntry::of(&record, offset, length));
                self.report.bytes = before + offset + length;
                if self.report.records.is_multiple_of(256) {
                    progress(&self.progress(volume));
                }
            };
            if volume.open {
                break; // incomplete, or being written
            }
            self.report.add_fault(&volume.path, damage.0, damage.1);
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

    /// Checks the header fields and digests of one record, and that the original of a revisit record exists.
    fn check_record(&mut self, volume: &Volume, offset: u64, record: &WarcRecord) {
        self.report.records += 1;
        let mut fault = |text: &str| self.report.add_fault(&volume.path, offset, text);
        for name in ["WARC-Type", "WARC-Record-ID"] {
            if record.header(name).is_none() {
                fault(&format!("{name} is missing"));
            }
        }
        if record.time_ms().is_none() {
            fault("WARC-Date is missing or invalid");
        }
        if offset == 0 && record.kind() != "warcinfo" {
            fault("the first record is not a warcinfo record");
        }
        let block_digest = record.header("WARC-Block-Digest");
        if !block_digest.is_none_or(|label| record.has_block_digest(label)) {
            fault("the block does not match WARC-Block-Digest");
        }
        match record.kind() {
            "response" => {
                let payload_digest = record.header("WARC-Payload-Digest");
                if !payload_digest.is_none_or(|label| record.has_body_digest(label)) {
                    fault("the payload does not match WARC-Payload-Digest");
                }
                self.report.responses += 1;
            }
            "revisit" => {
                let unresolved = self
                    .reader
                    .resolve(record.clone())
                    .map_or(true, |record| record.original().is_none());
                let is_elsewhere = record
                    .original_volume()
                    .is_some_and(|volume| !self.nodes.contains(&volume.node()));
                if unresolved && is_elsewhere {
                    self.report.originals_elsewhere += 1;
                } else if unresolved {
                    fault("the original of this revisit record is missing");
                }
                self.report.revisits += 1;
            }
            _ => {}
        }
    }

    /// Reads and checks an index; `None` when it cannot be opened.
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
                self.report
                    .add_fault(path, number, "the lines are not sorted");
            }
            match lookup::parse(&line) {
                Some(line) => {
                    lines.by_offset.insert(line.offset, (number, line));
                }
                None => self.report.add_fault(path, number, "not a CDXJ line"),
            }
        }
    }

    /// Checks that the index has the right line for each record, and no other lines.
    fn compare_index(
        &mut self,
        path: &Path,
        volume: &str,
        lines: &IndexLines,
        entries: &[IndexEntry],
    ) {
        let mut unmatched: BTreeMap<u64, u64> = lines
            .by_offset
            .iter()
            .map(|(offset, (number, _))| (*offset, *number))
            .collect();
        for entry in entries.iter().filter(|entry| entry.is_listed()) {
            unmatched.remove(&entry.offset);
            let expected = lookup::parse(entry.line(volume).as_bytes());
            match (lines.by_offset.get(&entry.offset), expected) {
                (Some((number, line)), Some(expected)) if !is_same_line(line, &expected) => {
                    self.report
                        .add_fault(path, *number, "the line does not match the record");
                }
                (Some(_), _) => {}
                (None, _) => {
                    let problem = format!("no line for the record at offset {}", entry.offset);
                    self.report.add_fault(path, 0, problem);
                }
            }
        }
        for number in unmatched.into_values() {
            self.report.add_fault(
                path,
                number,
                "there is no record at the offset of this line",
            );
        }
    }

    /// Finds indexes whose volume is missing. The indexes are listed before the volumes. A volume exists before its
    /// index does, so the index of a volume that is finished during the check is not reported.
    fn find_indexes_without_volume(&mut self) -> Result<(), VolumeError> {
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
                    .add_fault(&path, 0, "the volume of this index is missing");
            }
        }
        Ok(())
    }

    fn list_damaged_files(&mut self, archive: &Path) -> Result<(), VolumeError> {
        let damaged = |path: &PathBuf| path.to_string_lossy().ends_with(DAMAGED);
        self.report.damaged_files = files(archive)?.into_iter().filter(damaged).collect();
        Ok(())
    }
}

/// The lines of an index, each with its line number, by the offset of the record that the line describes.
#[derive(Default)]
struct IndexLines {
    by_offset: BTreeMap<u64, (u64, CdxjLine)>,
}

/// Whether a line equals the line expected for the record. If the response has no status line, the status is not
/// compared, because only the fetcher knew it.
fn is_same_line(line: &CdxjLine, expected: &CdxjLine) -> bool {
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

/// The files of a folder, sorted. Returns an empty list if the folder does not exist.
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
