//! The writer thread: appends encoded exchanges to the open volume in the order of their tickets, many in one write,
//! and resolves their receipts. It passes a full volume to [`crate::write::finish`] and opens the next one.
//!
//! Invariants:
//! - The open volume ends with a complete exchange. If an append fails, the volume is truncated after the last complete
//!   exchange. If there is another folder, the volume is closed, and the exchanges are written to a new volume in that
//!   folder.
//! - A volume is durable before the next one is created.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::files::disk::{Disk, OutputFile};
use crate::files::name::{self, OPEN};
use crate::files::write_folders::WriteFolders;
use crate::index::entry::IndexEntry;
use crate::record::id::RecordIds;
use crate::record::revisit::Original;
use crate::write::encoder::{EncodedExchange, Encoder};
use crate::write::finish::WrittenVolume;
use crate::write::pack::{self, PackedResponse};
use crate::write::state::WriteState;
use crate::{Options, Stored, VolumeError, VolumeId};

/// The buffer is written when it reaches this size.
const FLUSH_SIZE: usize = 1 << 20;
/// Waiting time after the first exchange of a batch, so that more exchanges can arrive.
const BATCH_DELAY: Duration = Duration::from_millis(2);
/// Maximum number of exchanges in a volume. It bounds the number of index entries, which stay in memory until the
/// volume is closed.
const MAX_EXCHANGES: usize = 200_000;

/// An exchange on its way from a worker to the file.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub(crate) encoded: EncodedExchange,
    /// Set if later revisit records may refer to this exchange. The writer fills in its position.
    pub(crate) original: Option<Arc<Original>>,
    pub(crate) reply: oneshot::Sender<Result<Stored, VolumeError>>,
    /// The part of the queue size that the exchange takes. It is released on drop.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// A ticket number and its exchange. The exchange is `None` if the worker panicked.
pub(crate) type TicketedWrite = (u64, Option<Box<WriteRequest>>);

/// The writer thread.
pub(crate) struct VolumeWriter {
    pub(crate) state: Arc<WriteState>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) folders: WriteFolders,
    pub(crate) options: Options,
    pub(crate) encoder: Encoder,
    pub(crate) ids: Arc<RecordIds>,
    /// Counter of the last volume that this node has created.
    pub(crate) counter: u32,
    pub(crate) finisher: SyncSender<WrittenVolume>,
    pub(crate) current: Option<OpenVolume>,
    pub(crate) buffer: AppendBuffer,
}

/// The volume being written.
pub(crate) struct OpenVolume {
    id: VolumeId,
    name: String,
    path: PathBuf,
    output: Arc<dyn OutputFile>,
    /// Length of the file, which is the end of its last complete exchange.
    length: u64,
    entries: Vec<IndexEntry>,
}

/// Exchanges that are written in one append.
#[derive(Default)]
pub(crate) struct AppendBuffer {
    bytes: Vec<u8>,
    /// Position of the first exchange in `bytes`. A warcinfo record may come before it.
    first: usize,
    exchanges: Vec<BufferedExchange>,
}

struct BufferedExchange {
    entry: IndexEntry,
    stored: Stored,
    original: Option<Arc<Original>>,
    reply: oneshot::Sender<Result<Stored, VolumeError>>,
    _permit: OwnedSemaphorePermit,
}

impl VolumeWriter {
    /// Runs until all workers have ended, then closes the open volume.
    pub(crate) fn run(mut self, writes: &Receiver<TicketedWrite>) {
        // Exchanges that wait for one with a lower ticket number.
        let mut pending: BTreeMap<u64, Option<Box<WriteRequest>>> = BTreeMap::new();
        let mut next_ticket = 0;
        while let Ok((ticket, request)) = writes.recv() {
            pending.insert(ticket, request);
            // Exchanges that arrive during the delay do not wake this thread, and are written in the same append.
            std::thread::sleep(BATCH_DELAY);
            pending.extend(writes.try_iter());
            while let Some(request) = pending.remove(&next_ticket) {
                next_ticket += 1;
                if let Some(request) = request {
                    self.add(*request);
                }
            }
            // No further exchange is ready. The buffer is written now, so that its receipts do not wait for later
            // exchanges.
            self.flush();
        }
        self.flush();
        self.close_volume();
    }

