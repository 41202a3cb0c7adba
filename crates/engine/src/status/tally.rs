//! Counters of one crawl: visits add to [`LiveCounters`], and everything that reports progress reads a [`Tally`].
//!
//! The counters are for display only. Decisions are based on the frontier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Defines the live counters and their snapshot with the same fields.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Live counters of a crawl. Visits add to them, and they can be read at any time.
        #[derive(Debug, Default)]
        pub struct LiveCounters {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct Tally {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl LiveCounters {
            /// Reads each counter once.
            pub fn tally(&self) -> Tally {
                Tally { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Responses received for pages, with any status.
    pages,
    /// Pages whose content was already in the archive.
    duplicates,
    /// Responses that were read but not stored, by `crawl.keep` or `crawl.noindex`.
    not_kept,
    /// Fetches without a response.
    failed,
    /// Seeds that were not fetched, or whose server answered with an error. Each seed counts once.
    seeds_failed,
    /// Responses with status 400 or above.
    http_errors,
    /// Pages not requested because robots.txt disallows them.
    disallowed,
    /// Bytes received from the network.
    bytes_received,
    /// Compressed bytes written to volumes.
    bytes_written,
    /// Links found in pages, before any filter.
    links,
    /// Links that were not followed because they are marked nofollow.
    links_nofollow,
    /// Links to sites, domains or directories that are out of scope.
    links_out_of_scope,
    /// Links beyond the maximum depth.
    links_too_deep,
    /// Links that `reject` excludes or `accept` does not include.
    links_filtered,
    /// Links to URLs on the black list.
    links_blacklisted,
    /// Links with a scheme other than http and https, such as e-mail addresses.
    links_other_scheme,
    /// Links whose URL is too long, repeats a path component too often, or has too many slashes.
    links_growing,
    /// Links that are not valid URLs.
    links_malformed,
    /// Sites being visited now.
    active_visits,
    /// Visits begun. A site visited twice counts twice.
    visits_started,
    /// Visits that were ended by a fault of the crawler.
    failed_visits,
    /// Group commits.
    commits,
    /// Number of parallel requests that the load manager allows now; 0 if there is no limit.
    request_limit,
    /// Sites and domains blocked as traps.
    traps,
    /// "Not found" pages sent with status 200 (T8).
    soft_404,
    /// Pages that only say that the browser is not supported (T9).
    unsupported_browser,
    /// Responses of which only a part was received and stored, because of the size limit, the time limit, or a closed
    /// connection.
    truncated,
    /// Revisited pages without a change, including 304 responses.
    unchanged,
    /// Revisited pages whose text had changed.
    changed,
    /// Revisited pages that no longer exist.
    gone,
    /// Signals about pages in scope.
    signals,
    /// Revisits that a signal brought forward.
    revisits_advanced,
    /// Pages that were unknown until a signal announced them.
    pages_announced,
    /// Pages read from the proxy's cache.
    proxy_hits,
    /// Pages no longer in the proxy's cache when they were requested.
    proxy_misses,
}

/// Adds to a counter with relaxed ordering, because no other memory is synchronised.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}
