//! The threads that read pages (M6; Viuva Negra 5.2): a reader that panics or takes too long costs its page, not the
//! crawl.
//!
//! Pages are read on tokio's blocking threads, at most one per processor. A thread cannot be ended from outside. So a
//! reader that exceeds its time limit is abandoned: its page is recorded as failed, and another thread takes its place.
//! If [`MAX_ABANDONED`] abandoned readers are still running, the crawl stops, because each of them may occupy a
//! processor and hold a page in memory (docs/decisions/0012-faults.md).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

/// Number of abandoned readers at which the crawl stops.
pub(crate) const MAX_ABANDONED: isize = 16;
/// Minimum time limit for reading a page, however long the fetch took.
const MIN_READING_TIME: Duration = Duration::from_secs(5);

/// Runs readers on other threads, or in place in a simulation.
#[derive(Debug)]
pub(crate) struct ReaderThreads {
    /// One permit per reader that may run; `None` if readers run in place.
    running: Option<Semaphore>,
    /// Readers that exceeded their time limit and are still running.
    abandoned: Arc<AtomicIsize>,
}

/// Why a page could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReaderFault {
    /// The reader panicked with this message.
    Panic(String),
    /// The reader was abandoned after this time. `abandoned`: the number of abandoned readers that are still running.
    TooSlow { limit: Duration, abandoned: isize },
}

impl std::fmt::Display for ReaderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "the reader of the page panicked: {message}"),
            Self::TooSlow { limit, .. } => {
                let limit = aranha_units::duration::format(*limit);
                write!(f, "reading the page took longer than {limit}")
            }
        }
    }
}

impl ReaderThreads {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            running: Some(Semaphore::new(processors)),
            abandoned: Arc::default(),
        }
    }

    /// Readers run on the thread of the caller, without a time limit, so that simulations are deterministic.
    pub(crate) fn in_place() -> Self {
        Self {
            running: None,
            abandoned: Arc::default(),
        }
    }

    /// Runs `read` and returns its result. `limit` begins when the reader starts.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReaderFault> {
        let read = move || {
            catch_unwind(AssertUnwindSafe(read))
                .map_err(|panic| ReaderFault::Panic(panic_message(&*panic)))
        };
        let Some(running) = &self.running else {
            return read();
        };
        let _permit = running.acquire().await;
        let (sender, receiver) = oneshot::channel();
        let abandoned = Arc::clone(&self.abandoned);
        tokio::task::spawn_blocking(move || {
            if sender.send(read()).is_err() {
                abandoned.fetch_sub(1, Relaxed);
            }
        });
        // The reader is also abandoned if this future is cancelled.
        let reader = WaitedReader(&self.abandoned);
        if let Ok(result) = tokio::time::timeout(limit, receiver).await {
            std::mem::forget(reader);
            return result.expect("the reader sends a result, also after a panic");
        }
        drop(reader);
        let abandoned = self.abandoned.load(Relaxed);
        Err(ReaderFault::TooSlow { limit, abandoned })
    }
}

/// Counts a reader as abandoned when it is dropped.
struct WaitedReader<'a>(&'a AtomicIsize);

impl Drop for WaitedReader<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The time limit for reading a page: what the fetch left of `fetch.total_timeout`, at least [`MIN_READING_TIME`].
pub(crate) fn reading_time(total_timeout: Duration, fetch: Duration) -> Duration {
    total_timeout.saturating_sub(fetch).max(MIN_READING_TIME)
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_panic_is_returned_as_a_fault() {
        for readers in [ReaderThreads::new(), ReaderThreads::in_place()] {
            let fault = readers.run(LONG, || panic!("page {}", 7)).await;
            assert_eq!(fault, Err::<(), _>(ReaderFault::Panic("page 7".to_owned())));
            assert_eq!(readers.run(LONG, || 7).await, Ok(7));
        }
    }

    /// More readers hang than may run at once. Other pages are still read. Readers that return later are no longer
    /// counted.
    #[tokio::test]
    async fn a_reader_that_does_not_return_is_abandoned() {
        let readers = ReaderThreads::new();
        let hung = std::thread::available_parallelism().unwrap().get() + 2;
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        for abandoned in 1..=hung as isize {
            let released = Arc::clone(&released);
            let wait = move || {
                let _ = released.lock().unwrap().recv();
            };
            let fault = readers.run(SHORT, wait).await;
            let limit = SHORT;
            assert_eq!(fault, Err(ReaderFault::TooSlow { limit, abandoned }));
            assert_eq!(readers.run(LONG, || 7).await, Ok(7));
        }
        drop(release);
        while readers.abandoned.load(Relaxed) != 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn the_time_limit_covers_fetch_and_reading() {
        let seconds = Duration::from_secs;
        assert_eq!(reading_time(seconds(60), seconds(20)), seconds(40));
        assert_eq!(reading_time(seconds(60), seconds(59)), MIN_READING_TIME);
        assert_eq!(reading_time(seconds(60), seconds(61)), MIN_READING_TIME);
    }
}
