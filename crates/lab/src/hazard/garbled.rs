//! A host name whose DNS responses are malformed packets, a different fault for each query.
//!
//! N4, Castillo A.2.3; RFC 1035, 4.1.4 (compression loops); RFC 5452 (responses to other questions must be ignored).
//! The name has no usable address.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{self, Record};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let good = packet::positive(
        lookup.query,
        lookup.asked,
        &[Record::a(lookup.address, lookup.ttl)],
        packet::NO_ERROR,
    );
    let end = lookup.asked.end;
    let mut bytes = good;
    match lookup.times() % 7 {
        0 => bytes.truncate(end + 5), // ends inside the record
        1 => bytes[6] = 0xFF,         // announces 65281 records
        2 => bytes[end..end + 2].copy_from_slice(&[0xC0, end as u8]), // a name that is a pointer to itself
        3 => bytes[1] ^= 0xFF,                                        // another query ID
        4 => bytes[end + 10..end + 12].fill(0xFF),                    // data longer than the packet
        5 => bytes.truncate(7),                                       // half a header
        _ => bytes[12] = 63, // a label longer than the question
    }
    Said::Bytes(bytes)
}
