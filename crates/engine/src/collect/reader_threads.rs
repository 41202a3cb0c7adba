//! The threads that read pages (M6; Viuva Negra 5.2). If a reader panics or takes too long, its page fails, but the
//! crawl goes on.
//!
//! A small page is read on the runtime's worker thread that received the page, because another thread would cost two
//! context switches. A large page is read on one of tokio's blocking threads, so that the other tasks of the worker
//! thread are not delayed.
//!
//! A thread cannot be ended from outside. So a reader that exceeds its time limit is abandoned: it keeps its thread,
//! and its page is recorded as failed. Tokio replaces a blocking thread, but not a worker thread. For this reason **one
//! worker thread never reads pages**. If readers occupy all other worker threads, this thread runs the tasks of the
//! crawl, and further pages are read on blocking threads. If [`MAX_ABANDONED`] abandoned readers are still running, the
//! crawl stops, because each of them may occupy a processor and hold a page in memory (docs/decisions/0012-faults.md).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

/// Number of abandoned readers at which the crawl stops.
pub(crate) const MAX_ABANDONED: isize = 16;
/// Minimum time limit for reading a page, even if the fetch has used up `fetch.total_timeout`.
const MIN_READING_TIME: Duration = Duration::from_secs(5);
/// Maximum size of a page that is read on a worker thread. Reading it takes a few milliseconds.
const MAX_SMALL_PAGE: usize = 1 << 20;

/// Runs readers on worker threads and blocking threads, or in place in a simulation.
#[derive(Debug)]
pub(crate) struct ReaderThreads {
    /// `None` in a simulation, in which every reader runs on the thread of its caller.
    permits: Option<Permits>,
    /// Readers that exceeded their time limit and are still running.
    abandoned: Arc<AtomicIsize>,
}

/// One permit per reader that may run.
#[derive(Debug)]
struct Permits {
    /// For worker threads. A reader keeps its permit until it returns, even if it is abandoned.
    on_workers: Arc<Semaphore>,
    /// For blocking threads. A permit is returned when its reader is abandoned.
    on_blocking_threads: Semaphore,
}

/// Why a page could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReaderFault {
    /// The reader panicked with this message.
    Panic(String),
    /// The reader was abandoned after the time `limit`. `abandoned`: the number of abandoned readers that are still
    /// running.
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
    /// Must be called inside the runtime on which the pages will be read.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = Handle::current().metrics().num_workers();
        Self {
            permits: Some(Permits {
                on_workers: Arc::new(Semaphore::new(workers - 1)),
                on_blocking_threads: Semaphore::new(processors),
            }),
            abandoned: Arc::default(),
        }
    }

    /// Readers run on the thread of the caller, without a time limit, so that simulations are deterministic.
    pub(crate) fn in_place() -> Self {
        Self {
            permits: None,
            abandoned: Arc::default(),
        }
    }

    /// Runs `read`, the reader of a page of `size` bytes, and returns its result. The reader is abandoned after the
    /// time `limit`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        size: usize,
        limit: Duration,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReaderFault> {
        let read = move || {
            catch_unwind(AssertUnwindSafe(read))
                .map_err(|panic| ReaderFault::Panic(panic_message(&*panic)))
        };
        let Some(permits) = &self.permits else {
            return read();
        };
        let (sender, receiver) = oneshot::channel();
        let abandoned = Arc::clone(&self.abandoned);
        let read_and_send = move || {
            if sender.send(read()).is_err() {
                abandoned.fetch_sub(1, Relaxed);
            }
        };
        let on_worker = Arc::clone(&permits.on_workers);
        let mut _permit = None;
        if size <= MAX_SMALL_PAGE
            && let Ok(permit) = on_worker.try_acquire_owned()
        {
            // The task usually runs next on this worker thread.
            tokio::spawn(async move {
                read_and_send();
                drop(permit);
            });
        } else {
            _permit = permits.on_blocking_threads.acquire().await.ok();
            tokio::task::spawn_blocking(read_and_send);
        }
        // The reader is also abandoned if this future is cancelled.
        let mut reader = WaitedReader {
            result: receiver,
            is_received: false,
            abandoned: &self.abandoned,
        };
        if let Ok(result) = tokio::time::timeout(limit, &mut reader.result).await {
            reader.is_received = true;
            return result.expect("the reader sends a result, also after a panic");
        }
        drop(reader);
        let abandoned = self.abandoned.load(Relaxed);
        Err(ReaderFault::TooSlow { limit, abandoned })
    }
}

