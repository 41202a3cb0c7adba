//! What is remembered of a page between two visits: enough to ask "has it changed?" and to tell the answer (N14, I1).
//!
//! It travels with the page: a [`crate::PageRecord`] that asks for another visit leaves it in the frontier's care, and
//! it comes back inside [`crate::Pending`] when the page is due. So no page is looked up by its key, and a page that
//! is never asked again costs nothing.

use aranha_url::PathKey;

use crate::Location;
use crate::codec::{BlockBuffer, Reader, put_signed, put_str, put_varint};

/// The last answer of a page that had one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Past {
    /// When the version that is kept was fetched.
    pub time: i64,
    /// When the page was looked at last, whatever was found; [`Past::time`] or later.
    pub visited: i64,
    /// SHA-1 of its body; zero until its bytes are stored.
    pub digest: [u8; 20],
    /// What change is judged on: a hash of the text, of the body where there is no text, of the target of a redirect.
    pub fingerprint: u64,
    /// Whether that is [`crate::PageRecord::text_digest`].
    pub text: bool,
    /// Where its bytes are in the archive.
    pub location: Option<Location>,
    /// Its media type.
    pub media_type: String,
    /// Bytes of its body, decoded.
    pub size: u64,
    /// Entity tag, to ask with; empty when there was none, or the version is not whole.
    pub etag: String,
    /// When the server says that it changed last, as far as that can be believed.
    pub modified: Option<i64>,
    /// What the revisit policy remembers; opaque here.
    pub history: Vec<u8>,
    /// Who said that the page has changed, so that its visit was brought forward; 0: nobody.
    pub claim: u8,
}

/// Somebody says that a page has changed (I5).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Claim {
    /// Which page of its site.
    pub key: PathKey,
    /// When it changed, Unix milliseconds. What is not later than the last visit is no news.
    pub at: i64,
    /// Who says so; not 0. What the numbers mean is the caller's business.
    pub source: u8,
    /// How far the claim is believed, 0 to 1: by this share of its waiting time the page's visit is brought forward.
    pub weight: f64,
    /// No news within this time of the last visit either, milliseconds.
    pub gap: i64,
}

impl Claim {
    /// Whether it tells of a time after the last visit.
    pub(crate) fn is_news(&self, past: &Past) -> bool {
        self.at > past.visited.max(past.time).saturating_add(self.gap)
    }

    /// When a page that waits until `due` is visited now; `None`: not earlier.
    pub(crate) fn sooner(&self, past: &Past, due: i64, now: i64) -> Option<i64> {
        if !self.is_news(past) {
            return None;
        }
        // Who is not believed at once is not believed the sooner for saying it again.
        if self.source == past.claim && self.weight < 1.0 {
            return None;
        }
        let target = now.max(self.at);
        let earlier = (due.saturating_sub(target)) as f64 * self.weight.clamp(0.0, 1.0);
        (earlier >= 1.0).then(|| due - earlier as i64)
    }
}

/// What became of claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Claimed {
    /// Pages whose visit was brought forward.
    pub brought_forward: u64,
    /// Pages not known before, which are visited like any page that a link was found to.
    pub new: u64,
}

/// Which optional fields follow.
mod has {
    pub(super) const LOCATION: u8 = 1;
    pub(super) const MODIFIED: u8 = 2;
    pub(super) const TEXT: u8 = 4;
    pub(super) const VISITED: u8 = 8;
}

impl Past {
    pub(crate) fn put(&self, block: &mut BlockBuffer) {
        block.fixed.extend_from_slice(&self.digest);
        block
            .fixed
            .extend_from_slice(&self.fingerprint.to_le_bytes());
        let text = &mut block.text;
        let mut fields = 0;
        for (present, bit) in [
            (self.location.is_some(), has::LOCATION),
            (self.modified.is_some(), has::MODIFIED),
            (self.text, has::TEXT),
            (self.visited > self.time, has::VISITED),
        ] {
            fields |= u8::from(present) * bit;
        }
        text.push(fields);
        put_signed(text, self.time);
        if self.visited > self.time {
            put_varint(text, self.visited.abs_diff(self.time));
        }
        put_varint(text, self.size);
        put_str(text, &self.media_type);
        put_str(text, &self.etag);
        if let Some(location) = self.location {
            put_varint(text, location.volume.into());
            put_varint(text, location.offset);
            put_varint(text, u64::from(location.length));
        }
        if let Some(modified) = self.modified {
            put_signed(text, modified);
        }
        put_varint(text, self.history.len() as u64);
        text.extend_from_slice(&self.history);
        text.push(self.claim);
    }

    pub(crate) fn read(text: &mut Reader<'_>, fixed: &mut Reader<'_>) -> Option<Past> {
        let digest = fixed.take(20)?.try_into().ok()?;
        let fingerprint = fixed.word()?;
        let fields = text.byte()?;
        let time = text.signed()?;
        let visited = if fields & has::VISITED != 0 {
            time.saturating_add_unsigned(text.varint()?)
        } else {
            time
        };
        let size = text.varint()?;
        let media_type = text.text()?.to_owned();
        let etag = text.text()?.to_owned();
        let location = if fields & has::LOCATION != 0 {
            Some(Location {
                volume: text.varint()?.into(),
                offset: text.varint()?,
                length: text.number()?,
            })
        } else {
            None
        };
        let modified = if fields & has::MODIFIED != 0 {
            Some(text.signed()?)
        } else {
            None
        };
        let length = text.number()?;
        Some(Past {
            time,
            visited,
            digest,
            fingerprint,
            text: fields & has::TEXT != 0,
            location,
            media_type,
            size,
            etag,
            modified,
            history: text.take(length)?.to_vec(),
            claim: text.byte()?,
        })
    }
}