    /// Adds an exchange to the buffer. Creates, writes and closes volumes as needed.
    fn add(&mut self, request: WriteRequest) {
        if let Err(error) = self.state.ensure_not_failed() {
            let _ = request.reply.send(Err(error));
            return;
        }
        if self.current.is_none()
            && let Err(error) = self.create_volume()
        {
            let _ = request.reply.send(Err(self.state.fail(error)));
            return;
        }
        if request.encoded.packed.is_some() {
            self.add_packed(request);
            return;
        }
        let Some(current) = &self.current else { return };
        let offset = current.length + self.buffer.bytes.len() as u64;
        self.buffer.push(request, current.id, offset);
        let exchanges = current.entries.len() + self.buffer.exchanges.len();
        let length = current.length + self.buffer.bytes.len() as u64;
        let full = length >= self.options.roll_size || exchanges >= MAX_EXCHANGES;
        if full || self.buffer.bytes.len() >= FLUSH_SIZE {
            self.flush();
        }
        if full {
            self.close_volume();
        }
    }

    /// Writes an exchange whose response record is in a temporary file.
    fn add_packed(&mut self, request: WriteRequest) {
        self.flush();
        let Some(current) = &self.current else {
            let error = self.state.ensure_not_failed();
            let _ = request
                .reply
                .send(Err(error.err().unwrap_or(VolumeError::Closed)));
            return;
        };
        let mut single = AppendBuffer::default();
        let packed = single.push(request, current.id, current.length);
        loop {
            let Some(current) = &mut self.current else {
                let error = self.state.ensure_not_failed();
                single.fail(&error.err().unwrap_or(VolumeError::Closed));
                return;
            };
            let written = packed.as_ref().map_or(Ok(0), |packed| {
                pack::read_blocks(&packed.file, packed.length, |block| {
                    current.output.append(block)
                })?;
                Ok(packed.length)
            });
            let result = written.and_then(|length| {
                current.output.append(&single.bytes)?;
                Ok(length + single.bytes.len() as u64)
            });
            match result {
                Ok(length) => {
                    current.length += length;
                    single.resolve(current);
                    let full = current.length >= self.options.roll_size
                        || current.entries.len() >= MAX_EXCHANGES;
                    if full {
                        self.close_volume();
                    }
                    return;
                }
                Err(source) => match self.leave_folder(source) {
                    Ok(()) => {
                        self.flush(); // the warcinfo record
                        if let Some(current) = &self.current {
                            single.move_to(current.id, current.length);
                        }
                    }
                    Err(error) => return single.fail(&error),
                },
            }
        }
    }

    /// Called after a failed append. Truncates the volume after its last complete exchange. If there is another folder,
    /// closes the volume and creates a new one in that folder. Otherwise the archive fails with the returned error.
    fn leave_folder(&mut self, source: io::Error) -> Result<(), VolumeError> {
        let Some(current) = &self.current else {
            return Err(VolumeError::Closed);
        };
        let torn = current.output.truncate(current.length).is_err();
        let error = VolumeError::from_io(&current.path, source);
        let folder = current.path.parent().unwrap_or(&current.path).to_path_buf();
        if torn || !self.folders.leave(&folder, &error) {
            if torn {
                self.current = None; // stays `.open`; the next start repairs it
            }
            return Err(self.state.fail(error));
        }
        self.close_volume();
        self.state.ensure_not_failed()?;
        self.create_volume().map_err(|error| self.state.fail(error))
    }

    /// Creates the next volume in the folder with the most free space, or in another folder if that one fails.
    fn create_volume(&mut self) -> Result<(), VolumeError> {
        loop {
            let folder = self.folders.next(&*self.disk);
            match self.create_volume_in(&folder) {
                Err(error) if self.folders.leave(&folder, &error) => {}
                result => return result,
            }
        }
    }

