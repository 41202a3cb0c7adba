//! Stopping in order: one signal that everybody can wait for, and the reason for it.
//!
//! The first reason given stays, but for a failure on the way out, of which the user must hear. Visits that see the signal finish nothing new: they check in
//! what they have and release their site.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// Why a crawl came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing is left that could be fetched now.
    Finished,
    /// A limit that the user set: pages, time or size.
    Limit(&'static str),
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// The disk is full: what is checked in is safe, the crawl can be resumed.
    DiskFull(String),
    /// aranha itself could not go on.
    Failed(String),
}

impl Reason {
    /// Whether something that was to be kept may not have been.
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
            Self::DiskFull(detail) => write!(f, "the disk is full: {detail}"),
            Self::Failed(detail) => f.write_str(detail),
        }
    }
}

/// A handle on the signal; clones share it.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<Option<Reason>>>);

impl Stop {
    /// Nobody has asked to stop yet.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Asks everybody to stop. The first reason counts, unless a failure comes after one that is none.
    pub fn ask(&self, reason: Reason) {
        self.0.send_if_modified(|current| {
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

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Why, once somebody asked.
    pub fn reason(&self) -> Option<Reason> {
        self.0.borrow().clone()
    }

    /// Waits until somebody asks. May be cancelled.
    pub async fn wait(&self) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
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
    async fn the_first_reason_stays() {
        let stop = Stop::new();
        assert!(!stop.asked());
        let waiting = tokio::spawn({
            let stop = stop.clone();
            async move { stop.wait().await }
        });
        stop.ask(Reason::Limit("pages"));
        stop.ask(Reason::Interrupted);
        waiting.await.unwrap();
        assert_eq!(stop.reason(), Some(Reason::Limit("pages")));
    }

    #[test]
    fn a_failure_on_the_way_out_is_told() {
        let stop = Stop::new();
        stop.ask(Reason::Finished);
        let full = Reason::DiskFull("no room".to_owned());
        stop.ask(full.clone());
        stop.ask(Reason::Failed("later".to_owned()));
        stop.ask(Reason::Interrupted);
        assert_eq!(stop.reason(), Some(full));
    }
}
