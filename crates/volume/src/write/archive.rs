//! The handle for writing an archive. It starts the threads: workers, one writer, one finisher.
//!
//! [`Archive::append`] puts an exchange into a queue whose size is bounded in bytes. The threads end after
//! [`Archive::close`], or when the last handle is dropped. In both cases they write the queued exchanges first.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};

use crate::duplicates::DuplicateIndex;
use crate::files::disk::{Disk, LocalDisk};
use crate::files::volumes;
use crate::files::write_folders::WriteFolders;
use crate::record::id::RecordIds;
use crate::ship::Shipper;
use crate::ship::thread::{ShipSignal, ShipThread};
use crate::write::discard::DiscardingArchive;
use crate::write::encoder::{Companions, Encoder};
use crate::write::event::ArchiveEvent;
use crate::write::finish::Finisher;
use crate::write::pack::{PackedResponse, Packer};
use crate::write::state::WriteState;
use crate::write::worker::{QueuedExchange, Worker};
use crate::write::writer::{AppendBuffer, VolumeWriter};
use crate::{Exchange, Options, Repairs, Stored, VolumeError, forget, repair};

/// Number of bytes in the queue that one semaphore permit stands for.
const PERMIT_BYTES: u64 = 1024;

/// The archive of one collection, open for writing. This is a handle: all clones write to the same volumes.
#[derive(Debug, Clone)]
pub struct Archive {
    inner: Arc<ArchiveInner>,
}

#[derive(Debug)]
struct ArchiveInner {
    state: Arc<WriteState>,
    /// Free queue size, in units of [`PERMIT_BYTES`].
    queue_permits: Arc<Semaphore>,
    /// Total number of permits. An exchange larger than the queue takes all of them.
    max_permits: u32,
    /// The sending end of the queue; `None` after closing. A mutex of the standard library suffices, because a send
    /// never waits.
    queue: Mutex<Option<Sender<QueuedExchange>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Compresses large responses; `None` in a simulation.
    packer: Option<Arc<Packer>>,
    /// Limits the number of large responses that are compressed at the same time.
    packing: Semaphore,
    /// Set in a simulation, where it replaces the queue and the threads.
    discarding: Option<DiscardingArchive>,
    /// Wakes and ends the thread that uploads volumes.
    ship_signal: Arc<ShipSignal>,
    /// The thread that uploads volumes; `None` without object stores.
    shipping: Mutex<Option<JoinHandle<()>>>,
    /// Stops that thread.
    ship_stop: Arc<AtomicBool>,
    events: Mutex<Option<UnboundedReceiver<ArchiveEvent>>>,
    /// The locked `archive/` directory.
    _lock: Option<ArchiveLock>,
}

