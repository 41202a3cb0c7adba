//! The one thread that writes. Takes encoded exchanges in the order of their tickets, gathers them into large blocks,
//! appends, answers the receipts; rolls to the next file when one is full.
//!
//! What always holds: the file on the disk ends with a whole exchange, or is cut back to that when an append fails;
//! a file is durable before the next one is begun.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::files::disk::{Disk, OutputFile};
use crate::files::name::{self, OPEN};
use crate::index::entry::IndexEntry;
use crate::record::id::RecordIds;
use crate::record::revisit::Original;
use crate::write::encoder::{EncodedExchange, Encoder};
use crate::write::finish::WrittenVolume;
use crate::write::state::WriteState;
use crate::{Options, Stored, VolumeError, VolumeId};

/// An append to the file has at least this many bytes while there is more to write.
const BLOCK: usize = 1 << 20;
/// How long more is waited for when the first exchange of a block has come.
const GATHERING: Duration = Duration::from_millis(2);
/// A file is rolled at this many exchanges, however small: their index entries are kept in memory until then.
const MOST_EXCHANGES: usize = 200_000;

/// An exchange on its way from a worker to the file.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub(crate) encoded: EncodedExchange,
    /// Told its place when this exchange is one that others may refer to.
    pub(crate) original: Option<Arc<Original>>,
    pub(crate) reply: oneshot::Sender<Result<Stored, VolumeError>>,
    /// Its share of the queue, given back when it is dropped.
    pub(crate) room: OwnedSemaphorePermit,
}

/// A ticket, with what came of it; nothing when the worker failed.
pub(crate) type TicketedWrite = (u64, Option<Box<WriteRequest>>);

/// The state of the writing thread.
pub(crate) struct VolumeWriter {
    pub(crate) shared: Arc<WriteState>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) archive: PathBuf,
    pub(crate) options: Options,
    pub(crate) encoder: Encoder,
    pub(crate) ids: Arc<RecordIds>,
    /// Counter of the last volume that this node has begun.
    pub(crate) counter: u32,
    pub(crate) finished: SyncSender<WrittenVolume>,
    pub(crate) current: Option<OpenVolume>,
    pub(crate) block: AppendBuffer,
}

/// The file being written.
pub(crate) struct OpenVolume {
    id: VolumeId,
    name: String,
    path: PathBuf,
    output: Arc<dyn OutputFile>,
    /// Bytes in the file; all whole exchanges.
    length: u64,
    entries: Vec<IndexEntry>,
}

/// Exchanges that go to the file in one append.
#[derive(Default)]
pub(crate) struct AppendBuffer {
    bytes: Vec<u8>,
    waiting: Vec<BufferedExchange>,
}

struct BufferedExchange {
    entry: IndexEntry,
    stored: Stored,
    reply: oneshot::Sender<Result<Stored, VolumeError>>,
    _room: OwnedSemaphorePermit,
}

impl VolumeWriter {
    /// Runs until all workers are gone; then closes the file.
    pub(crate) fn run(mut self, parcels: &Receiver<TicketedWrite>) {
        let mut early: BTreeMap<u64, Option<Box<WriteRequest>>> = BTreeMap::new();
        let mut next = 0;
        while let Ok((ticket, parcel)) = parcels.recv() {
            early.insert(ticket, parcel);
            // What comes meanwhile wakes nobody, and goes to the file in the same append.
            std::thread::sleep(GATHERING);
            early.extend(parcels.try_iter());
            while let Some(parcel) = early.remove(&next) {
                next += 1;
                if let Some(parcel) = parcel {
                    self.take(*parcel);
                }
            }
            // Nothing more is ready: whoever waits for a receipt should not wait for others.
            self.flush();
        }
        self.flush();
        self.close();
    }

