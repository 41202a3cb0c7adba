//! One request being answered on one connection, and its line in the log.
//!
//! Honest sites and hazards both write through this, so that whatever they do to the client is logged: the
//! entry is made when the exchange is dropped, also when the task is aborted or the client goes away. See
//! `log` for how times are taken.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use crate::log::{Log, Request};

/// What the bytes go through.
#[derive(Debug)]
pub(crate) enum Pipe<'a> {
    Plain(&'a TcpStream),
    Secure(&'a mut TlsStream<TcpStream>),
}

/// An exchange under way.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pipe: Pipe<'a>,
    log: &'a Log,
    record: Option<Request>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(pipe: Pipe<'a>, log: &'a Log, record: Request) -> Exchange<'a> {
        Exchange {
            pipe,
            log,
            record: Some(record),
        }
    }

    /// The status that the bytes to be sent announce.
    pub(crate) fn status(&mut self, status: u16) {
        self.record().status = status;
    }

    /// All that was meant to be said has been said.
    pub(crate) fn complete(&mut self) {
        self.record().complete = true;
    }

    /// Number of the connection, which no two visits of a hazard share.
    pub(crate) fn connection(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.connection)
    }

    /// Ends the connection with a reset instead of a farewell, as soon as it is dropped.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.socket().set_zero_linger()
    }

    /// Hands all bytes to the socket.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let now;
            let written = match &mut self.pipe {
                Pipe::Plain(stream) => {
                    stream.writable().await?;
                    now = Instant::now();
                    stream.try_write(bytes)
                }
                Pipe::Secure(stream) => {
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
            Pipe::Plain(stream) => stream,
            Pipe::Secure(stream) => stream.get_ref().0,
        }
    }

    /// Waits, and fails as soon as the client hangs up.
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
        timer.await; // the client has more to say and can wait
        Ok(())
    }

    fn record(&mut self) -> &mut Request {
        self.record.as_mut().expect("taken on drop only")
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            // Now is late when the scheduler held us; of a complete answer the end is known better.
            record.closed = if record.complete {
                record.ended
            } else {
                Instant::now()
            };
            self.log.request(record);
        }
    }
}
