//! Writing of small files in a collection: appending by several processes at once, and atomic replacement.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

/// Opens a file for appending and reading, creates it if necessary, and waits for its lock.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        file.lock()?;
        // Before this process had the lock, another process may have renamed or replaced the file.
        let is_current = fs::metadata(path).is_ok_and(|named| {
            file.metadata()
                .is_ok_and(|own| own.ino() == named.ino() && own.dev() == named.dev())
        });
        if is_current {
            return Ok(file);
        }
    }
}

/// Appends lines in one write. If the last line of the file has no newline (edited by hand, or cut off by a full disk),
/// a newline is written first. Returns the locked file and the number of bytes written.
pub(crate) fn append(path: &Path, lines: &[u8]) -> io::Result<(File, u64)> {
    let mut file = lock(path)?;
    let mut last = [b'\n'];
    if let Some(offset) = file.metadata()?.len().checked_sub(1) {
        file.read_exact_at(&mut last, offset)?;
    }
    let bytes = if last == *b"\n" {
        lines.to_vec()
    } else {
        [b"\n", lines].concat()
    };
    file.write_all(&bytes)?;
    Ok((file, bytes.len() as u64))
}

/// Appends lines to a file of a collection, and makes them durable.
pub fn append_lines(path: &Path, lines: &[u8]) -> io::Result<()> {
    append(path, lines)?.0.sync_data()
}

/// Replaces a file atomically. Even after a crash, or if the disk is full, the file has either the old or the new
/// content.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    let written = File::create(temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(temporary);
    }
    written?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