/// Represents a running reader for the task that waits for its result. If this value is dropped before the reader has
/// sent its result, the reader is abandoned.
struct WaitedReader<'a, T> {
    result: oneshot::Receiver<T>,
    is_received: bool,
    abandoned: &'a AtomicIsize,
}

impl<T> Drop for WaitedReader<'_, T> {
    fn drop(&mut self) {
        // A reader whose result arrives after this call counts itself as finished.
        self.result.close();
        if !self.is_received && self.result.try_recv().is_err() {
            self.abandoned.fetch_add(1, Relaxed);
        }
    }
}

/// The time limit for reading a page: the part of `fetch.total_timeout` that the fetch did not use, but at least
/// [`MIN_READING_TIME`].
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
    use std::task::{Context, Poll};

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    const SIZES: [usize; 2] = [1, MAX_SMALL_PAGE + 1];

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panic_is_returned_as_a_fault() {
        for readers in [ReaderThreads::new(), ReaderThreads::in_place()] {
            for size in SIZES {
                let fault = readers.run(size, LONG, || panic!("page {}", 7)).await;
                assert_eq!(fault, Err::<(), _>(ReaderFault::Panic("page 7".to_owned())));
                assert_eq!(readers.run(size, LONG, || 7).await, Ok(7));
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn only_small_pages_are_read_on_worker_threads() {
        let readers = ReaderThreads::new();
        for (size, free) in [(MAX_SMALL_PAGE, 0), (MAX_SMALL_PAGE + 1, 1)] {
            let on_workers = Arc::clone(&readers.permits.as_ref().unwrap().on_workers);
            let read = move || on_workers.available_permits();
            assert_eq!(readers.run(size, LONG, read).await, Ok(free));
        }
    }

    /// More readers hang than there are threads for readers. Other pages are still read, and other tasks still run.
    /// Readers that return later are no longer counted.
    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn a_reader_that_does_not_return_is_abandoned() {
        for size in SIZES {
            let readers = ReaderThreads::new();
            let hung = 3 + std::thread::available_parallelism().unwrap().get();
            let (release, released) = std::sync::mpsc::channel::<()>();
            let released = Arc::new(std::sync::Mutex::new(released));
            for abandoned in 1..=hung as isize {
                let released = Arc::clone(&released);
                let wait = move || {
                    let _ = released.lock().unwrap().recv();
                };
                let fault = readers.run(size, SHORT, wait).await;
                let limit = SHORT;
                assert_eq!(fault, Err(ReaderFault::TooSlow { limit, abandoned }));
                for size in SIZES {
                    assert_eq!(readers.run(size, LONG, || 7).await, Ok(7));
                }
                assert_eq!(tokio::spawn(async { 7 }).await.unwrap(), 7);
            }
            drop(release);
            while readers.abandoned.load(Relaxed) != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// A visit can be ended after a reader has sent its result and before the visit has received the result.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_that_has_finished_is_not_abandoned() {
        let readers = ReaderThreads::new();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let mut waiting = Box::pin(readers.run(1, LONG, move || released.recv()));
        // The first poll starts the reader, which waits to be released. The future is not polled again.
        let poll =
            |context: &mut Context<'_>| Poll::Ready(waiting.as_mut().poll(context).is_pending());
        assert!(std::future::poll_fn(poll).await);
        drop(release);
        let on_workers = &readers.permits.as_ref().unwrap().on_workers;
        // The reader gives its permit back after it has sent its result.
        drop(on_workers.acquire().await.unwrap());
        drop(waiting);
        assert_eq!(readers.abandoned.load(Relaxed), 0);
    }

    #[test]
    fn the_time_limit_covers_fetch_and_reading() {
        let seconds = Duration::from_secs;
        assert_eq!(reading_time(seconds(60), seconds(20)), seconds(40));
        assert_eq!(reading_time(seconds(60), seconds(59)), MIN_READING_TIME);
        assert_eq!(reading_time(seconds(60), seconds(61)), MIN_READING_TIME);
    }
}
