//! `logs/events.jsonl`: the notices and the end of every crawl, with one JSON object per line.
//!
//! The process that holds the lock on the frontier is the only writer. Each line is written by one system call. After a
//! crash, or if the disk was full, the file may end in a partial line. Then the next crawl starts on a new line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::event::Event;

/// The open log.
#[derive(Debug)]
pub(crate) struct EventLog(Mutex<File>);

impl EventLog {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        let mut last = [b'\n'];
        if let Some(offset) = file.metadata()?.len().checked_sub(1) {
            file.read_exact_at(&mut last, offset)?;
        }
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
        Ok(Self(Mutex::new(file)))
    }

    /// Appends one event. A write error is ignored, because the log must not stop a crawl. If the disk is full, the
    /// crawl stops when it next writes a volume or the frontier.
    pub(crate) fn append(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("an event is valid JSON");
        line.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::notice::Notice;

    #[test]
    fn events_are_appended_after_a_partial_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"event\":\"not").unwrap();
        let log = EventLog::open(&path).unwrap();
        log.append(&Event::notice(0, Notice::DnsDown));
        log.append(&Event::notice(1000, Notice::DnsUp { seconds: 1 }));
        drop(log);
        EventLog::open(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for (line, name) in lines[1..].iter().zip(["dns_down", "dns_up"]) {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["notice"], name);
        }
    }
}
