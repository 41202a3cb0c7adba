//! The shared part of all fetches, and the order of things in one fetch.

use std::{net::IpAddr, sync::Arc};

use aranha_url::Blacklist;
use serde::{Deserialize, Serialize};

use crate::{Failure, FetchSetupError, Fetched, Options, Request, Session};

/// Options, DNS cache, TLS sessions and address guard; cheap to clone.
#[derive(Clone)]
pub struct Web {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
}

/// The addresses of a host, each passed by the guard; IPv4 first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// At least one.
    pub addresses: Vec<IpAddr>,
    /// Unix milliseconds.
    pub expires_ms: i64,
}

impl Web {
    /// `refused`: address ranges refused beside the guard's own, whatever `allow_private` says.
    pub fn new(options: Options, _refused: Blacklist) -> Result<Web, FetchSetupError> {
        Ok(Web {
            shared: Arc::new(Shared { options }),
        })
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// The addresses of a host, from the cache or the name servers; only those that the guard passes. IP literals
    /// (IPv6 in brackets or not) go through the same guard. Concurrent questions for one name are one question.
    pub async fn resolve(&self, _host: &str) -> Result<Resolved, Failure> {
        Err(Failure::DnsNotFound)
    }

    /// Brings an answer kept across a restart into the cache.
    pub fn remember(&self, _host: &str, _resolved: &Resolved) {}

    /// One request, one outcome, always within the whole-fetch limit. Reconnects once when a kept-alive connection
    /// turns out closed before any byte of the answer. May be cancelled: the session then has no connection.
    pub async fn fetch(&self, _session: &mut Session, _request: Request<'_>) -> Fetched {
        unimplemented!()
    }
}
