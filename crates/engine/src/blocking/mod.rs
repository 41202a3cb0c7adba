//! Blocking of sites and URLs, by the black list or by the crawl when it detects a trap.
//!
//! `blacklist_watch.rs` reads the file; `shared_blacklist.rs` exchanges it with other nodes; `scope.rs` applies it to URLs; `visit/blacklist.rs` ends the visit of a blocked
//! site.

pub(crate) mod blacklist_watch;
pub(crate) mod shared_blacklist;

use std::net::IpAddr;

use crate::node::Context;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::traps::wildcard_domains;

impl Context {
    /// Adds an entry to the collection's black list that blocks all hosts below the domain of `host`, because together
    /// they are a trap.
    pub(crate) fn block_domain(&self, host: &str, reason: &str) {
        let Some(domain) = wildcard_domains::parent_domain(host) else {
            return;
        };
        let entry = format!("*.{domain}");
        if self.scope.block(&entry).is_ok() {
            self.report_trap(entry, reason);
        }
    }

    /// Adds to the collection's black list the addresses that a wildcard below the top-level domain `tld` returns, so
    /// that they are refused.
    pub(crate) fn refuse_wildcard_targets(&self, tld: &str, addresses: &[IpAddr]) {
        for address in addresses {
            let entry = address.to_string();
            if self.network.web.extend_blacklist(&entry).is_ok() {
                let reason = format!("every name below .{tld} has this address");
                self.report_trap(entry, &reason);
            }
        }
    }

    /// Adds an entry to the collection's black list, and tells the operator.
    fn report_trap(&self, entry: String, reason: &str) {
        let notices = &self.reports.notices;
        if let Err(error) = self.scope.blacklist.add(&entry, reason) {
            let problem = error.to_string();
            notices.send(Notice::BlacklistError { problem });
        }
        add(&self.reports.counters.traps, 1);
        let reason = reason.to_owned();
        notices.send(Notice::DomainTrap { entry, reason });
    }
}
