//! The writing side's handle, and the threads behind it: a queue bounded in bytes, workers that hash and compress, one
//! writer, one finisher. They end when the last handle is dropped, or at [`Archive::close`], after the queue is empty.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::duplicates::DuplicateIndex;
use crate::files::disk::{Disk, LocalDisk};
use crate::files::volumes;
use crate::record::id::RecordIds;
use crate::write::discard::DiscardingArchive;
use crate::write::encoder::{Companions, Encoder};
use crate::write::finish::Finisher;
use crate::write::state::WriteState;
use crate::write::worker::{QueuedExchange, Worker};
use crate::write::writer::{AppendBuffer, VolumeWriter};
use crate::{Exchange, Options, Repairs, Stored, VolumeError, repair};

/// Bytes of queue room that one permit stands for.
const UNIT: u64 = 1024;

/// The archive of one collection, open for writing. A handle: clones write to the same files.
#[derive(Debug, Clone)]
pub struct Archive {
    inner: Arc<ArchiveInner>,
}

#[derive(Debug)]
struct ArchiveInner {
    shared: Arc<WriteState>,
    /// Room in the queue, in units of [`UNIT`].
    room: Arc<Semaphore>,
    /// All of it: what an exchange larger than the queue takes.
    room_total: u32,
    /// None when closed. A std mutex: held for a send that never waits.
    jobs: Mutex<Option<Sender<QueuedExchange>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Takes everything in place of the threads.
    sink: Option<DiscardingArchive>,
    /// Locked while this process writes here.
    _lock: Option<File>,
}

impl Archive {
    /// Opens `archive/` and `indexes/` under `dir`, creating them as needed.
    ///
    /// Files left `.open` by a crash are repaired first: cut to the last whole record, indexed, closed. That reads
    /// them through, at some hundred megabytes a second. No file is created before the first append.
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
        let repairs = repair::repair(&archive, &finisher)?;
        let counter = volumes::last_counter(&archive, &indexes, options.node)?;
        let room_total = (options.queue_size / UNIT).clamp(1, u64::from(u32::MAX >> 4)) as u32;
        let shared = Arc::new(WriteState::default());
        let (jobs, threads) = start(&shared, &archive, options, disk, finisher, counter)?;
        let inner = ArchiveInner {
            shared,
            room: Arc::new(Semaphore::new(room_total as usize)),
            room_total,
            jobs: Mutex::new(Some(jobs)),
            threads: Mutex::new(threads),
            sink: None,
            _lock: Some(lock),
        };
        Ok((
            Self {
                inner: Arc::new(inner),
            },
            repairs,
        ))
    }

    /// An archive for simulations: it keeps nothing and starts no thread. `sync`: what [`Archive::sync`] takes, on tokio's
    /// clock.
    pub fn discarding(sync: Duration) -> Self {
        let inner = ArchiveInner {
            shared: Arc::default(),
            room: Arc::new(Semaphore::new(0)),
            room_total: 0,
            jobs: Mutex::default(),
            threads: Mutex::default(),
            sink: Some(DiscardingArchive::new(sync)),
            _lock: None,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Queues an exchange; waits only while the queue is full. The receipt resolves when the records are written,
    /// which is not yet durable: see [`Archive::sync`]. May be cancelled; then nothing was queued.
    pub async fn append(&self, exchange: Exchange) -> Result<Receipt, VolumeError> {
        let inner = &*self.inner;
        if let Some(sink) = &inner.sink {
            let (reply, receipt) = oneshot::channel();
            let _ = reply.send(Ok(sink.take(&exchange)));
            return Ok(Receipt(receipt));
        }
        inner.shared.alive()?;
        let units = u32::try_from(exchange.weight() / UNIT + 1).unwrap_or(u32::MAX);
        let units = units.min(inner.room_total);
        let room = inner.room.clone().acquire_many_owned(units).await;
        let room = room.map_err(|_| VolumeError::Closed)?;
        let (reply, receipt) = oneshot::channel();
        inner.send(QueuedExchange {
            exchange,
            reply,
            room,
        })?;
        Ok(Receipt(receipt))
    }

    /// Everything whose receipt had resolved before this call is on the disk when it returns. Call it for many
    /// pages at once: it costs what the disk takes.
    pub async fn sync(&self) -> Result<(), VolumeError> {
        if let Some(sink) = &self.inner.sink {
            sink.sync().await;
            return Ok(());
        }
        let shared = self.inner.shared.clone();
        blocking(move || shared.sync()).await?
    }

    /// Writes what is queued, closes the file, indexes it. Later appends fail with [`VolumeError::Closed`].
    ///
    /// Fails with what made an append fail before, if one did. Closing twice is no error.
    pub async fn close(&self) -> Result<(), VolumeError> {
        if self.inner.sink.is_some() {
            return Ok(());
        }
        let inner = self.inner.clone();
        blocking(move || inner.stop()).await?;
        self.inner.shared.alive()
    }
}

impl ArchiveInner {
    fn send(&self, job: QueuedExchange) -> Result<(), VolumeError> {
        let jobs = self.jobs.lock().expect("no panic while held");
        let jobs = jobs.as_ref().ok_or(VolumeError::Closed)?;
        jobs.send(job).map_err(|_| VolumeError::Closed)
    }

    /// Ends the threads; returns when all is written.
    fn stop(&self) {
        self.room.close();
        self.jobs.lock().expect("no panic while held").take();
        let mut threads = self.threads.lock().expect("no panic while held");
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                self.shared.fail(VolumeError::Closed);
            }
        }
    }
}

