//! `logs/crawl.log`: one line a fetch, Heritrix's twelve fields, so that its tools read it (F13).
//!
//! ```text
//! time status size url hop via type visit fetched+ms digest source notes
//! ```
//!
//! What has no status of its own gets Heritrix's negative code. Fields never hold white space
//! or control characters: URLs are canonical, the rest is escaped. A line is written when its
//! page is committed, so the log never tells of a page that a crash could take back.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use aranha_frontier::{Outcome, PageRecord};
use data_encoding::BASE32;

/// One fetch, as the log tells it.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) url: &'a str,
    pub(crate) record: &'a PageRecord,
    pub(crate) visit: u64,
    pub(crate) notes: &'a str,
}

/// The open log. Appends what was prepared, once a group commit.
#[derive(Debug)]
pub(crate) struct CrawlLog {
    file: File,
    /// Lines of pages that are on their way to the disk.
    prepared: Vec<u8>,
    second: Second,
}

/// A second as lines write it: many pages have the same.
#[derive(Debug, Default)]
struct Second {
    /// Since 1970.
    count: i64,
    date: String,
    digits: String,
}

impl Second {
    /// The second of a time, and the milliseconds of that. What is no time is the beginning of it.
    fn of(&mut self, ms: i64) -> i64 {
        let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        let ms = time.as_millisecond();
        let count = ms.div_euclid(1000);
        if self.count != count || self.date.is_empty() {
            *self = Self {
                count,
                date: time.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
                digits: time.strftime("%Y%m%d%H%M%S").to_string(),
            };
        }
        ms.rem_euclid(1000)
    }
}

impl CrawlLog {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file,
            prepared: Vec::new(),
            second: Second::default(),
        })
    }

    /// A line for the next [`write`](Self::write).
    pub(crate) fn prepare(&mut self, line: &Line<'_>) {
        let record = line.record;
        let digest = record.digest.map_or_else(
            || "-".to_owned(),
            |digest| format!("sha1:{}", BASE32.encode(&digest)),
        );
        let mut notes = String::new();
        if !matches!(record.outcome, Outcome::Answer(_)) {
            notes = record.outcome.to_string();
        }
        if record.revisit {
            push_note(&mut notes, "duplicate");
        }
        push_note(&mut notes, line.notes);
        let milliseconds = self.second.of(record.time);
        let Second { date, digits, .. } = &self.second;
        // A write to memory does not fail.
        let _ = writeln!(
            self.prepared,
            "{date}.{milliseconds:03}Z {:>5} {:>10} {} {} {} {} #{:03} {digits}{milliseconds:03}+{} {} - {}",
            code(record.outcome),
            record.size,
            line.url,
            record.hop,
            field(&record.via),
            field(&record.media_type),
            line.visit,
            record.duration_ms,
            digest,
            field(&notes),
        );
    }

    /// The pages of all prepared lines are durable.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.prepared);
        self.prepared.clear();
        written
    }
}

fn push_note(notes: &mut String, note: &str) {
    if note.is_empty() {
        return;
    }
    if !notes.is_empty() {
        notes.push(',');
    }
    notes.push_str(note);
}

/// A field without white space and control characters; "-" when there is nothing to say.
fn field(text: &str) -> Cow<'_, str> {
    if text.is_empty() {
        return "-".into();
    }
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.into();
    }
    text.chars()
        .map(|letter| {
            if letter.is_whitespace() || letter.is_control() {
                '_'
            } else {
                letter
            }
        })
        .collect()
}

/// Heritrix's fetch status codes.
fn code(outcome: Outcome) -> i32 {
    match outcome {
        Outcome::Answer(status) | Outcome::Unwanted(status) => i32::from(status),
        Outcome::DnsNotFound | Outcome::DnsFailed => -1,
        Outcome::ConnectFailed | Outcome::ConnectTimeout | Outcome::TlsFailed => -2,
        Outcome::Reset | Outcome::Protocol | Outcome::NoTarget => -3,
        Outcome::Timeout | Outcome::Stalled => -4,
        Outcome::RobotsUnreachable => -61,
        Outcome::RobotsRefused => -9998,
        Outcome::AddressRefused | Outcome::Blocked => -5001,
        Outcome::OutOfScope => -5000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_the_librarys() {
        let mut second = Second::default();
        for ms in [
            0,
            1,
            999,
            1000,
            1_794_764_880_123,
            1_794_764_880_999,
            -1,
            i64::MAX,
            i64::MIN,
        ] {
            let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
            let rest = second.of(ms);
            let date = time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
            assert_eq!(format!("{}.{rest:03}Z", second.date), date, "{ms}");
            let digits = time.strftime("%Y%m%d%H%M%S%3f").to_string();
            assert_eq!(format!("{}{rest:03}", second.digits), digits, "{ms}");
        }
    }

    #[test]
    fn fields_hold_no_white_space() {
        let check = |text, expected| assert_eq!(field(text), expected);
        check("", "-");
        check("text/html", "text/html");
        check("a b\tc\u{a0}\u{7}d", "a_b_c__d");
        check("ação", "ação");
    }
}
