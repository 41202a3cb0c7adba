//! An endless chain of CNAME records: each name points to one that was never queried before.
//!
//! N4; RFC 1034, 3.6.2. Unlike in `ring`, no name repeats, so only a limit on the length ends the chain.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::Record;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let asked = &lookup.asked.name;
    let step = asked.split_once('.').and_then(|(label, domain)| {
        let step: u64 = label.strip_prefix("down")?.parse().ok()?;
        Some((step, domain))
    });
    let (step, domain) = step.unwrap_or((0, asked));
    let next = format!("down{}.{domain}", step.wrapping_add(1));
    Said::Records(vec![Record::alias(&next, lookup.ttl).of(asked)])
}