impl Archive {
    /// Opens `archive/` and `indexes/` under `dir`, and creates them if they do not exist.
    ///
    /// Volumes that a crash left with the suffix `.open` are repaired first: truncated after the last complete record,
    /// indexed and closed. This reads them completely, at a few hundred megabytes per second. No volume is created
    /// before the first append.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Repairs), VolumeError> {
        Self::open_on(dir, options, Arc::new(LocalDisk))
    }

    pub(crate) fn open_on(
        dir: &Path,
        options: Options,
        disk: Arc<dyn Disk>,
    ) -> Result<(Self, Repairs), VolumeError> {
        let (archive, indexes) = (dir.join("archive"), dir.join("indexes"));
        for folder in [&archive, &indexes] {
            std::fs::create_dir_all(folder)
                .map_err(|source| VolumeError::from_io(folder, source))?;
        }
        let lock = lock(&archive)?;
        let duplicates = Arc::new(DuplicateIndex::open(
            &indexes.join("duplicates"),
            &archive,
            options.dedupe,
            options.dedupe_memory,
        )?);
        let finisher = Finisher {
            disk: disk.clone(),
            indexes: indexes.clone(),
            duplicates,
        };
        forget::complete_changes(dir)?;
        let places = options.places()?;
        let (sender, events) = unbounded_channel();
        let folders = WriteFolders::open(&archive, &places.folders, sender.clone())?;
        let repairs = repair::repair(&archive, folders.unusable(), &finisher)?;
        let counter = volumes::last_counter(&archive, &indexes, options.node)?;
        let max_permits =
            (options.queue_size / PERMIT_BYTES).clamp(1, u64::from(u32::MAX >> 4)) as u32;
        let state = Arc::new(WriteState::default());
        let ids = Arc::new(RecordIds::new());
        let packing = Semaphore::new(options.worker_threads());
        let packer = Packer {
            options: options.clone(),
            ids: ids.clone(),
            folder: archive.clone(),
        };
        let ship_signal = Arc::<ShipSignal>::default();
        let shipper = Shipper::new(dir, &options)?;
        let ship_stop = shipper.stop.clone();
        let shipping = if places.stores.is_empty() {
            None
        } else {
            Some(start_shipping(dir, shipper, &ship_signal, sender)?)
        };
        let finishing = Finishing {
            finisher,
            signal: ship_signal.clone(),
        };
        let writing = Writing {
            disk,
            folders,
            counter,
            ids,
        };
        let (queue, threads) = start_threads(&state, &archive, options, finishing, writing)?;
        let inner = ArchiveInner {
            state,
            queue_permits: Arc::new(Semaphore::new(max_permits as usize)),
            max_permits,
            queue: Mutex::new(Some(queue)),
            threads: Mutex::new(threads),
            packer: Some(Arc::new(packer)),
            packing,
            discarding: None,
            ship_signal,
            shipping: Mutex::new(shipping),
            ship_stop,
            events: Mutex::new(Some(events)),
            _lock: Some(lock),
        };
        Ok((
            Self {
                inner: Arc::new(inner),
            },
            repairs,
        ))
    }

    /// An archive for simulations, which stores nothing and starts no threads. Each [`Archive::sync`] takes the time
    /// `sync`, measured with tokio's clock.
    pub fn discarding(sync: Duration) -> Self {
        let inner = ArchiveInner {
            state: Arc::default(),
            queue_permits: Arc::new(Semaphore::new(0)),
            max_permits: 0,
            queue: Mutex::default(),
            threads: Mutex::default(),
            packer: None,
            packing: Semaphore::new(1),
            discarding: Some(DiscardingArchive::new(sync)),
            ship_signal: Arc::default(),
            shipping: Mutex::default(),
            ship_stop: Arc::default(),
            events: Mutex::default(),
            _lock: None,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Queues an exchange, and waits while the queue is full. The receipt resolves when the records are written. They
    /// become durable with the next [`Archive::sync`]. If this future is dropped before it completes, nothing is
    /// queued.
    pub async fn append(&self, exchange: Exchange) -> Result<Receipt, VolumeError> {
        let inner = &*self.inner;
        if let Some(discarding) = &inner.discarding {
            let (reply, receipt) = oneshot::channel();
            let _ = reply.send(Ok(discarding.discard(&exchange)));
            return Ok(Receipt(receipt));
        }
        inner.state.ensure_not_failed()?;
        let (exchange, packed) = match exchange.large {
            Some(_) => Box::pin(inner.pack(exchange)).await?,
            None => (exchange, None),
        };
        let permits = u32::try_from(exchange.queued_size() / PERMIT_BYTES + 1).unwrap_or(u32::MAX);
        let permits = permits.min(inner.max_permits);
        let permit = inner
            .queue_permits
            .clone()
            .acquire_many_owned(permits)
            .await;
        let permit = permit.map_err(|_| VolumeError::Closed)?;
        let (reply, receipt) = oneshot::channel();
        inner.send(QueuedExchange {
            exchange,
            packed,
            reply,
            permit,
        })?;
        Ok(Receipt(receipt))
    }

    /// Makes durable all exchanges whose receipts resolved before this call. It waits for the disk, so call it once for
    /// many pages.
    pub async fn sync(&self) -> Result<(), VolumeError> {
        if let Some(discarding) = &self.inner.discarding {
            discarding.sync().await;
            return Ok(());
        }
        let state = self.inner.state.clone();
        blocking(move || state.sync()).await?
    }

    /// Writes the queued exchanges, then closes and indexes the open volume. Later appends fail with
    /// [`VolumeError::Closed`].
    ///
    /// Returns the first error of any append or thread. May be called more than once.
    pub async fn close(&self) -> Result<(), VolumeError> {
        if self.inner.discarding.is_some() {
            return Ok(());
        }
        let inner = self.inner.clone();
        blocking(move || inner.stop()).await?;
        self.inner.state.ensure_not_failed()
    }

    /// The events of this archive. Only the first call returns them; later calls return a closed channel.
    pub fn events(&self) -> UnboundedReceiver<ArchiveEvent> {
        let mut events = self
            .inner
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        events.take().unwrap_or_else(|| unbounded_channel().1)
    }

    /// Waits until the closed volumes are uploaded, or until no object store takes them. Call it after
    /// [`Archive::close`]. Without object stores it returns at once.
    pub async fn finish_uploads(&self) -> Result<(), VolumeError> {
        let inner = self.inner.clone();
        inner.ship_signal.end();
        blocking(move || inner.join_shipping()).await
    }

    /// Stops the uploads after the parts that are being sent. The next crawl, or [`crate::ship()`], continues them.
    pub fn stop_uploads(&self) {
        self.inner.stop_shipping();
    }
}

impl ArchiveInner {
    /// Compresses a response whose body is in a file, on a thread of its own. Frees the file of the body.
    async fn pack(
        &self,
        mut exchange: Exchange,
    ) -> Result<(Exchange, Option<Box<PackedResponse>>), VolumeError> {
        let Some(packer) = self.packer.clone() else {
            return Ok((exchange, None));
        };
        let permit = self.packing.acquire().await;
        let result = blocking(move || {
            if let Some(changed) = exchange.with_stored_length() {
                exchange = changed;
            }
            let packed = match exchange.large.take() {
                Some(large) => Some(Box::new(packer.pack(&exchange, &large)?)),
                None => None,
            };
            Ok((exchange, packed))
        })
        .await?;
        drop(permit);
        result.map_err(|error| self.state.fail(error))
    }

    fn stop_shipping(&self) {
        self.ship_stop.store(true, Relaxed);
        self.ship_signal.end();
    }

    fn join_shipping(&self) {
        let thread = self.shipping.lock().expect("lock is not poisoned").take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn send(&self, queued: QueuedExchange) -> Result<(), VolumeError> {
        let queue = self.queue.lock().expect("lock is not poisoned");
        let queue = queue.as_ref().ok_or(VolumeError::Closed)?;
        queue.send(queued).map_err(|_| VolumeError::Closed)
    }

    /// Closes the queue and waits until the threads have written all queued exchanges and ended.
    fn stop(&self) {
        self.queue_permits.close();
        self.queue.lock().expect("lock is not poisoned").take();
        let mut threads = self.threads.lock().expect("lock is not poisoned");
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                self.state.fail(VolumeError::Closed);
            }
        }
    }
}

