//! Notices: events that the operator of a crawl should know about while it runs.
//!
//! [`Notices::send`] appends each notice to `logs/events.jsonl` and passes it to the program that runs the crawl.
//! Senders never wait, and the crawl does not depend on a receiver.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::event::Event;
use super::event_log::EventLog;
use crate::clock::Clock;

/// Maximum number of notices that wait for the receiver. Further notices are only logged.
const QUEUE_LENGTH: usize = 1000;

/// Something that the operator should know. The JSON field `notice` names the variant; `Display` is a sentence for the
/// operator.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// A site is blocked as a trap (D5).
    Trap {
        /// The site.
        site: String,
        /// Why the site is considered a trap.
        reason: String,
    },
    /// A site has brought too little that is new: its next visit is postponed (D5).
    SitePostponed {
        /// The site.
        site: String,
        /// The wait in seconds.
        seconds: u64,
        /// What is wrong with its pages.
        reason: String,
    },
    /// A site has reached a threshold, and its links are no longer followed (D5).
    LinksStopped {
        /// The site.
        site: String,
        /// The threshold.
        reason: String,
    },
    /// All hosts below a domain are blocked as one trap (D6).
    DomainTrap {
        /// The entry added to the collection's black list.
        entry: String,
        /// Why the hosts are considered a trap.
        reason: String,
    },
    /// A site that was being visited is blocked by the black list.
    SiteBlocked {
        /// The site.
        site: String,
        /// The entry of the black list.
        entry: String,
    },
    /// One site takes a large share of the requests (D7).
    SiteShare {
        /// The site.
        site: String,
        /// Its share of the latest requests, in percent.
        percent: u32,
    },
    /// A seed could not be fetched, or its server answered with an error.
    SeedFailed {
        /// URL of the seed.
        url: String,
        /// Why it could not be fetched.
        reason: String,
    },
    /// A visit was ended by a fault of the crawler (M6). The site is visited again, after all others.
    VisitFailed {
        /// The site.
        site: String,
        /// The fault.
        problem: String,
    },
    /// A page could not be read because of a fault of the crawler. The visit of its site continues.
    PageFailed {
        /// The URL of the page.
        url: String,
        /// The fault.
        problem: String,
    },
    /// DNS lookups fail: the crawl pauses (N4).
    DnsDown,
    /// DNS lookups succeed again.
    DnsUp {
        /// Duration of the outage in seconds.
        seconds: u64,
    },
    /// The database of the frontier is away. Visits go on, and their results are recorded when the database is back.
    FrontierDown {
        /// The error.
        problem: String,
    },
    /// The database of the frontier is back.
    FrontierUp {
        /// Duration of the outage in seconds.
        seconds: u64,
    },
    /// An operator asked this node to finish its visits and end.
    Draining,
    /// The settings of the crawl have changed since this node started.
    SettingsChanged,
    /// DNS lookups fail, but the proxy resolves names: the crawl continues (N4).
    NoLocalDns,
    /// The proxy cannot be reached: requests through it wait.
    ProxyDown {
        /// URL of the proxy, without the login.
        proxy: String,
        /// Why it cannot be reached.
        problem: String,
    },
    /// The proxy can be reached again.
    ProxyUp {
        /// URL of the proxy, without the login.
        proxy: String,
        /// Duration of the outage in seconds.
        seconds: u64,
    },
    /// The system clock is behind the time of an earlier crawl.
    ClockBehind {
        /// The difference in seconds.
        seconds: u64,
    },
    /// The system clock was changed during the crawl.
    ClockChanged {
        /// The change in seconds; negative if the clock was set back.
        seconds: i64,
    },
    /// The disk is full: the crawl stops.
    DiskFull {
        /// The error.
        problem: String,
    },
    /// A folder for volumes is full or fails: new volumes go to the other folders.
    VolumeFolderLeft {
        /// The folder.
        folder: String,
        /// The error.
        problem: String,
    },
    /// An object store does not take volumes: they wait, or go to another store.
    StoreDown {
        /// Address of the store.
        store: String,
        /// The error.
        problem: String,
    },
    /// An object store takes volumes again.
    StoreUp {
        /// Address of the store.
        store: String,
        /// Duration of the outage in seconds.
        seconds: u64,
    },
    /// A volume cannot be uploaded because of a local error.
    UploadFailed {
        /// The error.
        problem: String,
    },
    /// The crawl has ended, and its last volumes are being uploaded.
    Uploading {
        /// Number of volumes.
        volumes: u64,
    },
    /// The crawl has ended, and volumes wait for an object store.
    UploadsWait {
        /// Number of volumes.
        volumes: u64,
    },
    /// Contents were deleted from the archive on request.
    Forgotten {
        /// The URL or the site.
        target: String,
        /// The reason.
        reason: String,
        /// Number of records that became tombstones.
        records: u64,
        /// Number of volumes that were changed.
        volumes: u64,
    },
    /// The black list has changed and was read.
    BlacklistReloaded,
    /// The black list cannot be read or updated. The entries that were read before still apply.
    BlacklistError {
        /// The error.
        problem: String,
    },
    /// The rules for links are wider than those of the last crawl. The links of all stored pages are read again.
    RulesWidened {
        /// The configuration keys that changed.
        keys: Vec<String>,
    },
    /// The links of the stored pages were read again.
    PagesReadAgain {
        /// Number of stored pages that were read.
        pages: u64,
        /// Number of pages that have a page record, but whose stored response is missing in the archive or damaged.
        unreadable: u64,
        /// Number of pages that were queued.
        queued: u64,
        /// Number of links to other sites.
        links_to_other_sites: u64,
    },
    /// Signals cannot be read.
    SignalsError {
        /// The error.
        problem: String,
    },
}

