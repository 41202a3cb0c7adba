//! Look-ups in a sorted CDXJ file by bisection. A look-up reads only a few blocks, even if the file is large.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::index::entry;
use crate::{Location, VolumeError, VolumeId};

/// A buffered reader that starts at this offset.
pub(crate) fn reader_at<F: Read + Seek>(mut file: F, offset: u64) -> io::Result<BufReader<F>> {
    file.seek(SeekFrom::Start(offset))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// The locations of a URL's responses and revisit records, from the index of one volume. The list is empty if the index
/// does not exist.
pub(crate) fn captures(
    path: &Path,
    volume: VolumeId,
    url: &str,
) -> Result<Vec<Location>, VolumeError> {
    let fault = |source| VolumeError::from_io(path, source);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fault(error)),
    };
    let prefix = format!("{} ", entry::key(url));
    let start = lower_bound(&file, prefix.as_bytes()).map_err(fault)?;
    let mut found = Vec::new();
    let mut source = reader_at(file, start).map_err(fault)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        source.read_until(b'\n', &mut line).map_err(fault)?;
        if line.as_slice() >= prefix.as_bytes() && !line.starts_with(prefix.as_bytes()) {
            return Ok(found);
        }
        if line.is_empty() {
            return Ok(found);
        }
        // Several URLs can have the same key, so the URL in the line is compared.
        found.extend(
            parse(&line)
                .filter(|line| line.url == url)
                .map(|line| line.location(volume)),
        );
    }
}

/// Offset of a line at which a forward search for `key` can start. It is the first line that is not less than `key`, or
/// a line shortly before that one.
fn lower_bound(file: &File, key: &[u8]) -> io::Result<u64> {
    /// Bisection stops when the search range has at most this many bytes. The caller then reads line by line.
    const MAX_DISTANCE: u64 = 1 << 13;
    let (mut low, mut high) = (0, file.metadata()?.len());
    let mut line = Vec::new();
    while high - low > MAX_DISTANCE {
        let middle = low + (high - low) / 2;
        let mut source = BufReader::with_capacity(1 << 12, file);
        source.seek(SeekFrom::Start(middle))?;
        line.clear();
        let skipped = source.read_until(b'\n', &mut line)? as u64;
        line.clear();
        source.read_until(b'\n', &mut line)?;
        if line.is_empty() || line.as_slice() >= key {
            high = middle;
        } else {
            low = middle + skipped;
        }
    }
    Ok(low)
}

/// A parsed CDXJ line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CdxjLine {
    pub(crate) key: String,
    pub(crate) stamp: String,
    pub(crate) url: String,
    pub(crate) mime: String,
    pub(crate) status: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) length: u32,
    pub(crate) offset: u64,
    pub(crate) filename: String,
}

impl CdxjLine {
    pub(crate) fn location(&self, volume: VolumeId) -> Location {
        Location {
            volume,
            offset: self.offset,
            length: self.length,
        }
    }
}

/// Parses a line. Returns `None` if it does not have the form that [`crate::index::entry`] writes.
pub(crate) fn parse(line: &[u8]) -> Option<CdxjLine> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (key, rest) = line.split_once(' ')?;
    let (stamp, json) = rest.split_once(' ')?;
    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).ok()?;
    let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
    Some(CdxjLine {
        key: key.to_owned(),
        stamp: stamp.to_owned(),
        url: text("url")?,
        mime: text("mime")?,
        status: text("status"),
        digest: text("digest"),
        length: text("length")?.parse().ok()?,
        offset: text("offset")?.parse().ok()?,
        filename: text("filename")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::entry::IndexEntry;

    fn entry(n: u64) -> IndexEntry {
        IndexEntry {
            url: format!("http://site{}.example/page/{}", n % 97, n / 3).into(),
            time_ms: 1_794_764_880_000 + n as i64,
            media_type: "text/html".into(),
            status: Some(200),
            digest: None,
            revisit: false,
            offset: n,
            length: 9,
            original: None,
        }
    }

    #[test]
    fn every_capture_is_found_by_bisection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.cdxj");
        for count in [0, 1, 5, 3000] {
            let entries: Vec<IndexEntry> = (0..count).map(entry).collect();
            std::fs::write(&path, entry::lines(&entries, "x.warc.gz").concat()).unwrap();
            for wanted in entries.iter().step_by(7) {
                let found = captures(&path, VolumeId::from(3), &wanted.url).unwrap();
                let mut expected: Vec<Location> = entries
                    .iter()
                    .filter(|entry| entry.url == wanted.url)
                    .map(|entry| entry.location(VolumeId::from(3)))
                    .collect();
                expected.sort();
                let mut found = found;
                found.sort();
                assert_eq!(found, expected);
            }
            assert_eq!(
                captures(&path, VolumeId::from(3), "http://other.example/").unwrap(),
                []
            );
        }
        assert_eq!(
            captures(&folder.path().join("none"), VolumeId::from(1), "http://a/").unwrap(),
            []
        );
    }

    #[test]
    fn a_written_line_is_parsed() {
        let line = parse(entry(5).line("x.warc.gz").as_bytes()).unwrap();
        assert_eq!((line.offset, line.length), (5, 9));
        assert_eq!(line.url, "http://site5.example/page/1");
        assert_eq!(parse(b"no line\n"), None);
        assert_eq!(parse(b"key 2026 {}\n"), None);
    }
}
