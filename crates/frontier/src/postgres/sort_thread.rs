//! When and where links are sorted and merged: in a thread of the node, so that check-ins do not wait.
//!
//! The thread ends after one sort and as much time of merges, and the next call of the node starts it again if work is left.
//! Check-ins become slower if links arrive faster than they are sorted. In simulated time there is no thread,
//! because the result must not depend on its speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Postgres;
use super::address::Address;
use super::sort_session::Sorter;
use crate::store_error::StoreError;
use crate::{FrontierError, Options};

/// Time between two looks at the journals and the list of link runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time that the thread spends on merges, if there is something to merge. It spends at least as much time as on the
/// sort before, because otherwise the number of link runs would grow without end.
const MIN_MERGE: Duration = Duration::from_millis(250);
/// If more links than this multiple of [`Options::run_links`] are not sorted yet, each call waits for the sorter, for
/// `BACKLOG_WAIT` at most; at twice as many, it waits for the end of the thread. The links that are being sorted are counted.
const MAX_BACKLOG: i64 = 3;
const BACKLOG_WAIT: Duration = Duration::from_millis(250);
/// Links of which a check-out without due sites waits until they are sorted. It takes some milliseconds.
const MAX_SORTED_AT_ONCE: i64 = 20_000;

/// The sorter of a node, at rest or at work.
#[derive(Debug)]
pub(super) struct SortThread {
    /// `None` while the thread has it.
    sorter: Option<Box<Sorter>>,
    thread: Option<SortJob>,
    horizon: Arc<AtomicI64>,
    last_look: Option<Instant>,
    /// Whether the thread has left work behind.
    has_more: bool,
}

/// The thread, and where it sends the sorter at its end, with whether work is left.
#[derive(Debug)]
struct SortJob {
    thread: JoinHandle<()>,
    end: Receiver<(Box<Sorter>, Result<bool, StoreError>)>,
}

impl SortThread {
    pub(super) fn new(address: Address, options: &Options) -> Result<SortThread, StoreError> {
        let horizon = Arc::new(AtomicI64::new(i64::MAX));
        Ok(SortThread {
            sorter: Some(Box::new(Sorter::new(
                address,
                options,
                Arc::clone(&horizon),
            )?)),
            thread: None,
            horizon,
            last_look: None,
            has_more: false,
        })
    }

    /// Start the thread. `all` and `wait`: see [`Sorter::sort_links`].
    fn start(&mut self, all: bool, wait: bool) -> Result<(), StoreError> {
        let Some(mut sorter) = self.sorter.take() else {
            return Ok(());
        };
        let (ended, end) = channel();
        let work = move || {
            let begun = Instant::now();
            let sorted = sorter.sort_links(all, wait);
            let result = sorted.and_then(|()| sorter.merge_links(MIN_MERGE.max(begun.elapsed())));
            // Nobody receives it when the node is dropped after an error.
            let _ = ended.send((sorter, result));
        };
        let thread = std::thread::Builder::new().name("frontier-sort".to_owned());
        let thread = thread.spawn(work);
        let thread = thread.map_err(StoreError::at_file(std::path::Path::new("thread")))?;
        self.thread = Some(SortJob { thread, end });
        Ok(())
    }

    /// Wait for the thread, for `wait` at most. Returns whether the sorter is at rest.
    fn end(&mut self, wait: Duration) -> Result<bool, StoreError> {
        let Some(job) = &self.thread else {
            return Ok(true);
        };
        let ended = job.end.recv_timeout(wait);
        if matches!(ended, Err(RecvTimeoutError::Timeout)) {
            return Ok(false);
        }
        if let Some(job) = self.thread.take()
            && let Err(panic) = job.thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        let (sorter, result) = ended.map_err(|_| StoreError::Interrupted)?;
        self.sorter = Some(sorter);
        self.has_more = result?;
        Ok(true)
    }
}

impl Drop for SortThread {
    fn drop(&mut self) {
        if let Some(job) = self.thread.take() {
            // What was not sorted is sorted by another node, or at the next start.
            let _ = job.thread.join();
        }
    }
}

/// What there is to do for a sorter.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Number of links that are not sorted.
    links: i64,
    /// Whether links are to be sorted, or runs to be announced or merged.
    has_work: bool,
    /// Whether all link runs were announced to all their sites.
    is_announced: bool,
}

