//! The past of a page: the data that the next visit needs for a conditional request and to detect a change (N14, I1).
//!
//! It is stored with the waiting page. A [`crate::PageRecord`] that schedules a next visit brings it to the frontier,
//! and [`crate::Pending`] brings it back to a visit when the page is due. So no look-up by key is needed, and a page
//! without a next visit uses no space.

use aranha_url::PathKey;
use serde::{Deserialize, Serialize};

use crate::codec::{BlockBuffer, Reader, put_signed, put_str, put_varint};
use crate::{Language, Location};

/// Data about the last response of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Past {
    /// When the stored version was fetched.
    pub time: i64,
    /// When the page was last visited; [`Past::time`] or later.
    pub visited: i64,
    /// SHA-1 of the body; all bytes are zero until the body is stored.
    pub digest: [u8; 20],
    /// Hash by which a change is detected: of the text, of the body if there is no text, or of the target of a
    /// redirect.
    pub fingerprint: u64,
    /// Whether [`Past::fingerprint`] is [`crate::PageRecord::text_digest`].
    pub text: bool,
    /// Location of the stored version in the archive.
    pub location: Option<Location>,
    /// Media type.
    pub media_type: String,
    /// See [`crate::PageRecord::language`].
    pub language: Option<Language>,
    /// Length of the decoded body in bytes.
    pub size: u64,
    /// Entity tag for a conditional request; empty if there was none or the stored version is truncated.
    pub etag: String,
    /// Last-Modified, if it is plausible.
    pub modified: Option<i64>,
    /// State of the revisit policy. The frontier does not interpret it.
    pub history: Vec<u8>,
    /// Source of the claim that brought the visit forward; 0 for none.
    pub claim: u8,
}

/// A claim that a page has changed (I5).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Key of the page in its site.
    pub key: PathKey,
    /// When the page changed, in Unix milliseconds. A change that is not later than the last visit is ignored.
    pub at: i64,
    /// Source of the claim, not 0. The numbers are defined by the caller.
    pub source: u8,
    /// Trust in the claim, 0 to 1. The time until the next visit is shortened by this fraction.
    pub weight: f64,
    /// A change within this many milliseconds after the last visit is ignored.
    pub gap: i64,
}

impl Claim {
    /// Whether the page changed more than [`Claim::gap`] milliseconds after the last visit.
    pub(crate) fn is_news(&self, past: &Past) -> bool {
        self.at > past.visited.max(past.time).saturating_add(self.gap)
    }

    /// The new, earlier due time of a visit that is due at `due`; `None` if the claim does not bring the visit forward.
    pub(crate) fn earlier_due(&self, past: &Past, due: i64, now: i64) -> Option<i64> {
        if !self.is_news(past) {
            return None;
        }
        // If a source repeats its claim, only the first claim counts, unless the weight is 1.0.
        if self.source == past.claim && self.weight < 1.0 {
            return None;
        }
        let target = now.max(self.at);
        let gain = (due.saturating_sub(target)) as f64 * self.weight.clamp(0.0, 1.0);
        (gain >= 1.0).then(|| due - gain as i64)
    }
}

/// Result of [`crate::Frontier::claim`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Claimed {
    /// Number of pages whose visit was brought forward.
    pub brought_forward: u64,
    /// Number of unknown pages. They are admitted like links.
    pub new: u64,
}

/// Bits of the byte that says which optional fields are present.
mod present {
    pub(super) const LOCATION: u8 = 1;
    pub(super) const MODIFIED: u8 = 2;
    pub(super) const TEXT: u8 = 4;
    pub(super) const VISITED: u8 = 8;
    pub(super) const LANGUAGE: u8 = 16;
}

impl Past {
    /// Removes the entity tag and the date of change, so that the next request is unconditional. Returns false if the
    /// page has neither.
    pub(crate) fn forget_validators(&mut self) -> bool {
        let has_tag = !std::mem::take(&mut self.etag).is_empty();
        self.modified.take().is_some() || has_tag
    }

    pub(crate) fn put(&self, block: &mut BlockBuffer) {
        block.fixed.extend_from_slice(&self.digest);
        block
            .fixed
            .extend_from_slice(&self.fingerprint.to_le_bytes());
        let text = &mut block.text;
        let mut fields = 0;
        for (is_present, bit) in [
            (self.location.is_some(), present::LOCATION),
            (self.modified.is_some(), present::MODIFIED),
            (self.text, present::TEXT),
            (self.visited > self.time, present::VISITED),
            (self.language.is_some(), present::LANGUAGE),
        ] {
            fields |= u8::from(is_present) * bit;
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
        if let Some(language) = &self.language {
            language.put(text);
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
        let visited = if fields & present::VISITED != 0 {
            time.saturating_add_unsigned(text.varint()?)
        } else {
            time
        };
        let size = text.varint()?;
        let media_type = text.text()?.to_owned();
        let etag = text.text()?.to_owned();
        let location = if fields & present::LOCATION != 0 {
            Some(text.location()?)
        } else {
            None
        };
        let modified = if fields & present::MODIFIED != 0 {
            Some(text.signed()?)
        } else {
            None
        };
        let language = if fields & present::LANGUAGE != 0 {
            Some(Language::read(text)?)
        } else {
            None
        };
        let length = text.number()?;
        Some(Past {
            time,
            visited,
            digest,
            fingerprint,
            text: fields & present::TEXT != 0,
            location,
            media_type,
            language,
            size,
            etag,
            modified,
            history: text.take(length)?.to_vec(),
            claim: text.byte()?,
        })
    }
}
