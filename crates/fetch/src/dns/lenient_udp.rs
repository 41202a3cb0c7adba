//! UDP sockets for the DNS library. If a record of an answer is malformed, they cut the answer before it, so that the
//! earlier records can be used (Castillo A.2.3). The library alone discards a whole message if one of its records is
//! malformed.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hickory_resolver::{
    net::runtime::{DnsUdpSocket, RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime},
    proto::{
        op::{Header, HeaderCounts, Message},
        serialize::binary::{BinDecodable as _, BinDecoder},
    },
};
use tokio::{io::ReadBuf, net::UdpSocket};
use tracing::debug;

use super::lenient_tcp::{Connection, LenientTcp};

/// Position of the record counts in a message: questions, answers, authorities and additional records, two bytes each.
const COUNTS: usize = 4;

/// Tokio, with [`LenientUdpSocket`] and [`LenientTcp`] instead of tokio's sockets.
#[derive(Clone, Default)]
pub(super) struct LenientRuntime(TokioRuntimeProvider);

impl RuntimeProvider for LenientRuntime {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = LenientUdpSocket;
    type Tcp = LenientTcp<Connection>;

    fn create_handle(&self) -> Self::Handle {
        self.0.create_handle()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        bind: Option<SocketAddr>,
        timeout: Option<Duration>,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Tcp>>>> {
        let connection = self.0.connect_tcp(server, bind, timeout);
        Box::pin(async move { connection.await.map(LenientTcp::new) })
    }

    fn bind_udp(
        &self,
        local: SocketAddr,
        _server: SocketAddr,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Udp>>>> {
        Box::pin(async move { UdpSocket::bind(local).await.map(LenientUdpSocket) })
    }
}

/// A socket that cuts each received message before its first malformed record.
pub(super) struct LenientUdpSocket(UdpSocket);

impl DnsUdpSocket for LenientUdpSocket {
    type Time = TokioTime;

    fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut read = ReadBuf::new(buffer);
        let from = ready!(self.0.poll_recv_from(context, &mut read))?;
        let length = cut_malformed(read.filled_mut());
        Poll::Ready(Ok((length, from)))
    }

    fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send_to(context, bytes, target)
    }
}

/// Cuts a message before its first malformed record, and corrects its record counts. Returns its new length. If no
/// answer record precedes the malformed record, the message is useless and is not changed.
pub(crate) fn cut_malformed(message: &mut [u8]) -> usize {
    let whole = message.len();
    let Some((length, counts)) = usable_part(message) else {
        return whole;
    };
    debug!(whole, length, "malformed DNS record ignored");
    for (index, count) in counts.into_iter().enumerate() {
        let position = COUNTS + 2 * (index + 1);
        message[position..position + 2].copy_from_slice(&count.to_be_bytes());
    }
    length
}

/// The length of a message up to its first malformed record, and the number of answers, authorities and additional
/// records in it. `None` if no record is malformed, or if no answer stands before the malformed record.
fn usable_part(message: &[u8]) -> Option<(usize, [u16; 3])> {
    let mut decoder = BinDecoder::new(message);
    let header = Header::read(&mut decoder).ok()?;
    let op_code = header.metadata.op_code;
    let HeaderCounts {
        queries,
        answers,
        authorities,
        additionals,
    } = header.counts;
    Message::read_queries(&mut decoder, usize::from(queries)).ok()?;
    let mut counts = [0; 3];
    let (mut has_edns, mut has_signature) = (false, false);
    for (section, records) in [answers, authorities, additionals].into_iter().enumerate() {
        for _ in 0..records {
            let begin = decoder.index();
            match Message::read_records(&mut decoder, 1, section == 2, op_code) {
                // The library also refuses a second EDNS record, and a record after a signature.
                Ok((_, edns, signature)) if !(has_signature || has_edns && edns.is_some()) => {
                    has_edns |= edns.is_some();
                    has_signature |= signature.is_some();
                    counts[section] += 1;
                }
                _ => return (counts[0] > 0).then_some((begin, counts)),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response to a question for `a.`. Each word in `answers` and `additionals` stands for a record: `good` for an
    /// address, `bad` for an address of three bytes, `opt` for the EDNS record.
    fn response(answers: &[&str], additionals: &[&str]) -> Vec<u8> {
        let counts = [1, answers.len() as u8, 0, additionals.len() as u8];
        let mut message = vec![0, 1, 0x81, 0x80];
        message.extend(counts.iter().flat_map(|count| [0, *count]));
        message.extend([1, b'a', 0, 0, 1, 0, 1]);
        for record in answers.iter().chain(additionals) {
            let address = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0];
            match *record {
                "good" => message.extend([&address[..], &[4, 192, 0, 2, 1]].concat()),
                "opt" => message.extend([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0]),
                _ => message.extend([&address[..], &[3, 192, 0, 2]].concat()),
            }
        }
        message
    }

    fn check(answers: &[&str], additionals: &[&str], expected: Option<(&[&str], &[&str])>) {
        let mut message = response(answers, additionals);
        let original = message.clone();
        let length = cut_malformed(&mut message);
        let expected = expected.map_or(original, |(answers, additionals)| {
            response(answers, additionals)
        });
        assert_eq!(message[..length], expected, "{answers:?} {additionals:?}");
    }

    #[test]
    fn records_before_a_malformed_one_are_kept() {
        check(&["good", "good"], &["good"], None);
        check(&["good", "bad", "good"], &["good"], Some((&["good"], &[])));
        check(&["good"], &["good", "bad"], Some((&["good"], &["good"])));
        // A message must not have two records of EDNS.
        check(&["good"], &["opt", "opt"], Some((&["good"], &["opt"])));
        check(&["good"], &["opt", "good"], None);
        check(&["bad", "good"], &[], None);
        check(&[], &["bad"], None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_accepted(mut message in proptest::collection::vec(proptest::num::u8::ANY, 0..100)) {
            let length = cut_malformed(&mut message);
            proptest::prop_assert!(length <= message.len());
        }
    }
}
