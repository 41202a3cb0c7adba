//! Page records: the history of all pages, one block per check-in (table `pages`).
//!
//! The blocks of a site form a chain from the newest to the oldest (`sites.pages`, then `pages.previous`). A new block
//! goes to the end of the table. The encoding of a record is described in docs/decisions/0002-frontier-layout.md.

use aranha_url::PathKey;

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::codec::{BlockBuffer, Reader, put_signed, put_str, put_varint};
use crate::store_error::StoreError;
use crate::{Flags, Hop, Language, Outcome, PageRecord};

/// Bits of the byte that says which optional fields are present.
mod present {
    pub(crate) const DIGEST: u8 = 1;
    pub(crate) const TEXT_DIGEST: u8 = 2;
    pub(crate) const LOCATION: u8 = 4;
    pub(crate) const REVISIT: u8 = 8;
    pub(crate) const REDIRECT: u8 = 16;
    pub(crate) const NEXT: u8 = 32;
    pub(crate) const LANGUAGE: u8 = 64;
}

/// Append a record to a block. `time` is the time of the previous record.
pub(crate) fn put_record(block: &mut BlockBuffer, record: &PageRecord, time: i64) {
    let fixed = &mut block.fixed;
    fixed.extend_from_slice(&record.key.0.to_le_bytes());
    let mut fields = 0;
    if let Some(digest) = &record.digest {
        fields |= present::DIGEST;
        fixed.extend_from_slice(digest);
    }
    if record.text_digest != 0 {
        fields |= present::TEXT_DIGEST;
        fixed.extend_from_slice(&record.text_digest.to_le_bytes());
    }
    for (is_present, bit) in [
        (record.location.is_some(), present::LOCATION),
        (record.revisit, present::REVISIT),
        (record.redirect.is_some(), present::REDIRECT),
        (record.next.is_some(), present::NEXT),
        (record.language.is_some(), present::LANGUAGE),
    ] {
        if is_present {
            fields |= bit;
        }
    }
    let text = &mut block.text;
    let (code, status) = record.outcome.code();
    text.extend_from_slice(&[fields, code, record.tries]);
    for number in [
        u64::from(status),
        u64::from(record.depth),
        u64::from(record.site_depth),
        u64::from(record.flags.0),
        u64::from(record.hop.byte()),
    ] {
        put_varint(text, number);
    }
    put_str(text, &record.media_type);
    put_str(text, &record.path);
    put_str(text, &record.via);
    put_signed(text, record.time.wrapping_sub(time));
    put_varint(text, record.size);
    put_varint(text, u64::from(record.duration_ms));
    if let Some(location) = record.location {
        put_varint(text, location.volume.into());
        put_varint(text, location.offset);
        put_varint(text, u64::from(location.length));
    }
    if let Some(target) = &record.redirect {
        put_str(text, target);
    }
    if let Some(next) = record.next {
        put_signed(text, next.wrapping_sub(record.time));
    }
    if let Some(language) = &record.language {
        language.put(text);
    }
}

fn read_record(text: &mut Reader<'_>, fixed: &mut Reader<'_>, time: i64) -> Option<PageRecord> {
    let key = PathKey(fixed.word()?);
    let (fields, code, tries) = (text.byte()?, text.byte()?, text.byte()?);
    let outcome = Outcome::from_code(code, text.number()?)?;
    let (depth, site_depth) = (text.number()?, text.number()?);
    let flags = Flags(text.number()?);
    let letter = text.byte()?;
    let media_type = text.text()?.to_owned();
    let path = text.text()?.to_owned();
    let via = text.text()?.to_owned();
    let hop = Hop::from_stored(letter, &via)?;
    let time = time.wrapping_add(text.signed()?);
    let (size, duration_ms) = (text.varint()?, text.number()?);
    let digest = if fields & present::DIGEST != 0 {
        Some(fixed.take(20)?.try_into().ok()?)
    } else {
        None
    };
    let text_digest = if fields & present::TEXT_DIGEST != 0 {
        fixed.word()?
    } else {
        0
    };
    let location = if fields & present::LOCATION != 0 {
        Some(text.location()?)
    } else {
        None
    };
    let redirect = if fields & present::REDIRECT != 0 {
        Some(text.text()?.to_owned())
    } else {
        None
    };
    let next = if fields & present::NEXT != 0 {
        Some(time.wrapping_add(text.signed()?))
    } else {
        None
    };
    let language = if fields & present::LANGUAGE != 0 {
        Some(Language::read(text)?)
    } else {
        None
    };
    Some(PageRecord {
        path,
        key,
        depth,
        site_depth,
        time,
        outcome,
        media_type,
        size,
        digest,
        text_digest,
        language,
        location,
        revisit: fields & present::REVISIT != 0,
        duration_ms,
        tries,
        hop,
        via,
        redirect,
        flags,
        next,
        past: None,
    })
}