    fn take(&mut self, parcel: WriteRequest) {
        if let Err(error) = self.shared.alive() {
            let _ = parcel.reply.send(Err(error));
            return;
        }
        if self.current.is_none()
            && let Err(error) = self.create()
        {
            let _ = parcel.reply.send(Err(self.shared.fail(error)));
            return;
        }
        let Some(current) = &self.current else { return };
        let offset = current.length + self.block.bytes.len() as u64;
        self.block.push(parcel, current.id, offset);
        let exchanges = current.entries.len() + self.block.waiting.len();
        let length = current.length + self.block.bytes.len() as u64;
        let full = length >= self.options.roll_size || exchanges >= MOST_EXCHANGES;
        if full || self.block.bytes.len() >= BLOCK {
            self.flush();
        }
        if full {
            self.close();
        }
    }

    /// Begins the next file: its name is durable, its warcinfo record goes with the first block.
    fn create(&mut self) -> Result<(), VolumeError> {
        let now_ms = Timestamp::now().as_millisecond();
        let counter = self.counter + 1;
        let id = VolumeId::new(self.options.node, counter);
        let name = name::compose(&self.options.prefix, now_ms, id, self.options.compression);
        let path = self.archive.join(format!("{name}{OPEN}"));
        let fault = |source| VolumeError::from_io(&path, source);
        let output = self.disk.create(&path).map_err(fault)?;
        self.disk.sync_directory(&self.archive).map_err(fault)?;
        let (record_id, fields) = (self.ids.next(), &self.options.warcinfo);
        let warcinfo = self.encoder.warcinfo(record_id, now_ms, &name, fields);
        self.block.bytes.extend_from_slice(&warcinfo);
        self.counter = counter;
        tracing::info!(volume = %name, "volume opened");
        self.shared
            .set_current(Some((path.clone(), output.clone())));
        self.current = Some(OpenVolume {
            id,
            name,
            path,
            output,
            length: 0,
            entries: Vec::new(),
        });
        Ok(())
    }

    /// Appends the block and answers for it. When that fails, the file is cut back to where it was.
    fn flush(&mut self) {
        let Some(current) = &mut self.current else {
            return;
        };
        if self.block.bytes.is_empty() {
            return;
        }
        let result = current.output.append(&self.block.bytes);
        if let Err(source) = result {
            let torn = current.output.cut(current.length).is_err();
            let error = self
                .shared
                .fail(VolumeError::from_io(&current.path, source));
            if torn {
                self.current = None; // left `.open`, for the next start to repair
            }
            self.block.bytes.clear();
            for waiting in self.block.waiting.drain(..) {
                let _ = waiting.reply.send(Err(error.clone()));
            }
            return;
        }
        current.length += self.block.bytes.len() as u64;
        self.block.bytes.clear();
        self.block.bytes.shrink_to(4 * BLOCK);
        for waiting in self.block.waiting.drain(..) {
            current.entries.push(waiting.entry);
            let _ = waiting.reply.send(Ok(waiting.stored)); // nobody has to wait for it
        }
    }

    /// Makes the file durable and hands it to the finisher.
    fn close(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        if current.entries.is_empty() {
            // The disk was full before the first exchange.
            self.shared.set_current(None);
            let _ = std::fs::remove_file(&current.path);
            return;
        }
        if self
            .shared
            .sync_output(&current.path, &*current.output)
            .is_err()
        {
            return; // left `.open`, for the next start to repair
        }
        tracing::debug!(
            volume = %current.name,
            bytes = current.length,
            exchanges = current.entries.len(),
            "volume written"
        );
        self.shared.set_current(None);
        let OpenVolume {
            id,
            name,
            path,
            entries,
            ..
        } = current;
        let _ = self.finished.send(WrittenVolume {
            id,
            name,
            path,
            entries,
        });
    }
}

