//! Parses DNS questions and encodes responses (RFC 1035, 4).
//!
//! No DNS library is used, because hazards send malformed messages. `dns.rs` sends the messages.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Length of a message header.
pub(crate) const HEADER: usize = 12;
pub(crate) const A: u16 = 1;
pub(crate) const CNAME: u16 = 5;
pub(crate) const SOA: u16 = 6;
pub(crate) const AAAA: u16 = 28;
pub(crate) const INTERNET: u16 = 1;
pub(crate) const NO_ERROR: u16 = 0;
pub(crate) const FORMAT_ERROR: u16 = 1;
pub(crate) const SERVER_FAILURE: u16 = 2;
pub(crate) const NO_SUCH_NAME: u16 = 3;
pub(crate) const NOT_IMPLEMENTED: u16 = 4;
pub(crate) const REFUSED: u16 = 5;
/// Flag in the response header: the response is incomplete, and the client should repeat the query over TCP.
pub(crate) const TRUNCATED: u16 = 0x0200;

/// The question in a query packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DnsQuestion {
    /// The name, in lower case and without the final dot.
    pub(crate) name: String,
    pub(crate) kind: u16,
    pub(crate) class: u16,
    /// Offset of the first byte after the question in the packet.
    pub(crate) end: usize,
}

impl DnsQuestion {
    pub(crate) fn parse(query: &[u8]) -> Option<DnsQuestion> {
        let number = |at: usize| Some(u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]));
        if number(4)? != 1 {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            match length {
                0 => break,
                64.. => return None, // a compression pointer, which a question cannot have
                _ => {}
            }
            let label = query.get(at..at + length)?;
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&String::from_utf8_lossy(label).to_ascii_lowercase());
            at += length;
        }
        Some(DnsQuestion {
            name,
            kind: number(at)?,
            class: number(at + 2)?,
            end: at + 4,
        })
    }
}

/// A resource record of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// `None` means the name in the question.
    pub(crate) name: Option<String>,
    pub(crate) kind: u16,
    pub(crate) ttl: u32,
    pub(crate) data: Vec<u8>,
}

impl Record {
    pub(crate) fn a(address: Ipv4Addr, ttl: u32) -> Record {
        Record {
            name: None,
            kind: A,
            ttl,
            data: address.octets().to_vec(),
        }
    }

    pub(crate) fn aaaa(address: Ipv6Addr, ttl: u32) -> Record {
        Record {
            name: None,
            kind: AAAA,
            ttl,
            data: address.octets().to_vec(),
        }
    }

    pub(crate) fn alias(to: &str, ttl: u32) -> Record {
        Record {
            name: None,
            kind: CNAME,
            ttl,
            data: encode(to),
        }
    }

    /// Sets the name of the record.
    pub(crate) fn of(self, name: &str) -> Record {
        Record {
            name: Some(name.to_owned()),
            ..self
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match &self.name {
            Some(name) => out.extend(encode(name)),
            None => out.extend([0xC0, HEADER as u8]), // pointer to the name in the question
        }
        record(out, self.kind, self.ttl, &self.data);
    }
}

/// A response with records. `flags` are added to the flags that [`header`] sets.
pub(crate) fn positive(
    query: &[u8],
    question: &DnsQuestion,
    records: &[Record],
    flags: u16,
) -> Vec<u8> {
    let mut out = header(query, flags, [1, records.len() as u16, 0]);
    out.extend(&query[HEADER..question.end]);
    for record in records {
        record.write(&mut out);
    }
    out
}

/// A response without answer records. Its SOA record limits the time for which the response may be cached (RFC 2308).
pub(crate) fn negative(query: &[u8], question: &DnsQuestion, code: u16, ttl: u32) -> Vec<u8> {
    let mut out = header(query, code, [1, 0, 1]);
    out.extend(&query[HEADER..question.end]);
    out.push(0); // the root zone
    record(&mut out, SOA, ttl, &soa_data(ttl));
    out
}

/// A response with a response code and the question, without records.
pub(crate) fn failure(query: &[u8], question: &DnsQuestion, code: u16) -> Vec<u8> {
    let mut out = header(query, code, [1, 0, 0]);
    out.extend(&query[HEADER..question.end]);
    out
}

/// The header of a response, with the flags "authoritative" and "recursion available", and the counts of question,
/// answer and authority records.
pub(crate) fn header(query: &[u8], code: u16, counts: [u16; 3]) -> Vec<u8> {
    let recursion_desired = u16::from(query[2] & 1) << 8;
    let opcode = u16::from(query[2] & 0x78) << 8;
    let flags = 0x8480 | opcode | recursion_desired | code;
    let mut out = query[..2].to_vec();
    out.extend(flags.to_be_bytes());
    for count in counts.into_iter().chain([0]) {
        out.extend(count.to_be_bytes());
    }
    out
}

fn record(out: &mut Vec<u8>, kind: u16, ttl: u32, data: &[u8]) {
    out.extend(kind.to_be_bytes());
    out.extend(INTERNET.to_be_bytes());
    out.extend(ttl.to_be_bytes());
    out.extend((data.len() as u16).to_be_bytes());
    out.extend(data);
}

/// Encodes a name as labels, without compression.
pub(crate) fn encode(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        out.push(label.len() as u8);
        out.extend(label.bytes());
    }
    out.push(0);
    out
}

/// Data of the SOA record: `ns.lab`, `hostmaster.lab`, then serial, refresh, retry, expire, minimum TTL.
fn soa_data(ttl: u32) -> Vec<u8> {
    let mut out = b"\x02ns\x03lab\0\x0ahostmaster\x03lab\0".to_vec();
    for number in [1, 3600, 600, 86_400, ttl] {
        out.extend(u32::to_be_bytes(number));
    }
    out
}
