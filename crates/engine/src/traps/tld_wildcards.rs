//! Top-level domains in which every name has an address (D6; Viuva Negra 4.1, 5.4). In such a domain, a name that
//! nobody has registered leads to a page of the registry. Viuva Negra "does not visit sites hosted on IP addresses that
//! are the target of top level domains that use DNS wildcarding".
//!
//! The first visit to a host of a top-level domain resolves an invented name below this domain. If the name has
//! addresses, they are the target of a wildcard. They are added to the collection's black list, so that later crawls
//! refuse them too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aranha_url::{SiteKey, is_address};
use tokio::sync::OnceCell;

/// The top-level domains of the hosts that were visited, each with its test.
#[derive(Debug, Default)]
pub(crate) struct TldWildcards(Mutex<HashMap<String, Arc<OnceCell<()>>>>);

/// The test of a top-level domain.
pub(crate) struct TldTest {
    /// The top-level domain.
    pub(crate) tld: String,
    /// The invented name to resolve.
    pub(crate) invented: String,
    /// Empty until the test has ended. All visits to hosts of the domain wait for the same test.
    pub(crate) cell: Arc<OnceCell<()>>,
}

impl TldWildcards {
    /// The test of the top-level domain of `host`; `None` for an IP address and for a name without a dot.
    pub(crate) fn test(&self, host: &str) -> Option<TldTest> {
        let (_, tld) = host.trim_end_matches('.').rsplit_once('.')?;
        if is_address(host) {
            return None;
        }
        let mut tests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = tests.entry(tld.to_owned()).or_default();
        Some(TldTest {
            tld: tld.to_owned(),
            invented: format!("aranha-{:016x}.{tld}", SiteKey::of(tld).0),
            cell: Arc::clone(cell),
        })
    }
}