impl AppendBuffer {
    fn push(&mut self, parcel: WriteRequest, volume: VolumeId, offset: u64) {
        let WriteRequest {
            encoded:
                EncodedExchange {
                    bytes,
                    mut entry,
                    key,
                },
            original,
            reply,
            room,
        } = parcel;
        entry.offset = offset;
        if let Some(original) = original {
            let _ = original.place.set((volume, offset));
        }
        let stored = Stored {
            location: entry.location(volume),
            digest: key,
            revisit: entry.revisit,
            written: bytes.len() as u64,
        };
        self.bytes.extend_from_slice(&bytes);
        self.waiting.push(BufferedExchange {
            entry,
            stored,
            reply,
            _room: room,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use crate::files::disk::faulty::FaultyDisk;
    use crate::tests::sample::{folder, page, runtime, small_options};
    use crate::{Archive, Stored, VolumeError, check};

    /// Appends pages one after the other until the disk, which has this much room, is full.
    async fn fill(folder: &Path, disk: &FaultyDisk) -> (Archive, Vec<Stored>) {
        let (archive, _) =
            Archive::open_on(folder, small_options(), Arc::new(disk.clone())).unwrap();
        let mut stored = Vec::new();
        for n in 0.. {
            let receipt = match archive.append(page(n)).await {
                Ok(receipt) => receipt.await,
                Err(error) => Err(error),
            };
            match receipt {
                Ok(place) => stored.push(place),
                Err(VolumeError::DiskFull { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        (archive, stored)
    }

    #[test]
    fn a_full_disk_tears_nothing_and_stays_full() {
        runtime().block_on(async {
            for room in (0..9000).step_by(509) {
                let folder = folder();
                let disk = FaultyDisk::with_room(room);
                let (archive, stored) = fill(folder.path(), &disk).await;
                disk.room.store(1 << 30, Ordering::SeqCst);
                // Room again, but there would be a gap: the archive stays as it is.
                assert!(matches!(
                    archive.append(page(1)).await,
                    Err(VolumeError::DiskFull { .. })
                ));
                archive
                    .sync()
                    .await
                    .expect("what was written before can be made durable");
                assert!(matches!(
                    archive.close().await,
                    Err(VolumeError::DiskFull { .. })
                ));
                drop(archive);
                let open = |entry: fs::DirEntry| entry.path().to_string_lossy().ends_with(".open");
                let left = fs::read_dir(folder.path().join("archive")).unwrap();
                assert!(!left.map(Result::unwrap).any(open));
                let report = check(folder.path(), |_| {}).unwrap();
                assert!(report.is_sound(), "{room}: {:?}", report.faults);
                assert_eq!(report.responses, stored.len() as u64);
            }
        });
    }

    #[test]
    fn a_disk_without_room_for_the_index_leaves_the_file_to_the_next_start() {
        runtime().block_on(async {
            let folder = folder();
            let disk = FaultyDisk::with_room(6000);
            let (archive, stored) = fill(folder.path(), &disk).await;
            disk.room.store(0, Ordering::SeqCst);
            assert!(matches!(
                archive.close().await,
                Err(VolumeError::DiskFull { .. })
            ));
            drop(archive);
            let (archive, repairs) = Archive::open(folder.path(), small_options()).unwrap();
            assert_eq!(
                (repairs.repaired.len(), repairs.repaired[0].bytes_cut),
                (1, 0)
            );
            archive.close().await.unwrap();
            let report = check(folder.path(), |_| {}).unwrap();
            assert!(report.is_sound(), "{:?}", report.faults);
            assert_eq!(report.responses, stored.len() as u64);
        });
    }

    /// The kernel tells of lost bytes once; the next sync of the file succeeds.
    #[test]
    fn a_file_that_lost_bytes_is_not_closed_as_whole() {
        runtime().block_on(async {
            let folder = folder();
            let disk = FaultyDisk::with_room(1 << 30);
            let (archive, _) =
                Archive::open_on(folder.path(), small_options(), Arc::new(disk.clone())).unwrap();
            archive.append(page(1)).await.unwrap().await.unwrap();
            disk.lost.store(1, Ordering::SeqCst);
            for _ in 0..2 {
                assert!(matches!(archive.sync().await, Err(VolumeError::Io { .. })));
            }
            assert!(matches!(archive.close().await, Err(VolumeError::Io { .. })));
            drop(archive);
            let left: Vec<_> = fs::read_dir(folder.path().join("archive"))
                .unwrap()
                .map(|entry| entry.unwrap().path().extension().map(ToOwned::to_owned))
                .collect();
            assert_eq!(left, [Some("open".into())]);
            let (archive, repairs) = Archive::open(folder.path(), small_options()).unwrap();
            assert_eq!(repairs.repaired.len(), 1);
            archive.close().await.unwrap();
            assert!(check(folder.path(), |_| {}).unwrap().is_sound());
        });
    }
}
