//! What somebody who watches a crawl should hear about: traps, sites that take too much, names that do not resolve.
//!
//! Visits report, the program that runs the crawl listens. Nothing waits for a listener, and nothing depends on one: what
//! must last is in the frontier.

use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;

/// Notices that may wait to be heard; later ones are dropped.
const WAITING: usize = 1000;

/// Something worth saying.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// A site is taken for a trap: its links are no longer followed (D5).
    #[serde(rename = "closed")]
    Blocked {
        /// Which.
        site: String,
        /// Why.
        reason: String,
    },
    /// All hosts below a domain are shut out (D6).
    #[serde(rename = "shut_out")]
    DomainBlocked {
        /// The entry in the collection's black list.
        entry: String,
        /// Why.
        reason: String,
    },
    /// A site takes a large share of the crawl (D7).
    Dominates {
        /// Which.
        site: String,
        /// Of the last requests, in percent.
        percent: u32,
    },
    /// Names no longer resolve: the crawl waits (N4).
    NamesDown,
    /// Names resolve again.
    NamesUp {
        /// How long they did not.
        after: Duration,
    },
    /// The black list was read anew.
    BlacklistRead,
    /// The black list cannot be read: the one before stays in force.
    BlacklistWrong {
        /// What is wrong.
        problem: String,
    },
    /// Signals from outside cannot be read.
    SignalsWrong {
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked { site, reason } => write!(f, "{site} is set aside: {reason}"),
            Self::DomainBlocked { entry, reason } => write!(f, "{entry} is shut out: {reason}"),
            Self::Dominates { site, percent } => write!(
                f,
                "{site} takes {percent} % of the requests; `aranha block {site}` shuts it out"
            ),
            Self::NamesDown => {
                f.write_str("names do not resolve: the crawl waits until they do again")
            }
            Self::NamesUp { after } => write!(
                f,
                "names resolve again after {}: the crawl goes on",
                aranha_units::duration::format(Duration::from_secs(after.as_secs()))
            ),
            Self::BlacklistRead => f.write_str("the black list was read anew"),
            Self::BlacklistWrong { problem } => {
                write!(f, "the black list stays as it was: {problem}")
            }
            Self::SignalsWrong { problem } => write!(f, "signals are not heard: {problem}"),
        }
    }
}

/// Where visits report.
#[derive(Clone, Debug)]
pub(crate) struct Notices(mpsc::Sender<Notice>);

impl Notices {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    pub(crate) fn say(&self, notice: Notice) {
        let _ = self.0.try_send(notice);
    }
}