    /// Creates a volume and makes its name durable. Its warcinfo record is written with the first exchanges.
    fn create_volume_in(&mut self, folder: &Path) -> Result<(), VolumeError> {
        let now_ms = Timestamp::now().as_millisecond();
        let counter = self.counter + 1;
        let id = VolumeId::new(self.options.node, counter);
        let name = name::compose(&self.options.prefix, now_ms, id, self.options.compression);
        let path = folder.join(format!("{name}{OPEN}"));
        let fault = |source| VolumeError::from_io(&path, source);
        let output = self.disk.create(&path).map_err(fault)?;
        self.disk.sync_directory(folder).map_err(fault)?;
        self.folders.record(folder, &name)?;
        let (record_id, fields) = (self.ids.next(), &self.options.warcinfo);
        let warcinfo = self.encoder.warcinfo(record_id, now_ms, &name, fields);
        self.buffer.bytes.extend_from_slice(&warcinfo);
        self.counter = counter;
        tracing::info!(volume = %name, "volume opened");
        self.state.set_current(Some((path.clone(), output.clone())));
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

    /// Writes the buffer and resolves its receipts. If the write fails in every folder, the last volume is truncated to
    /// its previous length.
    fn flush(&mut self) {
        loop {
            let Some(current) = &mut self.current else {
                return;
            };
            if self.buffer.bytes.is_empty() {
                return;
            }
            let result = current.output.append(&self.buffer.bytes);
            if let Err(source) = result {
                let buffer = std::mem::take(&mut self.buffer);
                match self.leave_folder(source) {
                    Ok(()) => self.buffer.append_moved(buffer, self.current.as_ref()),
                    Err(error) => return buffer.fail(&error),
                }
                continue;
            }
            current.length += self.buffer.bytes.len() as u64;
            self.buffer.bytes.clear();
            self.buffer.bytes.shrink_to(4 * FLUSH_SIZE);
            self.buffer.resolve(current);
            return;
        }
    }

    /// Makes the open volume durable and passes it to the finisher.
    fn close_volume(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        if current.entries.is_empty() {
            // The volume has no exchange, because the disk was full before the first one.
            self.state.set_current(None);
            let _ = std::fs::remove_file(&current.path);
            return;
        }
        if self
            .state
            .sync_output(&current.path, &*current.output)
            .is_err()
        {
            return; // stays `.open`; the next start repairs it
        }
        tracing::debug!(
            volume = %current.name,
            bytes = current.length,
            exchanges = current.entries.len(),
            "volume written"
        );
        self.state.set_current(None);
        let OpenVolume {
            id,
            name,
            path,
            entries,
            ..
        } = current;
        let _ = self.finisher.send(WrittenVolume {
            id,
            name,
            path,
            entries,
        });
    }
}

impl AppendBuffer {
    /// Adds an exchange at this offset of the volume. Returns its packed response, which the caller writes before the
    /// buffer.
    fn push(
        &mut self,
        request: WriteRequest,
        volume: VolumeId,
        offset: u64,
    ) -> Option<Box<PackedResponse>> {
        let WriteRequest {
            encoded:
                EncodedExchange {
                    packed,
                    bytes,
                    mut entry,
                    key,
                },
            original,
            reply,
            permit,
        } = request;
        entry.offset = offset;
        if self.exchanges.is_empty() {
            self.first = self.bytes.len();
        }
        let packed_length = packed.as_ref().map_or(0, |packed| packed.length);
        let stored = Stored {
            location: entry.location(volume),
            digest: key,
            revisit: entry.revisit,
            written: packed_length + bytes.len() as u64,
        };
        self.bytes.extend_from_slice(&bytes);
        self.exchanges.push(BufferedExchange {
            entry,
            stored,
            original,
            reply,
            _permit: permit,
        });
        packed
    }

    /// Resolves the receipts of all exchanges in the buffer, which were written, and adds their index entries to the
    /// volume.
    fn resolve(&mut self, volume: &mut OpenVolume) {
        for exchange in self.exchanges.drain(..) {
            if let Some(original) = exchange.original {
                let _ = original.position.set((volume.id, exchange.entry.offset));
            }
            volume.entries.push(exchange.entry);
            let _ = exchange.reply.send(Ok(exchange.stored)); // the receipt may have been dropped
        }
    }

    /// Fails the receipts of all exchanges.
    fn fail(self, error: &VolumeError) {
        for exchange in self.exchanges {
            let _ = exchange.reply.send(Err(error.clone()));
        }
    }

    /// Changes the locations of the exchanges: the first one begins at `offset` of another volume.
    fn move_to(&mut self, volume: VolumeId, offset: u64) {
        let Some(first) = self.exchanges.first().map(|first| first.entry.offset) else {
            return;
        };
        for exchange in &mut self.exchanges {
            exchange.entry.offset = exchange.entry.offset - first + offset;
            exchange.stored.location = exchange.entry.location(volume);
        }
    }

