//! TCP connections for the DNS library. Like [`super::lenient_udp`], they cut malformed records off an answer.
//!
//! Over TCP each message has a prefix of two bytes with its length (RFC 1035, 4.2.2). A message is handed on when it is
//! complete.

use std::{
    io::{self, Read as _},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::io::{AsyncRead, AsyncWrite};
use hickory_resolver::net::runtime::{
    DnsTcpStream, RuntimeProvider, TokioRuntimeProvider, TokioTime,
};

use super::lenient_udp::cut_malformed;

/// Tokio's connection.
pub(super) type Connection = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

/// Length of the prefix of a message.
const PREFIX: usize = 2;

/// A connection that cuts malformed records off the messages that it receives.
pub(super) struct LenientTcp<C> {
    connection: C,
    /// The message that is being received, with its prefix, or the last message.
    message: Vec<u8>,
    /// Number of bytes of `message` that were received.
    received: usize,
    /// The part of `message` that was handed on; `None` while the message is incomplete.
    handed_on: Option<usize>,
}

impl<C: AsyncRead + Unpin> LenientTcp<C> {
    pub(super) fn new(connection: C) -> Self {
        Self {
            connection,
            message: vec![0; PREFIX],
            received: 0,
            handed_on: None,
        }
    }

    /// Receives until a message is complete. If the connection ends before that, the part that was received counts as
    /// the message.
    fn receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.received == self.message.len() {
                let length = usize::from(u16::from_be_bytes([self.message[0], self.message[1]]));
                if self.received == PREFIX + length {
                    self.complete();
                    return Poll::Ready(Ok(()));
                }
                self.message.resize(PREFIX + length, 0);
            }
            let room = &mut self.message[self.received..];
            let count = ready!(Pin::new(&mut self.connection).poll_read(context, room))?;
            if count == 0 {
                self.message.truncate(self.received);
                self.handed_on = Some(0);
                return Poll::Ready(Ok(()));
            }
            self.received += count;
        }
    }

    fn complete(&mut self) {
        let length = cut_malformed(&mut self.message[PREFIX..]);
        let prefix = u16::try_from(length).expect("cutting makes no message longer");
        self.message[..PREFIX].copy_from_slice(&prefix.to_be_bytes());
        self.message.truncate(PREFIX + length);
        self.handed_on = Some(0);
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for LenientTcp<C> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this
            .handed_on
            .is_none_or(|count| count == this.message.len())
        {
            if this.handed_on.take().is_some() {
                this.message.clear();
                this.message.resize(PREFIX, 0);
                this.received = 0;
            }
            ready!(this.receive(context))?;
        }
        let begin = this.handed_on.unwrap_or_default();
        let count = (&this.message[begin..]).read(buffer)?;
        this.handed_on = Some(begin + count);
        Poll::Ready(Ok(count))
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for LenientTcp<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_close(context)
    }
}

impl DnsTcpStream for LenientTcp<Connection> {
    type Time = TokioTime;
}

#[cfg(test)]
mod tests {
    use futures_util::io::{AsyncReadExt as _, Cursor};

    use super::*;

    /// Reads everything, three bytes at a time.
    async fn read(bytes: &[u8]) -> Vec<u8> {
        let mut connection = LenientTcp::new(Cursor::new(bytes.to_vec()));
        let (mut found, mut buffer) = (Vec::new(), [0; 3]);
        loop {
            match connection.read(&mut buffer).await.unwrap() {
                0 => return found,
                count => found.extend(&buffer[..count]),
            }
        }
    }

    fn with_prefix(message: &[u8]) -> Vec<u8> {
        let prefix = (message.len() as u16).to_be_bytes();
        [&prefix[..], message].concat()
    }

    #[tokio::test]
    async fn messages_are_cut_and_their_prefix_is_corrected() {
        let address = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0];
        let question = [1, b'a', 0, 0, 1, 0, 1];
        let header = |answers| [0, 1, 0x81, 0x80, 0, 1, 0, answers, 0, 0, 0, 0];
        let good = [&address[..], &[4, 192, 0, 2, 1]].concat();
        let malformed = [&address[..], &[3, 192, 0, 2]].concat();
        let message = [&header(2)[..], &question, &good, &malformed].concat();
        let cut = [&header(1)[..], &question, &good].concat();
        let whole = with_prefix(&message);
        assert_eq!(read(&whole).await, with_prefix(&cut));
        let two = [whole.clone(), with_prefix(&cut), vec![0, 0], whole.clone()].concat();
        let expected = [
            with_prefix(&cut),
            with_prefix(&cut),
            vec![0, 0],
            with_prefix(&cut),
        ];
        assert_eq!(read(&two).await, expected.concat());
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]).await, whole[..end], "{end}");
        }
    }
}