impl Drop for ArchiveInner {
    /// An archive that was not closed is closed now, and whoever drops it waits.
    fn drop(&mut self) {
        self.stop();
    }
}

/// Two writers would repair each other's files: only one may have the directory.
fn lock(archive: &Path) -> Result<File, VolumeError> {
    let fault = |source| VolumeError::from_io(archive, source);
    let directory = File::open(archive).map_err(fault)?;
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(TryLockError::WouldBlock) => Err(VolumeError::InUse {
            path: archive.to_path_buf(),
        }),
        Err(TryLockError::Error(source)) => Err(fault(source)),
    }
}

fn start(
    shared: &Arc<WriteState>,
    archive: &Path,
    options: Options,
    disk: Arc<dyn Disk>,
    finisher: Finisher,
    counter: u32,
) -> Result<(Sender<QueuedExchange>, Vec<JoinHandle<()>>), VolumeError> {
    let ids = Arc::new(RecordIds::new());
    let (jobs, queue) = mpsc::channel();
    let (parcels, ordered) = mpsc::channel();
    // One waiting and one at work: more would hold the index entries of more files in memory.
    let (finished, volumes) = mpsc::sync_channel(1);
    let queue = Arc::new(Mutex::new(queue));
    let mut threads = Vec::new();
    let mut spawn = |name: String, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name).spawn(work);
        threads.push(thread.map_err(|source| VolumeError::from_io(archive, source))?);
        Ok(())
    };
    for number in 0..options.packers() {
        let worker = Worker {
            shared: shared.clone(),
            duplicates: finisher.duplicates.clone(),
            ids: ids.clone(),
            encoder: Encoder::new(&options),
            companions: Companions {
                request: options.request_records,
                metadata: options.metadata_records,
            },
            minimum: options.dedupe_minimum,
            parcels: parcels.clone(),
        };
        let queue = queue.clone();
        spawn(
            format!("volume-{number}"),
            Box::new(move || worker.run(&queue)),
        )?;
    }
    drop(parcels);
    let writer = VolumeWriter {
        shared: shared.clone(),
        disk,
        archive: archive.to_path_buf(),
        encoder: Encoder::new(&options),
        options,
        ids,
        counter,
        finished,
        current: None,
        block: AppendBuffer::default(),
    };
    spawn(
        "volume-write".to_owned(),
        Box::new(move || writer.run(&ordered)),
    )?;
    let shared = shared.clone();
    spawn(
        "volume-finish".to_owned(),
        Box::new(move || finisher.run(&shared, &volumes)),
    )?;
    Ok((jobs, threads))
}

/// Runs what waits for the disk away from the runtime's own threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, VolumeError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| VolumeError::Closed)
}

/// Resolves when the exchange has been written. May be dropped: the exchange is written all the same.
#[derive(Debug)]
#[must_use = "the exchange is known to be written only when the receipt has resolved"]
pub struct Receipt(oneshot::Receiver<Result<Stored, VolumeError>>);

impl Future for Receipt {
    type Output = Result<Stored, VolumeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.0).poll(context);
        answer.map(|answer| answer.unwrap_or(Err(VolumeError::Closed)))
    }
}
