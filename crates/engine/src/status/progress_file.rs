//! `logs/progress.json`: the state of the running crawl or, if none is running, of the last crawl. `aranha status`
//! reads this file. A running crawl rewrites it about once per second. If a crawl is killed, its last state stays in
//! the file, without an end.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::speed::Speed;
use super::tally::Tally;

/// The state of a crawl. Times are unix milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Id of the process.
    pub process: u32,
    /// When the crawl began.
    pub started: i64,
    /// When this state was written.
    pub time: i64,
    /// The latest time in any state that a crawl of the collection wrote. It is later than `time` if the clock was set
    /// back.
    pub latest: i64,
    /// Pages fetched in this crawl.
    pub pages: u64,
    /// Pages per second over the last few seconds.
    pub pages_per_second: f64,
    /// Sites being visited.
    pub active_visits: u64,
    /// Whether DNS lookups fail, so that the crawl pauses.
    pub dns_outage: bool,
    /// Whether a proxy cannot be reached, so that requests wait.
    #[serde(default)]
    pub proxy_outage: bool,
    /// Why the crawl ended; `None` while it is running and after it was killed.
    pub ended: Option<String>,
}

impl Progress {
    /// Reads the file. `None` if it does not exist or is not valid.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

/// The outages that make the crawl wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outages {
    /// DNS lookups fail.
    pub(crate) dns: bool,
    /// A proxy cannot be reached.
    pub(crate) proxy: bool,
}

/// Writes the file during a crawl.
#[derive(Debug)]
pub(crate) struct ProgressFile {
    path: PathBuf,
    began: Instant,
    speed: Speed,
    progress: Progress,
}

impl ProgressFile {
    /// The file of a crawl that begins at `now`.
    pub(crate) fn start(path: PathBuf, now: i64) -> Self {
        let last = Progress::read(&path);
        let latest = last.map_or(now, |last| last.latest.max(now));
        Self {
            path,
            began: Instant::now(),
            speed: Speed::default(),
            progress: Progress {
                process: std::process::id(),
                started: now,
                latest,
                ..Progress::default()
            },
        }
    }

    /// How far the clock is behind the latest time of an earlier crawl, in milliseconds.
    pub(crate) fn clock_behind(&self) -> i64 {
        self.progress.latest - self.progress.started
    }

    /// Writes the current state. Errors are ignored, because the file is only for display.
    pub(crate) fn update(&mut self, now: i64, tally: &Tally, outages: Outages) {
        let progress = &mut self.progress;
        progress.time = now;
        progress.latest = progress.latest.max(now);
        progress.pages = tally.pages;
        progress.pages_per_second = self.speed.update(self.began.elapsed(), tally.pages);
        progress.active_visits = tally.active_visits;
        progress.dns_outage = outages.dns;
        progress.proxy_outage = outages.proxy;
        self.write();
    }

    /// Writes the final state.
    pub(crate) fn end(mut self, now: i64, tally: &Tally, reason: String) {
        self.progress.ended = Some(reason);
        self.update(now, tally, Outages::default());
    }

    fn write(&self) {
        let temporary = self.path.with_extension("json.new");
        let text = serde_json::to_vec(&self.progress).expect("the state is valid JSON");
        let _ =
            std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_latest_time_survives_a_clock_that_is_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.json");
        let start = |now| ProgressFile::start(path.clone(), now);
        assert_eq!(start(0).clock_behind(), 0);
        start(5000).update(9000, &Tally::default(), Outages::default());
        let read = Progress::read(&path).unwrap();
        assert_eq!((read.time, read.ended), (9000, None));
        start(2000).end(3000, &Tally::default(), "finished".to_owned());
        let read = Progress::read(&path).unwrap();
        assert_eq!((read.time, read.latest), (3000, 9000));
        assert_eq!(start(4000).clock_behind(), 5000);
        std::fs::write(&path, "{\"process\":").unwrap();
        assert_eq!(Progress::read(&path), None);
    }
}
