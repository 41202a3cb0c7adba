//! A host name whose DNS responses are malformed packets. There are seven faults, which are used in turn.
//!
//! N4, Castillo A.2.3; RFC 1035, 4.1.4 (compression loops); RFC 5452 (responses to other questions must be ignored).
//! The name has no usable address.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{self, Record};

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let good = packet::positive(
        lookup.query,
        lookup.question,
        &[Record::a(lookup.address, lookup.ttl)],
        packet::NO_ERROR,
    );
    let end = lookup.question.end;
    let mut bytes = good;
    match lookup.count_query() % 7 {
        0 => bytes.truncate(end + 5), // ends inside the record
        1 => {
            bytes[6] = 0xFF; // announces 65281 records, of which the first is incomplete
            bytes.truncate(end + 8);
        }
        2 => bytes[end..end + 2].copy_from_slice(&[0xC0, end as u8]), // a name that is a pointer to itself
        3 => bytes[1] ^= 0xFF,                                        // the ID of another query
        4 => bytes[end + 10..end + 12].fill(0xFF),                    // data longer than the packet
        5 => bytes.truncate(7),                                       // half a header
        _ => bytes[12] = 63, // a label longer than the question
    }
    DnsResponse::Packet(bytes)
}
