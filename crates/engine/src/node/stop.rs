//! The request to stop a crawl, with its reason. Every task can wait for this request.
//!
//! The first reason is kept, with one exception: a failure (full disk, error of aranha) replaces a reason that is not a
//! failure. After the request, visits start no further fetch. They make their last check-in, which releases their
//! sites.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// Why a crawl ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No site is due within `crawl.idle_wait`.
    Finished,
    /// A configured limit of the whole crawl was reached.
    Limit(CrawlLimit),
    /// The user pressed Ctrl-C, or the process received SIGTERM or SIGHUP.
    Interrupted,
    /// An operator asked this node to finish its visits and end (`aranha drain`).
    Drained,
    /// The proxy rejects the login, or the server is not a proxy of the configured kind. The crawl can be resumed with
    /// another `fetch.proxy`.
    Proxy(String),
    /// The disk is full. Checked-in pages are safe, and the crawl can be resumed.
    DiskFull(String),
    /// An error of aranha itself.
    Failed(String),
}

/// A configured limit of the whole crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrawlLimit {
    /// The number of pages (`crawl.pages`).
    Pages,
    /// The duration (`crawl.time`).
    Time,
    /// The growth of the archive (`crawl.size`).
    Size,
}

impl fmt::Display for CrawlLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "pages",
            Self::Time => "time",
            Self::Size => "size",
        })
    }
}

impl Reason {
    /// Whether the crawl stops because it cannot continue. Then the last fetched pages may be missing in the frontier.
    fn is_failure(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::Failed(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::Limit(limit) => write!(f, "the limit of {limit} was reached"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Drained => f.write_str("drained"),
            Self::DiskFull(detail) => write!(f, "the disk is full: {detail}"),
            Self::Proxy(detail) | Self::Failed(detail) => f.write_str(detail),
        }
    }
}

/// Requests the stop of a crawl, or waits for this request. All clones belong to the same crawl.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Requests>);

#[derive(Debug)]
struct Requests {
    reason: watch::Sender<Option<Reason>>,
    /// Whether the user has interrupted the crawl, even if it was already stopping for another reason.
    interrupted: watch::Sender<bool>,
}

impl Stop {
    /// Creates a handle for a crawl whose stop was not requested yet.
    pub fn new() -> Self {
        Self(Arc::new(Requests {
            reason: watch::Sender::new(None),
            interrupted: watch::Sender::new(false),
        }))
    }

    /// Requests the stop. An earlier reason is kept, unless `reason` is a failure and the earlier reason is not.
    pub fn ask(&self, reason: Reason) {
        if reason == Reason::Interrupted {
            self.0.interrupted.send_replace(true);
        }
        self.0.reason.send_if_modified(|current| {
            let counts = match current {
                None => true,
                Some(before) => reason.is_failure() && !before.is_failure(),
            };
            if counts {
                *current = Some(reason);
            }
            counts
        });
    }

    /// Whether a stop was requested.
    pub fn asked(&self) -> bool {
        self.0.reason.borrow().is_some()
    }

    /// The reason, if a stop was requested.
    pub fn reason(&self) -> Option<Reason> {
        self.0.reason.borrow().clone()
    }

    /// Waits until a stop is requested. Cancel safe.
    pub async fn wait(&self) {
        // The wait can fail only if the channel is closed. It stays open, because `self` holds the sender.
        let _ = self.0.reason.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the user interrupts the crawl, even if it is already stopping for another reason. Cancel safe.
    pub async fn interrupted(&self) {
        // Like in `wait`, the channel stays open.
        let _ = self.0.interrupted.subscribe().wait_for(|now| *now).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_counts() {
        let stop = Stop::new();
        assert!(!stop.asked());
        let waiting = tokio::spawn({
            let stop = stop.clone();
            async move { stop.wait().await }
        });
        stop.ask(Reason::Limit(CrawlLimit::Pages));
        stop.ask(Reason::Interrupted);
        waiting.await.unwrap();
        stop.interrupted().await;
        assert_eq!(stop.reason(), Some(Reason::Limit(CrawlLimit::Pages)));
    }

    #[test]
    fn a_failure_replaces_an_earlier_reason_that_is_not_a_failure() {
        let stop = Stop::new();
        stop.ask(Reason::Finished);
        let full = Reason::DiskFull("no room".to_owned());
        stop.ask(full.clone());
        stop.ask(Reason::Failed("later".to_owned()));
        stop.ask(Reason::Interrupted);
        assert_eq!(stop.reason(), Some(full));
    }
}