pub(crate) fn read_block(text: &[u8], fixed: &[u8]) -> Option<Vec<PageRecord>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut records = Vec::new();
    let mut time = 0;
    while !text.is_empty() {
        let record = read_record(&mut text, &mut fixed, time)?;
        time = record.time;
        records.push(record);
    }
    fixed.is_empty().then_some(records)
}

impl<T: Tables> Store<T> {
    /// Append the records of a check-in.
    pub(crate) fn pages_append(
        &self,
        site: &mut SiteRow,
        records: &[PageRecord],
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        block.clear();
        let mut time = 0;
        for record in records {
            put_record(block, record, time);
            time = record.time;
        }
        site.pages = self
            .tables
            .pages_insert(site.key, site.pages, self.packer.seal(block))?;
        site.records += records.len() as i64;
        Ok(())
    }

    /// Call `visit` for each block of records, the newest first, until it returns false. Records within a block are in
    /// order of time.
    pub(crate) fn pages_walk(
        &self,
        site: &SiteRow,
        mut visit: impl FnMut(Vec<PageRecord>) -> bool,
    ) -> Result<(), StoreError> {
        let mut id = site.pages;
        while id != 0 {
            let (previous, records) = self.pages_block(id)?;
            if !visit(records) {
                break;
            }
            id = previous;
        }
        Ok(())
    }

    /// The block of records with this id, in order of time, and the id of the previous block.
    pub(crate) fn pages_block(&self, id: i64) -> Result<(i64, Vec<PageRecord>), StoreError> {
        let (previous, sealed) = self
            .tables
            .pages_block(id)?
            .ok_or_else(|| StoreError::damaged("chain of page records at", id))?;
        let records = self
            .packer
            .open(&sealed)
            .and_then(|(text, fixed)| read_block(&text, fixed))
            .ok_or_else(|| StoreError::damaged("block of page records", id))?;
        Ok((previous, records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;
    use crate::codec::Packer;

    fn record(number: u64) -> PageRecord {
        PageRecord {
            path: format!("/page/{number}?q=ã"),
            key: PathKey(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            depth: number as u16,
            site_depth: 3,
            time: 1_700_000_000_000 - number as i64 * 1500,
            outcome: Outcome::Answer(200 + number as u16),
            media_type: "text/html".into(),
            size: number * 1000,
            digest: number.is_multiple_of(2).then_some([number as u8; 20]),
            text_digest: number % 3,
            language: (number % 4 > 1).then(|| Language {
                code: "pt".into(),
                confidence: number as u8,
            }),
            location: (number % 4 == 1).then_some(Location {
                volume: aranha_volume::VolumeId::new(number as u32 % 8, 7),
                offset: u64::MAX - number,
                length: u32::MAX,
            }),
            revisit: number.is_multiple_of(5),
            duration_ms: 42,
            tries: number as u8,
            hop: Hop::Link,
            via: "https://example.org/".into(),
            redirect: number
                .is_multiple_of(6)
                .then(|| "https://example.org/other".into()),
            flags: Flags::NOINDEX.with(Flags::TRUNCATED),
            next: number.is_multiple_of(7).then_some(i64::MAX),
            past: None,
        }
    }

    #[test]
    fn records_are_decoded() {
        let records: Vec<_> = (0..100).map(record).collect();
        let mut block = BlockBuffer::default();
        let mut time = 0;
        for record in &records {
            put_record(&mut block, record, time);
            time = record.time;
        }
        let packer = Packer::new().expect("memory");
        let sealed = packer.seal(&block);
        let (text, fixed) = packer.open(&sealed).expect("opens");
        assert_eq!(read_block(&text, fixed).expect("reads"), records);
        for cut in 0..text.len() {
            let _ = read_block(&text[..cut], fixed);
        }
        assert_eq!(read_block(&text, &fixed[1..]), None);
    }
}
