//! Signals from outside (I5): somebody says that a page has changed, or that there is a new one.
//!
//! Whoever hears of it (a push over HTTP, a proxy's helper, `aranha seed add --now`) appends a line to `signals.jsonl` in
//! the collection, whether a crawl runs there or not, and goes on: no signal ever waits for the crawl. A running crawl
//! takes the file over every second, by renaming it; what it has taken is in the frontier before the file is removed,
//! so that a crash repeats signals and loses none. A signal only ever brings a visit forward (`crates/revisit`, `Trust`).
//!
//! Lines of several writers do not mix, and none is lost between the taking over and the reading: writers hold the
//! file's lock while they write and look whether it is still the file of that name; the reader waits for them.

mod intake;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use aranha_frontier::SiteFacts;
use aranha_revisit::Trust;
use serde::{Deserialize, Serialize};

use crate::collection::files;

/// Who says so. The numbers are on disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Source {
    /// `lastmod` in a sitemap.
    Sitemap = 1,
    /// The date of an entry in a feed.
    Feed = 2,
    /// IndexNow, pushed by the site.
    IndexNow = 3,
    /// WebSub, pushed by a hub.
    WebSub = 4,
    /// A proxy whose users were just served the page.
    Proxy = 5,
    /// The user, who wants it now.
    User = 6,
}

/// One line of the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// The page, as the source wrote it.
    pub url: String,
    /// Who says so.
    pub source: Source,
    /// When it changed, or was served; Unix milliseconds.
    pub at: i64,
}

/// Appends signals to the file at `path`, in one write. Returns when they are handed to the system, not when they are
/// on the disk: a signal is worth less than a sync.
pub fn signal(path: &Path, signals: &[Signal]) -> io::Result<()> {
    let mut lines = Vec::new();
    for signal in signals {
        serde_json::to_writer(&mut lines, signal)?;
        lines.push(b'\n');
    }
    files::append(path, &lines).map(|_| ())
}

/// How far a source is believed about a site, 0 to 1. The user is obeyed, and what a proxy served is there to be had.
pub(crate) fn weigh(facts: &SiteFacts, source: u8) -> f64 {
    if source == Source::User as u8 || source == Source::Proxy as u8 {
        return 1.0;
    }
    trusts(facts)
        .iter()
        .find(|(of, _)| *of == source)
        .map_or_else(Trust::default, |(_, trust)| *trust)
        .weight()
}

/// A page that the source said had changed was visited.
pub(crate) fn learn(facts: &mut SiteFacts, source: u8, changed: bool) {
    let mut trusts = trusts(facts);
    let place = trusts
        .iter()
        .position(|(of, _)| *of == source)
        .unwrap_or_else(|| {
            trusts.push((source, Trust::default()));
            trusts.len() - 1
        });
    trusts[place].1.learn(true, changed);
    facts.trust = postcard::to_stdvec(&trusts).unwrap_or_default();
}

fn trusts(facts: &SiteFacts) -> Vec<(u8, Trust)> {
    postcard::from_bytes(&facts.trust).unwrap_or_default()
}

/// The signals of a collection that a crawl has taken over.
#[derive(Debug)]
pub(crate) struct SignalBatch {
    path: PathBuf,
    pub(crate) signals: Vec<Signal>,
    /// Lines that are no signal.
    pub(crate) broken: usize,
}

impl SignalBatch {
    /// Takes the signals of the file at `path`; those of an earlier crawl that did not get to remove them come first.
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
        // Whoever was writing has written.
        file.lock()?;
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes)?;
        let mut broken = 0;
        let mut signals = Vec::new();
        let lines = bytes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(signal) => signals.push(signal),
                Err(_) => broken += 1,
            }
        }
        Ok(Some(Self {
            path: taken,
            signals,
            broken,
        }))
    }

    /// They are in the frontier.
    pub(crate) fn done(self) -> io::Result<()> {
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
    fn what_is_taken_and_not_done_comes_again() {
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
            (&taken.signals[..], taken.broken),
            (&[page(1), page(2), page(4)][..], 2)
        );
        signal(&path, &[page(3)]).unwrap();
        let taken = SignalBatch::take(&path).unwrap().unwrap();
        assert_eq!(taken.signals, [page(1), page(2), page(4)]);
        taken.done().unwrap();
        let taken = SignalBatch::take(&path).unwrap().unwrap();
        assert_eq!(taken.signals, [page(3)]);
        taken.done().unwrap();
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
                    assert_eq!(taken.broken, 0);
                    seen.extend(taken.signals.iter().map(|signal| signal.at));
                    taken.done().unwrap();
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
