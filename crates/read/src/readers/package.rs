//! The parts of a document that is a zip archive.
//!
//! The directory at the end of the archive lists the parts. If it is missing, because a crawler cut the document, the
//! parts are found by their own headers, and the last one is decompressed as far as it goes. Zip64, encryption and
//! methods other than "stored" and "deflated" are not supported; no program writes such documents.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::DeflateDecoder;
use memchr::memmem;

use crate::Limits;
use crate::document::Fault;

const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const DIRECTORY_END: &[u8] = b"PK\x05\x06";
/// A part may expand to this many times its compressed size. XML rarely exceeds 100, but empty tables do.
const MAX_RATIO: u64 = 1000;
/// Parts of at most this size are not checked for their ratio.
const MIN_SUSPECT_SIZE: u64 = 1 << 20;
const MAX_PARTS: usize = 100_000;

/// A zip archive.
pub(super) struct Package<'a> {
    body: &'a [u8],
    parts: HashMap<String, Part>,
    /// The names in the order of the archive.
    names: Vec<String>,
    max_part: u64,
    /// Whether the directory is missing.
    pub(super) is_cut: bool,
}

/// Where a part begins. `size`: the compressed size, if it is known.
#[derive(Clone, Copy)]
struct Part {
    header: usize,
    size: Option<usize>,
}

impl<'a> Package<'a> {
    /// `None` if the archive has no part.
    pub(super) fn open(body: &'a [u8], limits: &Limits) -> Option<Package<'a>> {
        let mut package = Package {
            body,
            parts: HashMap::new(),
            names: Vec::new(),
            max_part: limits.max_part(),
            is_cut: false,
        };
        if package.list_directory().is_none() || package.names.is_empty() {
            package.is_cut = true;
            package.find_parts();
        }
        (!package.names.is_empty()).then_some(package)
    }

    /// The names of all parts, in the order of the archive.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Decompresses a part. `None` if there is no such part. Of a damaged part, the bytes before the damage are returned.
    pub(super) fn part(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        let Some(Part { header, size }) = self.parts.get(name) else {
            return Ok(None);
        };
        let Some((method, content)) = self.content(*header) else {
            return Ok(None);
        };
        let content = &content[..size.unwrap_or(content.len()).min(content.len())];
        if method == 0 {
            // If the size is unknown, other parts may follow.
            return Ok(size.map(|_| content.to_vec()));
        }
        let mut bytes = Vec::new();
        let mut decoder = DeflateDecoder::new(content);
        // An error ends the part early.
        let _ = (&mut decoder)
            .take(self.max_part + 1)
            .read_to_end(&mut bytes);
        let (length, compressed) = (bytes.len() as u64, decoder.total_in().max(1));
        if length > self.max_part || length > MIN_SUSPECT_SIZE && length / compressed > MAX_RATIO {
            return Err(Fault::TooLarge(format!(
                "the part {name} expands to too many bytes"
            )));
        }
        Ok(Some(bytes))
    }

    /// The compression method of the part at `header`, and the rest of the archive after its header.
    fn content(&self, header: usize) -> Option<(u16, &'a [u8])> {
        let local = self.body.get(header..)?;
        let method = u16_at(local, 8)?;
        let is_encrypted = u16_at(local, 6)? & 1 != 0;
        let skip = 30 + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
        let is_supported = local.starts_with(LOCAL_HEADER) && matches!(method, 0 | 8);
        (is_supported && !is_encrypted).then_some((method, local.get(skip..)?))
    }

    /// Reads the directory. `None` if there is none or it is malformed.
    fn list_directory(&mut self) -> Option<()> {
        let tail = self.body.len().saturating_sub(1 << 16);
        let end = tail + memmem::rfind(&self.body[tail..], DIRECTORY_END)?;
        let start = u32_at(self.body, end + 16)?;
        let mut entry = self.body.get(start..end)?;
        while entry.starts_with(DIRECTORY_ENTRY) {
            let size = u32_at(entry, 20)?;
            let header = u32_at(entry, 42)?;
            let name_length = usize::from(u16_at(entry, 28)?);
            let others = usize::from(u16_at(entry, 30)?) + usize::from(u16_at(entry, 32)?);
            let name = entry.get(46..46 + name_length)?;
            self.add(name, header, Some(size));
            entry = entry.get(46 + name_length + others..)?;
        }
        Some(())
    }

    /// Finds the parts by their headers.
    fn find_parts(&mut self) {
        let body = self.body;
        for header in memmem::find_iter(body, LOCAL_HEADER) {
            let local = &body[header..];
            let Some(length) = u16_at(local, 26).map(usize::from) else {
                return;
            };
            let size = u32_at(local, 18).filter(|size| *size > 0);
            if let Some(name) = local.get(30..30 + length) {
                self.add(name, header, size);
            }
        }
    }

    /// Adds a part, unless it has been added before.
    fn add(&mut self, name: &[u8], header: usize, size: Option<usize>) {
        let name = String::from_utf8_lossy(name).into_owned();
        if self.names.len() < MAX_PARTS && !self.parts.contains_key(&name) {
            self.names.push(name.clone());
            self.parts.insert(name, Part { header, size });
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document of the corpus, with a directory and compressed parts.
    const EPUB: &[u8] = include_bytes!("../../../../tests/corpus/read/sample.epub");

    #[test]
    fn parts_are_found_without_the_directory() {
        let limits = Limits::default();
        let whole = Package::open(EPUB, &limits).unwrap();
        assert!(!whole.is_cut);
        let directory = memmem::find(EPUB, DIRECTORY_ENTRY).unwrap();
        let cut = Package::open(&EPUB[..directory], &limits).unwrap();
        assert!(cut.is_cut);
        assert_eq!(whole.names, cut.names);
        for name in whole.names() {
            assert_eq!(whole.part(name), cut.part(name), "{name}");
            assert!(
                whole
                    .part(name)
                    .unwrap()
                    .is_some_and(|part| !part.is_empty())
            );
        }
        assert_eq!(whole.part("absent"), Ok(None));
    }

    #[test]
    fn a_part_that_expands_too_much_is_refused() {
        let mut packed = Vec::new();
        let zeros = std::io::repeat(0).take(64 << 20);
        flate2::read::DeflateEncoder::new(zeros, flate2::Compression::best())
            .read_to_end(&mut packed)
            .unwrap();
        let mut zip = LOCAL_HEADER.to_vec();
        zip.extend_from_slice(&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        zip.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        zip.extend_from_slice(&(64_u32 << 20).to_le_bytes());
        zip.extend_from_slice(&[1, 0, 0, 0, b'x']);
        zip.extend_from_slice(&packed);
        let limits = Limits::default();
        let package = Package::open(&zip, &limits).unwrap();
        assert!(matches!(package.part("x"), Err(Fault::TooLarge(_))));
    }
}
