//! Files that a crash left open: cut to the last whole record, indexed, closed. Done before anything is written.
//!
//! Nothing that could be a record is destroyed: when whole records lie behind the damage, which no torn write leaves,
//! what is cut off is kept beside the file; a file without one whole record is set aside as it is.
//!
//! The file is inflated from end to end, which also gives back its index. (To do when it hurts: begin at the last
//! `sync`, whose position would have to be kept.)

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::VolumeError;
use crate::compress::members::MemberReader;
use crate::compress::{self, Compression};
use crate::files::name::DAMAGED;
use crate::files::volumes::{self, Volume};
use crate::index::entry::IndexEntry;
use crate::record::parsed::WarcRecord;
use crate::write::finish::{Finisher, WrittenVolume};

/// What [`crate::Archive::open`] had to mend.
#[derive(Debug, Clone, Default)]
pub struct Repairs {
    /// Files closed, with the number of records kept and of bytes cut off.
    pub repaired: Vec<RepairedVolume>,
    /// Files, or parts of files, that could not be mended, and were set aside under this name.
    pub damaged: Vec<PathBuf>,
}

/// One file that was closed after a crash.
#[derive(Debug, Clone)]
pub struct RepairedVolume {
    /// The file under its final name.
    pub path: PathBuf,
    /// Whole records in it.
    pub records: u64,
    /// Bytes of a torn record cut off its end.
    pub bytes_cut: u64,
}

/// Mends every volume that is `.open`, in order of their identifiers.
pub(crate) fn repair(archive: &Path, finisher: &Finisher) -> Result<Repairs, VolumeError> {
    let mut repairs = Repairs::default();
    let volumes = volumes::list(archive)?;
    for volume in volumes.into_values().filter(|volume| volume.open) {
        let fault = |source| VolumeError::from_io(&volume.path, source);
        if std::fs::metadata(&volume.path).map_err(fault)?.len() == 0 {
            std::fs::remove_file(&volume.path).map_err(fault)?; // begun, and nothing written
            continue;
        }
        match scan(&volume.path) {
            Ok(Some(scan)) => repairs.mend(&volume, scan, finisher)?,
            Ok(None) => repairs.set_aside(&volume)?,
            // A disk that cannot be read today may be readable tomorrow: nothing is moved, nothing begins.
            Err(error) => return Err(fault(error)),
        }
    }
    Ok(repairs)
}

/// What is whole in a file.
struct Scan {
    entries: Vec<IndexEntry>,
    records: u64,
    /// Where the last whole record ends.
    end: u64,
    length: u64,
}

/// Reads to the first record that is not whole; none when that is the first. A disk that cannot be read is an error,
/// and not taken for a torn tail.
fn scan(path: &Path) -> io::Result<Option<Scan>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut members = MemberReader::new(BufReader::with_capacity(1 << 18, file), 0);
    let mut scan = Scan {
        entries: Vec::new(),
        records: 0,
        end: 0,
        length,
    };
    loop {
        let member = match members.next() {
            Ok(Some(member)) => member,
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Ok(None) | Err(_) => break,
        };
        let Ok(record) = WarcRecord::parse(member.bytes) else {
            break;
        };
        scan.entries
            .extend(IndexEntry::of(&record, member.offset, member.length));
        scan.records += 1;
        scan.end = member.offset + member.length;
    }
    Ok((scan.records > 0).then_some(scan))
}

impl Repairs {
    fn mend(
        &mut self,
        volume: &Volume,
        scan: Scan,
        finisher: &Finisher,
    ) -> Result<(), VolumeError> {
        let fault = |source| VolumeError::from_io(&volume.path, source);
        let cut = scan.length - scan.end;
        if cut > 0 {
            self.damaged
                .extend(keep_tail(volume, scan.end).map_err(fault)?);
        }
        // Durable even when nothing is cut: later revisits will refer to what is in it.
        let file = File::options()
            .write(true)
            .open(&volume.path)
            .map_err(fault)?;
        file.set_len(scan.end)
            .and_then(|()| file.sync_all())
            .map_err(fault)?;
        let path = finisher.finish(&WrittenVolume {
            id: volume.id,
            name: volume.name(),
            path: volume.path.clone(),
            entries: scan.entries,
        })?;
        tracing::info!(volume = %volume.name(), records = scan.records, bytes_cut = cut, "volume repaired");
        self.repaired.push(RepairedVolume {
            path,
            records: scan.records,
            bytes_cut: cut,
        });
        Ok(())
    }

    fn set_aside(&mut self, volume: &Volume) -> Result<(), VolumeError> {
        let path = volume
            .path
            .with_file_name(format!("{}{DAMAGED}", volume.name()));
        std::fs::rename(&volume.path, &path)
            .map_err(|source| VolumeError::from_io(&volume.path, source))?;
        self.damaged.push(path);
        Ok(())
    }
}

/// Keeps what is about to be cut off, when there is a whole record in it.
fn keep_tail(volume: &Volume, end: u64) -> io::Result<Option<PathBuf>> {
    let mut file = File::open(&volume.path)?;
    file.seek(SeekFrom::Start(end))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    if !holds_a_record(&tail) {
        return Ok(None);
    }
    let path = volume
        .path
        .with_file_name(format!("{}.{end}{DAMAGED}", volume.name()));
    std::fs::write(&path, &tail)?;
    File::open(&path)?.sync_all()?;
    Ok(Some(path))
}

