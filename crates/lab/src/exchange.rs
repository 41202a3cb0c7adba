//! One request and its response on a connection, with its entry in the log.
//!
//! Honest sites and hazards both send through an [`Exchange`], so every response is logged. The entry is written when
//! the exchange is dropped, even if its task is aborted or the client disconnects. `log.rs` explains how times are
//! measured.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use crate::log::{Log, LoggedRequest};

/// The connection to the client, with or without TLS.
#[derive(Debug)]
pub(crate) enum ClientStream<'a> {
    Plain(&'a TcpStream),
    Secure(&'a mut TlsStream<TcpStream>),
}

/// An exchange in progress.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pipe: ClientStream<'a>,
    log: &'a Log,
    record: Option<LoggedRequest>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(pipe: ClientStream<'a>, log: &'a Log, record: LoggedRequest) -> Exchange<'a> {
        Exchange {
            pipe,
            log,
            record: Some(record),
        }
    }

    /// Records the status of the response.
    pub(crate) fn status(&mut self, status: u16) {
        self.record().status = status;
    }

    /// Records that the whole response was sent.
    pub(crate) fn complete(&mut self) {
        self.record().complete = true;
    }

    /// Number of the connection. A connection to a hazard serves one request, so the number also identifies the
    /// request.
    pub(crate) fn connection(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.connection)
    }

    /// Makes the connection end with a TCP reset, which is sent when the connection is dropped.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.socket().set_zero_linger()
    }

    /// Writes all bytes to the socket.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let now;
            let written = match &mut self.pipe {
                ClientStream::Plain(stream) => {
                    stream.writable().await?;
                    now = Instant::now();
                    stream.try_write(bytes)
                }
                ClientStream::Secure(stream) => {
                    now = Instant::now();
                    let written = stream.write(bytes).await;
                    stream.flush().await?;
                    written
                }
            };
            match written {
                Ok(written) => {
                    let record = self.record();
                    record.ended = now;
                    record.bytes += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn socket(&self) -> &TcpStream {
        match &self.pipe {
            ClientStream::Plain(stream) => stream,
            ClientStream::Secure(stream) => stream.get_ref().0,
        }
    }

    /// Waits for `duration`. Returns an error as soon as the client disconnects.
    pub(crate) async fn wait(&self, duration: Duration) -> io::Result<()> {
        if duration.is_zero() {
            return Ok(());
        }
        let mut byte = [0];
        let timer = sleep(duration);
        tokio::pin!(timer);
        tokio::select! {
            () = &mut timer => return Ok(()),
            read = self.socket().peek(&mut byte) => if read? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            },
        }
        timer.await; // the client sent more bytes, which are read later
        Ok(())
    }

    fn record(&mut self) -> &mut LoggedRequest {
        self.record.as_mut().expect("only drop takes the record")
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            // If the response is complete, the exchange was over when the last byte was sent. The current time may be
            // later, because the scheduler may have delayed this task.
            record.closed = if record.complete {
                record.ended
            } else {
                Instant::now()
            };
            self.log.request(record);
        }
    }
}