impl Postgres {
    /// Sort and merge beside the calls of this node, or within this call in simulated time and if `budget` has no end.
    /// Returns whether work is left.
    pub(super) fn tidy_links(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        if !self.settings.is_on_database_time || budget == Duration::MAX {
            return self.with_sorter(now, |sorter| {
                sorter.sort_links(false, false)?;
                sorter.merge_links(budget)
            });
        }
        self.publish();
        let is_at_rest = self.end_sort(Duration::ZERO)?;
        let recent = |last: Instant| last.elapsed() < LOOK_INTERVAL;
        if self.sorting.last_look.is_some_and(recent) && !(is_at_rest && self.sorting.has_more) {
            return Ok(!is_at_rest);
        }
        let look = self.look()?;
        let limit = MAX_BACKLOG * self.core.options.run_links.max(1) as i64;
        let is_behind = look.links > limit;
        if is_at_rest && look.has_work {
            // If another node is sorting, the end of the thread shows that it has ended.
            self.start_sort(false, is_behind)?;
        }
        if is_behind {
            let is_far_behind = look.links > 2 * limit;
            self.end_sort(if is_far_behind {
                Duration::MAX
            } else {
                BACKLOG_WAIT
            })?;
        }
        Ok(look.has_work)
    }

    /// Sort all links, because no site is due. If there are many, and this node makes visits, they are sorted in the thread.
    /// Returns false if no site can have become due.
    pub(super) fn sort_for_check_out(&mut self, now: i64) -> Result<bool, FrontierError> {
        if self.settings.is_on_database_time && self.core.leased > 0 {
            self.publish();
            if !self.end_sort(Duration::ZERO)? {
                return Ok(false);
            }
            let look = self.look()?;
            if look.links > MAX_SORTED_AT_ONCE || !look.is_announced {
                self.start_sort(true, false)?;
                return Ok(false);
            }
        }
        // If another node sorts, its links make sites due soon.
        self.with_sorter(now, |sorter| sorter.sort_links(true, false))?;
        Ok(true)
    }

    /// Call the sorter on this thread, when it has ended its work.
    pub(super) fn with_sorter<T>(
        &mut self,
        now: i64,
        work: impl FnOnce(&mut Sorter) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        self.end_sort(Duration::MAX)?;
        // A node that was declared dead is registered anew, and a new horizon is moved to the clock of the sites.
        self.transact(now, |_, _| Ok(()))?;
        self.publish();
        let simulated = (!self.settings.is_on_database_time).then_some(now);
        let result = match self.sorter_of_node(simulated) {
            Some(sorter) => work(sorter),
            None => Err(StoreError::Interrupted),
        };
        result.map_err(|error| self.failed(error))
    }

    /// The sorter, acting for this node; `None` while the thread has it.
    pub(super) fn sorter_of_node(&mut self, simulated: Option<i64>) -> Option<&mut Sorter> {
        let sorter = self.sorting.sorter.as_deref_mut()?;
        sorter.act_for(self.core.store.tables.node.get(), simulated);
        Some(sorter)
    }

    fn start_sort(&mut self, all: bool, wait: bool) -> Result<(), FrontierError> {
        self.sorter_of_node(None);
        let started = self.sorting.start(all, wait);
        started.map_err(|error| self.failed(error))
    }

    /// Wait for the thread, for `wait` at most. Returns whether the sorter is at rest.
    pub(super) fn end_sort(&mut self, wait: Duration) -> Result<bool, FrontierError> {
        let ended = self.sorting.end(wait);
        ended.map_err(|error| self.failed(error))
    }

    /// Let the sorter use the horizon of this node.
    fn publish(&self) {
        let horizon = self.core.store.horizon;
        self.sorting.horizon.store(horizon, Relaxed);
    }

    fn look(&mut self) -> Result<Look, FrontierError> {
        self.sorting.last_look = Some(Instant::now());
        let wanted = self.core.options.run_links.max(1) as i64;
        self.read(|store| {
            let work = store.tables.sort_work()?;
            let is_full = work.journals.iter().any(|links| *links >= wanted);
            let has_work = is_full || !work.is_announced || store.tables.has_merge_work()?;
            Ok(Look {
                links: work.journals.iter().sum(),
                has_work,
                is_announced: work.is_announced,
            })
        })
    }
}
