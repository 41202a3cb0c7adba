//! `logs/crawl.log`: one line per fetch with the twelve fields of Heritrix, so that Heritrix's tools can read the file
//! (F13).
//!
//! ```text
//! time status size url hop via type visit fetched+ms digest source notes
//! ```
//!
//! A fetch without an HTTP status has one of Heritrix's negative codes. Fields contain no white space and no control
//! characters, because URLs are canonical and these characters are replaced in other text. A line is written after its
//! page is committed. So even after a crash, every page in the log is also in the frontier.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use aranha_frontier::{Outcome, PageRecord};
use aranha_units::calendar;
use data_encoding::BASE32;

/// One fetch.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) url: &'a str,
    pub(crate) record: &'a PageRecord,
    pub(crate) visit: u64,
    pub(crate) notes: &'a str,
}

/// The open log, written once per group commit.
#[derive(Debug)]
pub(crate) struct CrawlLog {
    file: File,
    /// Lines of pages that are not yet committed.
    prepared: Vec<u8>,
}

impl CrawlLog {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file,
            prepared: Vec::new(),
        })
    }

    /// Formats a line for the next [`write`](Self::write).
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
        calendar::put_rfc3339(record.time, &mut self.prepared);
        // A write to memory does not fail.
        let _ = write!(
            self.prepared,
            " {:>5} {:>10} {} {} {} {} #{:03} ",
            code(record.outcome),
            record.size,
            line.url,
            record.hop,
            field(&record.via),
            field(&record.media_type),
            line.visit,
        );
        calendar::put_digits17(record.time, &mut self.prepared);
        let _ = writeln!(
            self.prepared,
            "+{} {} - {}",
            record.duration_ms,
            digest,
            field(&notes),
        );
    }

    /// Appends the prepared lines. Must be called only when their pages are committed.
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

/// Replaces white space and control characters by `_`. An empty field is `-`.
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

/// The HTTP status, or the fetch status code of Heritrix.
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
        Outcome::InternalError => -5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_hold_no_white_space() {
        let check = |text, expected| assert_eq!(field(text), expected);
        check("", "-");
        check("text/html", "text/html");
        check("a b\tc\u{a0}\u{7}d", "a_b_c__d");
        check("ação", "ação");
    }
}