/// "1 volume" or "N volumes".
fn counted(volumes: u64) -> String {
    format!("{volumes} volume{}", if volumes == 1 { "" } else { "s" })
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap { site, reason } => write!(f, "{site} is blocked as a trap: {reason}"),
            Self::SitePostponed {
                site,
                seconds,
                reason,
            } => write!(
                f,
                "{site} is visited again after {}: {reason}",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::LinksStopped { site, reason } => {
                write!(f, "links of {site} are no longer followed: {reason}")
            }
            Self::DomainTrap { entry, reason } => {
                write!(f, "{entry} is blocked as a trap: {reason}")
            }
            Self::SiteBlocked { site, entry } => {
                write!(f, "{site} is blocked by the black list entry {entry}")
            }
            Self::SiteShare { site, percent } => write!(
                f,
                "{percent}% of the requests go to {site}; `aranha block {site}` blocks it"
            ),
            Self::SeedFailed { url, reason } => write!(f, "seed {url} failed: {reason}"),
            Self::VisitFailed { site, problem } => write!(
                f,
                "the visit of {site} failed ({problem}); it is visited again after all other sites"
            ),
            Self::PageFailed { url, problem } => write!(f, "{url} was not read: {problem}"),
            Self::DnsDown => f.write_str("DNS lookups fail; the crawl pauses until they succeed"),
            Self::DnsUp { seconds } => write!(
                f,
                "DNS lookups succeed again after {}; the crawl continues",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::FrontierDown { problem } => {
                write!(f, "{problem}; check-ins wait on the disk until it is back")
            }
            Self::FrontierUp { seconds } => write!(
                f,
                "the frontier is back after {}; the crawl continues",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::Draining => f.write_str("this node was asked to end; it finishes its visits"),
            Self::SettingsChanged => f.write_str(
                "the settings of the crawl have changed; this node uses them when it is started again",
            ),
            Self::NoLocalDns => f.write_str(
                "DNS lookups fail here; the proxy resolves the names, and the pause per address and the address guard do not \
                 apply to them",
            ),
            Self::ProxyDown { proxy, problem } => write!(
                f,
                "the proxy {proxy} cannot be reached ({problem}); the crawl waits until it can"
            ),
            Self::ProxyUp { proxy, seconds } => write!(
                f,
                "the proxy {proxy} can be reached again after {}; the crawl continues",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::ClockBehind { seconds } => write!(
                f,
                "the system clock is {} behind the last crawl of this collection; pages become due that much later",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::ClockChanged { seconds } => write!(
                f,
                "the system clock was set {} by {}; this crawl keeps its own time, the next one uses the new time",
                if *seconds < 0 { "back" } else { "ahead" },
                aranha_units::duration::format(Duration::from_secs(seconds.unsigned_abs()))
            ),
            Self::DiskFull { problem } => write!(f, "the disk is full: {problem}"),
            Self::VolumeFolderLeft { folder, problem } => write!(
                f,
                "new volumes no longer go to {folder} ({problem}); the other folders of volume.stores take over"
            ),
            Self::StoreDown { store, problem } => write!(
                f,
                "{store} does not take volumes ({problem}); they wait on the local disk unless another store takes them"
            ),
            Self::StoreUp { store, seconds } => write!(
                f,
                "{store} takes volumes again after {}",
                aranha_units::duration::format(Duration::from_secs(*seconds))
            ),
            Self::UploadFailed { problem } => write!(f, "a volume was not uploaded: {problem}"),
            Self::Uploading { volumes } => write!(
                f,
                "uploading {}; Ctrl-C leaves the rest for the next crawl or `aranha ship`",
                counted(*volumes)
            ),
            Self::UploadsWait { volumes } => write!(
                f,
                "{} not uploaded yet; the next crawl or `aranha ship` does it",
                counted(*volumes)
            ),
            Self::Forgotten {
                target, records, ..
            } => write!(f, "{target} was forgotten: {records} records overwritten"),
            Self::BlacklistReloaded => f.write_str("the black list was reloaded"),
            Self::BlacklistError { problem } => {
                write!(f, "the previous black list stays in force: {problem}")
            }
            Self::RulesWidened { keys } => write!(
                f,
                "wider rules than in the last crawl ({}): the links of stored pages are read again",
                keys.join(", ")
            ),
            Self::PagesReadAgain {
                pages,
                unreadable,
                queued,
                links_to_other_sites,
            } => {
                write!(
                    f,
                    "read the links of {pages} stored pages again: {queued} pages queued, {links_to_other_sites} links \
                     to other sites"
                )?;
                if *unreadable > 0 {
                    write!(f, "; {unreadable} pages could not be read from the archive")?;
                }
                Ok(())
            }
            Self::SignalsError { problem } => write!(f, "cannot read signals: {problem}"),
        }
    }
}

/// Sends notices to the event log and to the program that runs the crawl.
#[derive(Clone, Debug)]
pub(crate) struct Notices {
    log: Arc<EventLog>,
    clock: Clock,
    sender: mpsc::Sender<Notice>,
}

impl Notices {
    pub(crate) fn new(log: EventLog, clock: Clock) -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(QUEUE_LENGTH);
        let notices = Self {
            log: Arc::new(log),
            clock,
            sender,
        };
        (notices, receiver)
    }

    pub(crate) fn send(&self, notice: Notice) {
        tracing::info!("{notice}");
        self.log
            .append(&Event::notice(self.clock.now(), notice.clone()));
        let _ = self.sender.try_send(notice);
    }

    /// The event log. Events that are not notices are appended to it directly.
    pub(crate) fn log(&self) -> Arc<EventLog> {
        Arc::clone(&self.log)
    }
}
