//! What one question to the servers brought, before the guard has seen it.

use std::{net::IpAddr, time::Duration};

use crate::Failure;

/// Addresses or why there are none, and for how long that holds.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) outcome: Result<Vec<IpAddr>, Failure>,
    pub(super) ttl: Duration,
}

impl Found {
    pub(super) fn failed(failure: Failure) -> Found {
        Found {
            outcome: Err(failure),
            ttl: Duration::ZERO,
        }
    }

    /// IPv4 and IPv6 together: any addresses win over any failure, and a name that does not exist, or whose servers
    /// fail, for one kind says more than "no address of the other kind".
    pub(super) fn or(self, other: Found) -> Found {
        let ttl = self.ttl.min(other.ttl);
        match (self.outcome, other.outcome) {
            (Ok(mut first), Ok(second)) => {
                first.extend(second);
                Found {
                    outcome: Ok(first),
                    ttl,
                }
            }
            (Ok(only), Err(_)) => Found {
                outcome: Ok(only),
                ttl: self.ttl,
            },
            (Err(_), Ok(only)) => Found {
                outcome: Ok(only),
                ttl: other.ttl,
            },
            (Err(Failure::DnsNoAddress), Err(failure)) | (Err(failure), Err(_)) => Found {
                outcome: Err(failure),
                ttl,
            },
        }
    }
}
