//! Aliases without end: each leads to one that was never asked for before.
//!
//! CNAME chains, RFC 1034 3.6.2; unlike the ring (`ring`) no name comes twice, so that only a limit on the length ends
//! it: N4.

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
