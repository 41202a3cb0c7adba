//! Small files of a collection that several processes may write, and that a crash must not leave half written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

/// Opens a file to append to, and to read, once nobody else has its lock; makes it where there is none.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        file.lock()?;
        // Taken over or replaced between the opening and the lock: this is not the file any more.
        let same = fs::metadata(path).is_ok_and(|named| {
            file.metadata()
                .is_ok_and(|own| own.ino() == named.ino() && own.dev() == named.dev())
        });
        if same {
            return Ok(file);
        }
    }
}

/// Appends lines in one write, behind a whole line: one that was left open, by hand or by a full disk, would swallow the first.
/// The file, locked, and the bytes written.
pub(crate) fn append(path: &Path, lines: &[u8]) -> io::Result<(File, u64)> {
    let mut file = lock(path)?;
    let mut last = [b'\n'];
    if let Some(place) = file.metadata()?.len().checked_sub(1) {
        file.read_exact_at(&mut last, place)?;
    }
    let whole = if last == *b"\n" {
        lines.to_vec()
    } else {
        [b"\n", lines].concat()
    };
    file.write_all(&whole)?;
    Ok((file, whole.len() as u64))
}

/// Writes a whole file: after a crash there is the old one or the new one, never a part. A full disk leaves the old one.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = Path::new(&fresh);
    let written = File::create(fresh)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(fresh, path));
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
