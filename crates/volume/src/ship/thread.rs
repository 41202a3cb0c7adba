//! The thread that uploads volumes while a crawl runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::files::store_journal::{StoreJournal, UploadLock};
use crate::files::volumes::Volume;
use crate::ship::{self, ShipError, Shipper};
use crate::write::event::ArchiveEvent;

/// Waiting time after the first failure of a store. It doubles with each failure, up to [`MAX_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);
/// Waiting time while another process uploads volumes of this collection.
const LOCK_DELAY: Duration = Duration::from_secs(2);

/// Wakes and ends the thread.
#[derive(Debug, Default)]
pub(crate) struct ShipSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    /// Number of volumes that were finished.
    finished: u64,
    /// Set when no more volumes will be finished. The thread then ends when it has uploaded all volumes, or when no
    /// store works.
    ending: bool,
}

impl ShipSignal {
    /// Record that a volume was finished.
    pub(crate) fn volume_finished(&self) {
        self.update(|state| state.finished += 1);
    }

    /// Record that no more volumes will be finished.
    pub(crate) fn end(&self) {
        self.update(|state| state.ending = true);
    }

    fn update(&self, change: impl FnOnce(&mut SignalState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn is_ending(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ending
    }

    /// Waits until more than `seen` volumes are finished, the archive ends, or the delay is over. Returns the number of
    /// finished volumes.
    fn wait(&self, seen: u64, delay: Option<Duration>, stop: &AtomicBool) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |state: &mut SignalState| {
            let new = delay.is_none() && state.finished > seen;
            !(new || state.ending || stop.load(Relaxed))
        };
        let state = match delay {
            None => self.changed.wait_while(state, is_idle),
            Some(delay) => {
                let waited = self.changed.wait_timeout_while(state, delay, is_idle);
                waited.map(|(state, _)| state).map_err(|error| {
                    let (state, _) = error.into_inner();
                    PoisonError::new(state)
                })
            }
        };
        state.unwrap_or_else(PoisonError::into_inner).finished
    }
}

/// A store that failed.
struct Outage {
    began: Instant,
    delay: Duration,
    retry: Instant,
}

/// The thread.
pub(crate) struct ShipThread {
    pub(crate) shipper: Shipper,
    pub(crate) signal: Arc<ShipSignal>,
    pub(crate) events: UnboundedSender<ArchiveEvent>,
}

impl ShipThread {
    /// Runs until the archive ends or the shipper is asked to stop.
    pub(crate) fn run(self) {
        if let Err(error) = self.upload_all() {
            let problem = error.into_volume_error().to_string();
            tracing::info!(%problem, "uploads ended");
            let _ = self.events.send(ArchiveEvent::UploadsFailed { problem });
        }
    }

    fn upload_all(&self) -> Result<(), ShipError> {
        let archive = &self.shipper.archive;
        let _lock = loop {
            if let Some(lock) = UploadLock::acquire(&self.shipper.indexes)? {
                break lock;
            }
            if self.is_stopped() || self.signal.is_ending() {
                return Ok(());
            }
            self.signal
                .wait(u64::MAX, Some(LOCK_DELAY), &self.shipper.stop);
        };
        let mut outages: BTreeMap<&str, Outage> = BTreeMap::new();
        let mut unreadable: BTreeSet<String> = BTreeSet::new();
        let mut seen = 0;
        let mut dropped = false;
        while !self.is_stopped() {
            let is_ending = self.signal.is_ending();
            let journal = StoreJournal::read(archive)?;
            let mut waiting = ship::waiting(archive, &journal)?;
            waiting.retain(|volume| !unreadable.contains(&volume.name()));
            let Some(volume) = waiting.first() else {
                if !dropped {
                    dropped = true;
                    self.drop_local_copies();
                }
                if is_ending {
                    return Ok(());
                }
                seen = self.signal.wait(seen, None, &self.shipper.stop);
                continue;
            };
            match self.upload(volume, &mut outages, is_ending) {
                Ok(true) => {}
                Ok(false) if is_ending => return Ok(()),
                Ok(false) => {
                    let retry = outages.values().map(|outage| outage.retry).min();
                    let delay = retry.map(|at| at.saturating_duration_since(Instant::now()));
                    self.signal.wait(seen, delay, &self.shipper.stop);
                }
                Err(ShipError::Stopped) => return Ok(()),
                Err(error) => {
                    unreadable.insert(volume.name());
                    let problem = error.into_volume_error().to_string();
                    let _ = self.events.send(ArchiveEvent::UploadsFailed { problem });
                }
            }
        }
        Ok(())
    }

    /// Uploads a volume to the first store that works. Returns false if none does. If `last` is false, stores whose
    /// delay after a failure is not over are skipped.
    fn upload<'a>(
        &'a self,
        volume: &Volume,
        outages: &mut BTreeMap<&'a str, Outage>,
        last: bool,
    ) -> Result<bool, ShipError> {
        for store in &self.shipper.stores {
            let outage = outages.get(store.as_str());
            if !last && outage.is_some_and(|outage| outage.retry > Instant::now()) {
                continue;
            }
            match self.shipper.upload(volume, store) {
                Ok(()) => {
                    if let Some(outage) = outages.remove(store.as_str()) {
                        let _ = self.events.send(ArchiveEvent::StoreUp {
                            store: short(store),
                            seconds: outage.began.elapsed().as_secs(),
                        });
                    }
                    return Ok(true);
                }
                Err(ShipError::Store(error)) => {
                    let now = Instant::now();
                    let outage = outages.entry(store).or_insert_with(|| {
                        let _ = self.events.send(ArchiveEvent::StoreDown {
                            store: error.store.clone(),
                            problem: error.problem.clone(),
                        });
                        Outage {
                            began: now,
                            delay: FIRST_DELAY / 2,
                            retry: now,
                        }
                    });
                    outage.delay = (outage.delay * 2).min(MAX_DELAY);
                    outage.retry = now + outage.delay;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Removes local files of earlier crawls. A failure is only reported.
    fn drop_local_copies(&self) {
        if let Err(error) = self.shipper.drop_local_copies() {
            let problem = error.into_volume_error().to_string();
            let _ = self.events.send(ArchiveEvent::UploadsFailed { problem });
        }
    }

    fn is_stopped(&self) -> bool {
        self.shipper.stop.load(Relaxed)
    }
}

/// The address of a store without endpoint and region.
fn short(store: &str) -> String {
    store.split('?').next().unwrap_or_default().to_owned()
}
