//! Signals (I5): messages from outside that a page has changed or is new.
//!
//! A receiver (`aranha listen`, the Squid helper, `aranha seed add --now`) appends a line to `signals.jsonl` in the
//! collection. It does so even if no crawl is active, and never waits for the crawl. An active crawl renames the file
//! every second, reads it, and removes it when its signals are in the frontier. So after a crash, signals may be read
//! twice, but no signal is lost. A signal can make a visit earlier, but never later (`crates/revisit`, `Trust`).
//!
//! A writer holds the lock of the file while it writes. After it has got the lock, it checks that the file was not
//! renamed. The reader also waits for the lock. So lines of several writers do not mix, and no line is lost.

mod intake;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use aranha_frontier::SiteFacts;
use aranha_revisit::Trust;
use serde::{Deserialize, Serialize};

use crate::collection::files;

/// The sender of a signal. The numbers are stored on disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Source {
    /// `lastmod` in a sitemap.
    Sitemap = 1,
    /// The date of an entry in a feed.
    Feed = 2,
    /// IndexNow, sent by the site.
    IndexNow = 3,
    /// WebSub, sent by a hub.
    WebSub = 4,
    /// A proxy that has just served the page to a user.
    Proxy = 5,
    /// The user, who requests an immediate visit.
    User = 6,
}

/// A signal: one line of the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// URL of the page, as the source wrote it.
    pub url: String,
    /// The sender.
    pub source: Source,
    /// When the page changed or was served, unix milliseconds.
    pub at: i64,
}

/// Appends signals to the file at `path` in one write. The file is not synced, so a power failure may lose signals.
/// This costs less than a sync for each signal.
pub fn signal(path: &Path, signals: &[Signal]) -> io::Result<()> {
    let mut lines = Vec::new();
    for signal in signals {
        serde_json::to_writer(&mut lines, signal)?;
        lines.push(b'\n');
    }
    files::append(path, &lines).map(|_| ())
}

/// Weight of the signals that a source sends about a site, from 0 to 1. Signals from the user and the proxy always have
/// weight 1.
pub(crate) fn weigh(facts: &SiteFacts, source: u8) -> f64 {
    if source == Source::User as u8 || source == Source::Proxy as u8 {
        return 1.0;
    }
    trusts(facts)
        .iter()
        .find(|(known, _)| *known == source)
        .map_or_else(Trust::default, |(_, trust)| *trust)
        .weight()
}

/// Updates the trust in a source after a visit to a page that it reported as changed.
pub(crate) fn learn(facts: &mut SiteFacts, source: u8, changed: bool) {
    let mut trusts = trusts(facts);
    let index = trusts
        .iter()
        .position(|(known, _)| *known == source)
        .unwrap_or_else(|| {
            trusts.push((source, Trust::default()));
            trusts.len() - 1
        });
    trusts[index].1.learn(true, changed);
    facts.trust = postcard::to_stdvec(&trusts).unwrap_or_default();
}

fn trusts(facts: &SiteFacts) -> Vec<(u8, Trust)> {
    postcard::from_bytes(&facts.trust).unwrap_or_default()
}

/// Signals that a crawl has taken by renaming their file. The renamed file exists until [`SignalBatch::remove`].
#[derive(Debug)]
pub(crate) struct SignalBatch {
    path: PathBuf,
    pub(crate) signals: Vec<Signal>,
    /// Lines that are not signals.
    pub(crate) invalid_lines: usize,
}

impl SignalBatch {
    /// Renames the file at `path` and reads its signals. If an earlier renamed file still exists, for example after a
    /// crash, reads that file instead.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let taken = path.with_extension("taken");
        if !taken.exists() {
            match fs::rename(path, &taken) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let file = File::open(&taken)?;
        // Wait for a writer that opened the file before it was renamed.
        file.lock()?;
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes)?;
        let mut invalid_lines = 0;
        let mut signals = Vec::new();
        let lines = bytes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(signal) => signals.push(signal),
                Err(_) => invalid_lines += 1,
            }
        }
        Ok(Some(Self {
            path: taken,
            signals,
            invalid_lines,
        }))
    }

    /// Removes the file of these signals. Must be called only when the signals are in the frontier.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: i64) -> Signal {
        Signal {
            url: format!("http://example.org/{number}?q=\"\n"),
            source: Source::Proxy,
            at: number,
        }
    }

    #[test]
    fn signals_are_taken_again_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signals.jsonl");
        assert!(SignalBatch::take(&path).unwrap().is_none());
        signal(&path, &[page(1), page(2)]).unwrap();
        fs::write(
            &path,
            [&fs::read(&path).unwrap()[..], b"{\"url\": 3}\n\xff"].concat(),
        )
        .unwrap();
        signal(&path, &[page(4)]).unwrap();
        let taken = SignalBatch::take(&path).unwrap().unwrap();
        assert_eq!(
            (&taken.signals[..], taken.invalid_lines),
            (&[page(1), page(2), page(4)][..], 2)
        );
        signal(&path, &[page(3)]).unwrap();
        let taken = SignalBatch::take(&path).unwrap().unwrap();
        assert_eq!(taken.signals, [page(1), page(2), page(4)]);
        taken.remove().unwrap();
        let taken = SignalBatch::take(&path).unwrap().unwrap();
        assert_eq!(taken.signals, [page(3)]);
        taken.remove().unwrap();
        assert!(SignalBatch::take(&path).unwrap().is_none());
    }

    #[test]
    fn no_signal_is_lost_between_writers_and_the_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signals.jsonl");
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let path = &path;
                    scope.spawn(move || {
                        for number in 0..200 {
                            signal(path, &[page(writer * 1000 + number)]).unwrap();
                        }
                    })
                })
                .collect();
            let mut ended = false;
            loop {
                while let Some(taken) = SignalBatch::take(&path).unwrap() {
                    assert_eq!(taken.invalid_lines, 0);
                    seen.extend(taken.signals.iter().map(|signal| signal.at));
                    taken.remove().unwrap();
                }
                if ended {
                    break;
                }
                ended = writers
                    .iter()
                    .all(std::thread::ScopedJoinHandle::is_finished);
            }
        });
        seen.sort_unstable();
        let expected: Vec<i64> = (0..4)
            .flat_map(|w| (0..200).map(move |n| w * 1000 + n))
            .collect();
        assert_eq!(seen, expected);
    }
}
