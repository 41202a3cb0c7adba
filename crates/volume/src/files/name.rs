//! Names of volumes: `PREFIX-YYYYMMDDhhmmssSSS-NNNNN-HOST.warc.gz` or `.warc.zst`, with `.open` behind it while written and
//! `.damaged` when set aside. NNNNN is the volume's serial number, unique in its collection: locations name it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Timestamp;

use crate::duplicates::segment::Run;
use crate::{Compression, VolumeError};

/// Behind the name of a volume that is being written.
pub(crate) const OPEN: &str = ".open";
/// Behind the name of a volume that could not be mended.
pub(crate) const DAMAGED: &str = ".damaged";

/// The name for a volume begun at this time on this machine, without `.open`.
pub(crate) fn compose(
    prefix: &str,
    time: Timestamp,
    serial: u32,
    compression: Compression,
) -> String {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let stamp = time.strftime("%Y%m%d%H%M%S%3f");
    format!(
        "{}-{stamp}-{serial:05}-{}{}",
        plain(prefix),
        plain(&host),
        compression.extension()
    )
}

/// Only what is safe in a file name, a URL and a shell; never empty.
fn plain(text: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            c
        } else {
            '-'
        }
    };
    let text: String = text.chars().take(64).map(safe).collect();
    match text.trim_matches(['-', '.']) {
        "" => "unnamed".to_owned(),
        text => text.to_owned(),
    }
}

/// The name of a closed volume without its extension; none for any other file.
pub(crate) fn stem(name: &str) -> Option<&str> {
    let mut known = Compression::ALL.iter();
    known.find_map(|kind| name.strip_suffix(kind.extension()))
}

/// The serial number in a file name that [`compose`] made; none for any other file.
pub(crate) fn serial(name: &str) -> Option<u32> {
    let known = Compression::ALL.iter();
    serial_in(&name[..known.filter_map(|kind| name.find(kind.extension())).min()?])
}

/// The serial number in the name of a volume without its extension.
fn serial_in(stem: &str) -> Option<u32> {
    let parts: Vec<&str> = stem.split('-').collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    parts.windows(2).find_map(|pair| {
        let stamp = pair[0].len() == 17 && digits(pair[0]);
        (stamp && pair[1].len() >= 5 && digits(pair[1])).then(|| pair[1].parse().ok())?
    })
}

/// A volume on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Serial number.
    pub serial: u32,
    /// Where it is now; a volume being written is renamed when it is closed.
    pub path: PathBuf,
    /// Whether it is still being written, or was when its writer died.
    pub open: bool,
}

impl Volume {
    /// The name it has, or will have when closed.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(OPEN).unwrap_or(&name).to_owned()
    }
}

/// The highest serial number ever given out, as far as files tell. Volumes may be moved away when they are finished; what
/// is kept of them under `indexes/` still names theirs.
pub(crate) fn highest(archive: &Path, indexes: &Path) -> Result<u32, VolumeError> {
    let (_, mut highest) = list(archive)?;
    for name in names(indexes)? {
        let serial = name.strip_suffix(".cdxj").and_then(serial_in);
        highest = highest.max(serial.unwrap_or(0));
    }
    let duplicates = indexes.join("duplicates");
    if duplicates.exists() {
        for name in names(&duplicates)? {
            let last = Run::range_of(&name).map(|(_, last)| last);
            highest = highest.max(last.unwrap_or(0));
        }
    }
    Ok(highest)
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Result<Vec<String>, VolumeError> {
    let fault = |source| VolumeError::from_io(folder, source);
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let entries = std::fs::read_dir(folder).map_err(fault)?;
    entries.map(name).collect::<Result<_, _>>().map_err(fault)
}

/// All volumes under `archive/`, by serial number, and the highest serial number of a file there.
pub(crate) fn list(archive: &Path) -> Result<(BTreeMap<u32, Volume>, u32), VolumeError> {
    let fault = |source| VolumeError::from_io(archive, source);
    let mut volumes = BTreeMap::new();
    let mut highest = 0;
    for entry in std::fs::read_dir(archive).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(serial) = serial(&name) else {
            continue;
        };
        highest = highest.max(serial);
        let open = name.ends_with(OPEN);
        if open || stem(&name).is_some() {
            volumes.insert(serial, Volume { serial, path, open });
        }
    }
    Ok((volumes, highest))
}

/// Finds volumes by serial number; looks again when one is not where it was, because closing renames.
#[derive(Debug)]
pub(crate) struct Shelf {
    archive: PathBuf,
    known: Mutex<BTreeMap<u32, Volume>>,
}

impl Shelf {
    pub(crate) fn new(archive: &Path) -> Self {
        Self {
            archive: archive.to_path_buf(),
            known: Mutex::default(),
        }
    }

    /// Opens a volume for reading.
    pub(crate) fn open(&self, serial: u32) -> Result<(std::fs::File, PathBuf), VolumeError> {
        let known = self
            .known
            .lock()
            .expect("no panic while held")
            .get(&serial)
            .cloned();
        if let Some(volume) = known
            && let Ok(file) = std::fs::File::open(&volume.path)
        {
            return Ok((file, volume.path));
        }
        // Twice, because the volume may be renamed between the listing and the opening.
        for _ in 0..2 {
            let (volumes, _) = list(&self.archive)?;
            let volume = volumes.get(&serial).cloned();
            *self.known.lock().expect("no panic while held") = volumes;
            let volume = volume.ok_or(VolumeError::NoVolume { volume: serial })?;
            match std::fs::File::open(&volume.path) {
                Ok(file) => return Ok((file, volume.path)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(VolumeError::from_io(&volume.path, error)),
            }
        }
        Err(VolumeError::NoVolume { volume: serial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        let time: Timestamp = "2026-11-15T17:48:00.123Z".parse().unwrap();
        for (prefix, number) in [("aranha", 1), ("my-crawl 2/..", 99_999), ("", 1_234_567)] {
            let name = compose(prefix, time, number, Compression::Gzip);
            assert!(name.contains("-20261115174800123-"), "{name}");
            assert!(!name.contains(['/', ' ']), "{name}");
            assert_eq!(serial(&name), Some(number), "{name}");
            assert_eq!(serial(&format!("{name}{OPEN}")), Some(number));
        }
        assert_eq!(serial("other.warc.gz"), None);
        assert_eq!(serial("aranha-20261115174800123-00001-host.cdxj"), None);
    }
}