    /// Appends the exchanges of `moved`, a buffer whose write to the previous volume failed. They will be written to
    /// `volume`.
    fn append_moved(&mut self, mut moved: AppendBuffer, volume: Option<&OpenVolume>) {
        let Some(volume) = volume else { return };
        moved.move_to(volume.id, volume.length + self.bytes.len() as u64);
        self.first = self.bytes.len();
        self.bytes.extend_from_slice(&moved.bytes[moved.first..]);
        self.exchanges = moved.exchanges;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use crate::files::disk::faulty::FaultyDisk;
    use crate::tests::sample::{folder, noise, page, runtime, small_options};
    use crate::{Archive, Stored, VolumeError, check};

    /// Appends pages one after the other until the disk is full.
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
                Ok(page) => stored.push(page),
                Err(VolumeError::DiskFull { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        (archive, stored)
    }

    #[test]
    fn a_full_disk_leaves_a_sound_archive_that_refuses_further_appends() {
        runtime().block_on(async {
            for free in (0..9000).step_by(509) {
                let folder = folder();
                let disk = FaultyDisk::with_free_bytes(free);
                let (archive, stored) = fill(folder.path(), &disk).await;
                disk.free.store(1 << 30, Ordering::SeqCst);
                // The disk has space again, but appends still fail. Otherwise the sequence of stored exchanges would
                // have a gap.
                assert!(matches!(
                    archive.append(page(1)).await,
                    Err(VolumeError::DiskFull { .. })
                ));
                archive
                    .sync()
                    .await
                    .expect("exchanges written before the disk was full become durable");
                assert!(matches!(
                    archive.close().await,
                    Err(VolumeError::DiskFull { .. })
                ));
                drop(archive);
                let open = |entry: fs::DirEntry| entry.path().to_string_lossy().ends_with(".open");
                let files = fs::read_dir(folder.path().join("archive")).unwrap();
                assert!(!files.map(Result::unwrap).any(open));
                let report = check(folder.path(), |_| {}).unwrap();
                assert!(report.is_sound(), "{free}: {:?}", report.faults);
                assert_eq!(report.responses, stored.len() as u64);
            }
        });
    }

    /// The response record of a large body is copied from a file. If the disk becomes full meanwhile, nothing of it
    /// stays in the volume.
    #[test]
    fn a_full_disk_leaves_nothing_of_a_large_response() {
        runtime().block_on(async {
            let folder = folder();
            let disk = FaultyDisk::with_free_bytes(1 << 20);
            let (archive, _) =
                Archive::open_on(folder.path(), small_options(), Arc::new(disk.clone())).unwrap();
            archive.append(page(1)).await.unwrap().await.unwrap();
            let large = noise(page(2), 3_000_000);
            let receipt = archive.append(large).await.unwrap();
            assert!(matches!(receipt.await, Err(VolumeError::DiskFull { .. })));
            disk.free.store(1 << 30, Ordering::SeqCst);
            assert!(archive.close().await.is_err());
            drop(archive);
            let report = check(folder.path(), |_| {}).unwrap();
            assert!(report.is_sound(), "{:?}", report.faults);
            assert_eq!(report.responses, 1);
        });
    }

    #[test]
    fn a_volume_whose_index_does_not_fit_on_the_disk_is_repaired_at_the_next_start() {
        runtime().block_on(async {
            let folder = folder();
            let disk = FaultyDisk::with_free_bytes(6000);
            let (archive, stored) = fill(folder.path(), &disk).await;
            disk.free.store(0, Ordering::SeqCst);
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

    /// The kernel reports lost bytes only once: the next sync of the file succeeds, although the bytes are lost. So the
    /// archive must remember the failure.
    #[test]
    fn after_a_failed_sync_the_volume_is_not_closed() {
        runtime().block_on(async {
            let folder = folder();
            let disk = FaultyDisk::with_free_bytes(1 << 30);
            let (archive, _) =
                Archive::open_on(folder.path(), small_options(), Arc::new(disk.clone())).unwrap();
            archive.append(page(1)).await.unwrap().await.unwrap();
            disk.failing_syncs.store(1, Ordering::SeqCst);
            for _ in 0..2 {
                assert!(matches!(archive.sync().await, Err(VolumeError::Io { .. })));
            }
            assert!(matches!(archive.close().await, Err(VolumeError::Io { .. })));
            drop(archive);
            let extensions: Vec<_> = fs::read_dir(folder.path().join("archive"))
                .unwrap()
                .map(|entry| entry.unwrap().path().extension().map(ToOwned::to_owned))
                .collect();
            assert_eq!(extensions, [Some("open".into())]);
            let (archive, repairs) = Archive::open(folder.path(), small_options()).unwrap();
            assert_eq!(repairs.repaired.len(), 1);
            archive.close().await.unwrap();
            assert!(check(folder.path(), |_| {}).unwrap().is_sound());
        });
    }
}
