//! A DNS response with a valid address record, followed by a malformed record.
//!
//! N4; Castillo A.2.3: use the address even if other parts of the response are malformed.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{self, A, Record};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    if lookup.asked.kind != A {
        return lookup.usual();
    }
    let record = Record::a(lookup.address, lookup.ttl);
    let mut bytes = packet::positive(lookup.query, lookup.asked, &[record], packet::NO_ERROR);
    bytes[11] = 1; // one additional record is announced
    bytes.extend(b"\x3fhalf a label");
    Said::Bytes(bytes)
}
