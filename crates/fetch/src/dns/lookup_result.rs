//! The result of one look-up at the name servers, before the address guard has checked it.

use std::{net::IpAddr, time::Duration};

use crate::Failure;

/// Addresses or a failure, and the time for which the result may be cached.
#[derive(Clone, Debug)]
pub(crate) struct LookupResult {
    pub(super) outcome: Result<Vec<IpAddr>, Failure>,
    pub(super) ttl: Duration,
    /// If the name does not exist, the zone that should contain it, in lower case without the final dot. It is known
    /// only if the answer has an SOA record.
    pub(super) zone: Option<Box<str>>,
}

impl LookupResult {
    pub(super) fn failed(failure: Failure) -> LookupResult {
        LookupResult {
            outcome: Err(failure),
            ttl: Duration::ZERO,
            zone: None,
        }
    }

    /// Addresses or a failure without a zone.
    pub(super) fn new(outcome: Result<Vec<IpAddr>, Failure>, ttl: Duration) -> LookupResult {
        LookupResult {
            outcome,
            ttl,
            zone: None,
        }
    }

    /// Combines the results for A and AAAA records. If one result has addresses, a failure of the other is ignored. If
    /// both failed, a failure other than "no address" takes precedence.
    pub(super) fn merge(self, other: LookupResult) -> LookupResult {
        let ttl = self.ttl.min(other.ttl);
        match (self.outcome, other.outcome) {
            (Ok(mut first), Ok(second)) => {
                first.extend(second);
                LookupResult::new(Ok(first), ttl)
            }
            (Ok(only), Err(_)) => LookupResult::new(Ok(only), self.ttl),
            (Err(_), Ok(only)) => LookupResult::new(Ok(only), other.ttl),
            (Err(Failure::DnsNoAddress), Err(failure)) | (Err(failure), Err(_)) => LookupResult {
                outcome: Err(failure),
                ttl,
                zone: self.zone.or(other.zone),
            },
        }
    }
}