impl Drop for ArchiveInner {
    /// Closes the archive if it was not closed. Blocks until all queued exchanges are written.
    fn drop(&mut self) {
        self.stop();
        self.stop_shipping();
        self.join_shipping();
    }
}

/// Locks the directory. Without the lock, a second process would repair the volumes that the first one is writing.
pub(crate) fn lock(archive: &Path) -> Result<ArchiveLock, VolumeError> {
    let fault = |source| VolumeError::from_io(archive, source);
    let directory = File::open(archive).map_err(fault)?;
    match directory.try_lock() {
        Ok(()) => Ok(ArchiveLock(directory)),
        Err(TryLockError::WouldBlock) => Err(VolumeError::InUse {
            path: archive.to_path_buf(),
        }),
        Err(TryLockError::Error(source)) => Err(fault(source)),
    }
}

/// The lock on the folder of the volumes, released on drop.
#[derive(Debug)]
pub(crate) struct ArchiveLock(File);

impl Drop for ArchiveLock {
    /// Releases the lock explicitly. Closing the file would release it later if another thread is starting a process,
    /// because the new process has a copy of the open file until its `exec`.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The data that the finisher's thread needs.
struct Finishing {
    finisher: Finisher,
    signal: Arc<ShipSignal>,
}

/// The data that the writer's thread needs.
struct Writing {
    disk: Arc<dyn Disk>,
    folders: WriteFolders,
    /// The last counter that this node has used.
    counter: u32,
    ids: Arc<RecordIds>,
}

/// Starts the thread that uploads volumes.
fn start_shipping(
    dir: &Path,
    shipper: Shipper,
    signal: &Arc<ShipSignal>,
    events: UnboundedSender<ArchiveEvent>,
) -> Result<JoinHandle<()>, VolumeError> {
    let work = ShipThread {
        shipper,
        signal: signal.clone(),
        events,
    };
    let thread = std::thread::Builder::new()
        .name("volume-ship".to_owned())
        .spawn(move || work.run());
    thread.map_err(|source| VolumeError::from_io(dir, source))
}

/// Starts the threads. Returns the sending end of the queue, and the handles to join.
fn start_threads(
    state: &Arc<WriteState>,
    archive: &Path,
    options: Options,
    Finishing { finisher, signal }: Finishing,
    writing: Writing,
) -> Result<(Sender<QueuedExchange>, Vec<JoinHandle<()>>), VolumeError> {
    let (queue, exchanges) = mpsc::channel();
    let (to_writer, writes) = mpsc::channel();
    // While one volume is being finished, at most one other waits, because the index entries of both are in memory.
    let (to_finisher, volumes) = mpsc::sync_channel(1);
    let exchanges = Arc::new(Mutex::new(exchanges));
    let mut threads = Vec::new();
    let mut spawn = |name: String, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name).spawn(work);
        threads.push(thread.map_err(|source| VolumeError::from_io(archive, source))?);
        Ok(())
    };
    for number in 0..options.worker_threads() {
        let worker = Worker {
            state: state.clone(),
            duplicates: finisher.duplicates.clone(),
            ids: writing.ids.clone(),
            encoder: Encoder::new(&options),
            companions: Companions {
                request: options.request_records,
                metadata: options.metadata_records,
            },
            dedupe_minimum: options.dedupe_minimum,
            writer: to_writer.clone(),
        };
        let exchanges = exchanges.clone();
        spawn(
            format!("volume-{number}"),
            Box::new(move || worker.run(&exchanges)),
        )?;
    }
    drop(to_writer); // the writer ends when the last worker has ended
    let writer = VolumeWriter {
        state: state.clone(),
        disk: writing.disk,
        folders: writing.folders,
        encoder: Encoder::new(&options),
        options,
        ids: writing.ids,
        counter: writing.counter,
        finisher: to_finisher,
        current: None,
        buffer: AppendBuffer::default(),
    };
    spawn(
        "volume-write".to_owned(),
        Box::new(move || writer.run(&writes)),
    )?;
    let state = state.clone();
    spawn(
        "volume-finish".to_owned(),
        Box::new(move || finisher.run(&state, &volumes, &signal)),
    )?;
    Ok((queue, threads))
}

/// Runs `work` on a thread on which tokio allows blocking calls.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, VolumeError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| VolumeError::Closed)
}

/// Resolves when the exchange has been written. Dropping it does not cancel the write.
#[derive(Debug)]
#[must_use = "the exchange is written only once the receipt has resolved"]
pub struct Receipt(oneshot::Receiver<Result<Stored, VolumeError>>);

impl Receipt {
    /// Waits until the exchange has been written. Returns the receipt, which can then be awaited without delay, and the
    /// number of bytes that were added to the volume (0 after an error).
    pub async fn written(self) -> (Self, u64) {
        let result = self.await;
        let bytes = result.as_ref().map_or(0, |stored| stored.written);
        let (reply, receipt) = oneshot::channel();
        let _ = reply.send(result);
        (Self(receipt), bytes)
    }
}

impl Future for Receipt {
    type Output = Result<Stored, VolumeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = Pin::new(&mut self.0).poll(context);
        result.map(|result| result.unwrap_or(Err(VolumeError::Closed)))
    }
}
