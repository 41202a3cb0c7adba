//! Reads a volume: its bytes from any offset, from a local file or from an object store.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::files::volumes::Volume;
use crate::s3::client::{S3Store, StoreError};

/// Number of times that a broken stream is continued.
const MAX_RECONNECTS: u32 = 3;

/// A volume that is open for reading.
#[derive(Debug)]
pub(crate) enum VolumeFile {
    Local(File),
    Remote(RemoteFile),
}

/// A volume in an object store.
pub(crate) struct RemoteFile {
    store: Arc<S3Store>,
    name: String,
    length: u64,
    position: u64,
    /// The body of a request whose next byte is at `position`.
    stream: Option<Box<dyn Read + Send>>,
}

impl VolumeFile {
    /// Opens a volume. For a volume in a store, no request is sent yet.
    pub(crate) fn open(volume: &Volume) -> io::Result<Self> {
        Ok(match &volume.stored {
            None => Self::Local(File::open(&volume.path)?),
            Some(copy) => Self::Remote(RemoteFile {
                store: S3Store::open(&copy.store)?,
                name: volume.name(),
                length: copy.size,
                position: 0,
                stream: None,
            }),
        })
    }

    /// Whether the volume is in a store that recently failed to answer.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Self::Local(_) => false,
            Self::Remote(file) => file.store.is_away(),
        }
    }

    /// Reads up to the length of the buffer. Fewer bytes are read only at the end of the volume.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Local(file) => {
                let mut count = 0;
                while count < buffer.len() {
                    match file.read_at(&mut buffer[count..], offset + count as u64)? {
                        0 => break,
                        more => count += more,
                    }
                }
                Ok(count)
            }
            Self::Remote(file) => file.read_at(buffer, offset),
        }
    }

    /// Reads the whole buffer.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.read_at(buffer, offset)? < buffer.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl RemoteFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.length.min(offset + buffer.len() as u64);
        if offset >= end {
            return Ok(0);
        }
        let wanted = (end - offset) as usize;
        let mut attempt = 0;
        loop {
            let mut body = self.open_stream(offset, Some(end))?;
            match body.read_exact(&mut buffer[..wanted]) {
                Ok(()) => return Ok(wanted),
                Err(error) if attempt == MAX_RECONNECTS => return Err(self.broken(&error).into()),
                Err(_) => attempt += 1,
            }
        }
    }

    fn open_stream(&self, start: u64, end: Option<u64>) -> io::Result<Box<dyn Read + Send>> {
        let answer = self.store.get(&self.name, start, end)?;
        Ok(Box::new(answer.into_body().into_reader()))
    }

    fn broken(&self, error: &io::Error) -> StoreError {
        self.store
            .error(format!("reading {}: {error}", self.name), None)
    }
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RemoteFile({}, {})", self.name, self.position)
    }
}

impl Read for RemoteFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        let mut attempt = 0;
        loop {
            let mut stream = match self.stream.take() {
                Some(stream) => stream,
                None => self.open_stream(self.position, None)?,
            };
            let problem = match stream.read(buffer) {
                Ok(0) => io::ErrorKind::UnexpectedEof.into(),
                Ok(count) => {
                    self.position += count as u64;
                    self.stream = Some(stream);
                    return Ok(count);
                }
                Err(error) => error,
            };
            attempt += 1;
            if attempt > MAX_RECONNECTS {
                return Err(self.broken(&problem).into());
            }
        }
    }
}

impl Seek for RemoteFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let target = target.ok_or(io::ErrorKind::InvalidInput)?;
        if target != self.position {
            self.stream = None;
            self.position = target;
        }
        Ok(target)
    }
}

impl Read for VolumeFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read(buffer),
            Self::Remote(file) => file.read(buffer),
        }
    }
}

impl Seek for VolumeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Local(file) => file.seek(to),
            Self::Remote(file) => file.seek(to),
        }
    }
}