/// Whether a whole record begins anywhere in the tail. Bytes that look like many members one inside the other (a page
/// can hold such) are not all followed to their ends: when more was read than the tail is worth, it is kept unseen.
pub(crate) fn holds_a_record(tail: &[u8]) -> bool {
    let mut left = 4 * tail.len() as u64 + (1 << 20);
    let starts = Compression::ALL.map(|kind| memmem::find_iter(tail, kind.magic()));
    for start in starts.into_iter().flatten() {
        if !begins_a_record(&tail[start..]) {
            continue;
        }
        let mut members = MemberReader::new(&tail[start..], 0);
        let member = members.next().ok().flatten();
        if member.is_some_and(|member| WarcRecord::parse(member.bytes).is_ok()) {
            return true;
        }
        match left.checked_sub(members.position()) {
            Some(rest) => left = rest,
            None => return true,
        }
    }
    false
}

/// Whether the first bytes of the member are those of a record.
fn begins_a_record(member: &[u8]) -> bool {
    const VERSION: &[u8] = b"WARC/1.";
    const NEAR: usize = 4 << 10; // of the packed bytes: a dictionary comes before the first byte
    let near = &member[..member.len().min(NEAR)];
    compress::beginning(near, VERSION.len() as u64) == VERSION
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tests::sample::{folder, page, small_options, write_all};
    use crate::{Archive, check};

    /// A volume of several exchanges as a crash would leave it: written, but `.open` and without index.
    fn crashed(place: &Path) -> (String, Vec<u8>) {
        let made = folder();
        write_all(made.path(), small_options(), (0..4).map(|n| page(n % 3)));
        let path = fs::read_dir(made.path().join("archive"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        fs::create_dir_all(place.join("archive")).unwrap();
        (name, fs::read(path).unwrap())
    }

    fn leave(folder: &Path, name: &str, bytes: &[u8]) -> Repairs {
        let _ = fs::remove_dir_all(folder.join("archive"));
        let _ = fs::remove_dir_all(folder.join("indexes"));
        fs::create_dir_all(folder.join("archive")).unwrap();
        fs::write(folder.join("archive").join(format!("{name}.open")), bytes).unwrap();
        let (archive, repairs) = Archive::open(folder, small_options()).unwrap();
        drop(archive);
        repairs
    }

    #[test]
    fn a_crash_at_every_byte_leaves_a_valid_prefix() {
        let folder = folder();
        let (name, whole) = crashed(folder.path());
        let mut ends = vec![0];
        let mut members = MemberReader::new(whole.as_slice(), 0);
        while let Some(member) = members.next().unwrap() {
            ends.push((member.offset + member.length) as usize);
        }
        assert_eq!(ends.len() - 1, 1 + 4 * 3);
        let path = folder.path().join("archive").join(&name);
        let torn = folder.path().join("torn");
        for length in 0..=whole.len() {
            let records = ends.iter().filter(|end| **end <= length).count() - 1;
            fs::write(&torn, &whole[..length]).unwrap();
            let scan = scan(&torn)
                .unwrap()
                .map_or((0, 0), |scan| (scan.records, scan.end));
            assert_eq!(scan, (records as u64, ends[records] as u64), "{length}");
            // The whole repair waits for the disk many times: at the ends of records, and here and there.
            if !ends.iter().any(|end| end.abs_diff(length) <= 1) && length % 199 != 0 {
                continue;
            }
            let repairs = leave(folder.path(), &name, &whole[..length]);
            if records == 0 {
                assert!(repairs.repaired.is_empty() && !path.exists());
                assert_eq!(repairs.damaged.len(), usize::from(length > 0), "{length}");
                continue;
            }
            let mended = &repairs.repaired[0];
            assert_eq!(mended.records, records as u64, "{length}");
            assert_eq!(mended.bytes_cut, (length - ends[records]) as u64);
            assert_eq!(fs::read(&path).unwrap(), &whole[..ends[records]]);
            assert!(repairs.damaged.is_empty());
            let report = check(folder.path(), |_| {}).unwrap();
            assert!(report.is_sound(), "{length}: {:?}", report.faults);
            assert_eq!(report.records, records as u64);
        }
    }

    #[test]
    fn repairing_gives_the_index_that_closing_gave() {
        let folder = folder();
        write_all(folder.path(), small_options(), (0..9).map(|n| page(n % 5)));
        let files = |path: &Path| {
            let mut files: Vec<_> = fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
                .map(|path| (path.clone(), fs::read(path).unwrap()))
                .collect();
            files.sort();
            files
        };
        let (archive, indexes) = (folder.path().join("archive"), folder.path().join("indexes"));
        let before = [
            files(&archive),
            files(&indexes),
            files(&indexes.join("duplicates")),
        ];
        fs::remove_dir_all(&indexes).unwrap();
        for (path, _) in &before[0] {
            fs::rename(path, format!("{}.open", path.display())).unwrap();
        }
        drop(Archive::open(folder.path(), small_options()).unwrap());
        assert_eq!(
            before,
            [
                files(&archive),
                files(&indexes),
                files(&indexes.join("duplicates"))
            ]
        );
    }

    #[test]
    fn whole_records_behind_damage_are_kept() {
        let folder = folder();
        let (name, mut bytes) = crashed(folder.path());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(0);
        let repairs = leave(folder.path(), &name, &bytes);
        assert_eq!(repairs.repaired.len(), 1);
        let tail = fs::read(&repairs.damaged[0]).unwrap();
        assert_eq!(tail.len() as u64, repairs.repaired[0].bytes_cut);
        assert!(bytes.ends_with(&tail));
        let report = check(folder.path(), |_| {}).unwrap();
        assert!(report.is_sound());
        assert_eq!(report.damaged_files, repairs.damaged);
        // Its number is not given out again.
        write_all(folder.path(), small_options(), [page(9)]);
        let volumes = volumes::list(&folder.path().join("archive")).unwrap();
        let counters: Vec<u32> = volumes.keys().map(|id| id.counter()).collect();
        assert_eq!(counters, [1, 2]);
    }
}
