//! The state of the current or last crawl of a collection: whether it is running, what it waits for, or how it ended.

use std::time::Duration;

use aranha_engine::{Collection, Progress, Status};
use aranha_frontier::{NodeEntry, NodeState};
use aranha_units::{calendar, duration};
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::CommandError;
use crate::output::counted;

/// The state of the running or last crawl.
pub(crate) struct CrawlState {
    /// The process that writes to the collection.
    process: Option<u32>,
    /// The state that the running or last crawl wrote.
    progress: Option<Progress>,
    /// The nodes of the crawl that have not ended; `None` if the frontier is in the folder.
    nodes: Option<Vec<NodeEntry>>,
}

/// The reason why a running crawl waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    /// DNS lookups fail.
    Dns,
    /// A proxy cannot be reached.
    Proxy,
    /// No site is being visited, because none is due.
    DueTime,
    /// Sites are being visited, but no page has arrived in the last seconds.
    Servers,
}

impl WaitsFor {
    fn name(self) -> &'static str {
        match self {
            WaitsFor::Dns => "dns",
            WaitsFor::Proxy => "proxy",
            WaitsFor::DueTime => "due time",
            WaitsFor::Servers => "servers",
        }
    }
}

impl CrawlState {
    pub(crate) fn read(collection: &CollectionReader) -> Result<Self, CommandError> {
        let nodes = if collection.view.is_shared() {
            let mut nodes = collection.view.nodes()?;
            nodes.retain(|node| matches!(node.state, NodeState::Alive | NodeState::Draining));
            Some(nodes)
        } else {
            None
        };
        let process = collection.view.writer();
        let path = Collection::at(&collection.folder).progress();
        let progress = Progress::read(&path)
            // A process that is not a crawl, such as `aranha seed add`, writes no state.
            .filter(|progress| process.is_none_or(|process| process == progress.process));
        Ok(Self {
            process,
            progress,
            nodes,
        })
    }

    fn waits_for(&self) -> Option<WaitsFor> {
        let progress = self.progress.as_ref().filter(|_| self.process.is_some())?;
        if progress.dns_outage {
            Some(WaitsFor::Dns)
        } else if progress.proxy_outage {
            Some(WaitsFor::Proxy)
        } else if progress.active_visits == 0 {
            Some(WaitsFor::DueTime)
        } else if progress.pages_per_second < 0.05 && progress.pages > 0 {
            Some(WaitsFor::Servers)
        } else {
            None
        }
    }

    /// The state in one line. `folder` is the collection as typed.
    pub(crate) fn line(&self, status: &Status, now: i64, folder: &str) -> String {
        if let Some(nodes) = &self.nodes {
            return nodes_line(nodes);
        }
        match (self.process, &self.progress) {
            (Some(process), Some(progress)) => self.running(process, progress, status, now),
            (Some(process), None) => format!("process {process} is writing to the collection"),
            (None, None) => "not running".to_owned(),
            (None, Some(progress)) => {
                let time = calendar::date_time(progress.time);
                match &progress.ended {
                    Some(reason) => format!(
                        "not running; the last one ended {time} UTC after {}: {reason}",
                        length(progress.started, progress.time)
                    ),
                    None => format!(
                        "not running; the last one was killed or crashed at {time} UTC; `aranha crawl -c {folder}` continues"
                    ),
                }
            }
        }
    }

    fn running(&self, process: u32, progress: &Progress, status: &Status, now: i64) -> String {
        let visits = counted(progress.active_visits, "site");
        let work = match self.waits_for() {
            Some(WaitsFor::Dns) => "waits until DNS lookups succeed again".to_owned(),
            Some(WaitsFor::Proxy) => "waits until the proxy can be reached again".to_owned(),
            Some(WaitsFor::DueTime) => match status.next_due {
                Some(due) if due > now => format!(
                    "waits until {} UTC, when the next page is due",
                    calendar::date_time(due)
                ),
                _ => "looks for pages that are due".to_owned(),
            },
            Some(WaitsFor::Servers) => {
                format!("visits {visits}; waits for responses and courtesy pauses")
            }
            None => format!("visits {visits}"),
        };
        format!(
            "running for {} (process {process}): {} pages, {:.1} pages/s; {work}",
            length(progress.started, now),
            grouped(progress.pages),
            progress.pages_per_second,
        )
    }

    pub(crate) fn json(&self, now: i64) -> Value {
        if let Some(nodes) = &self.nodes {
            return nodes_json(nodes);
        }
        let running = self.process.is_some();
        let progress = self.progress.as_ref();
        let end = progress.map(|progress| if running { now } else { progress.time });
        let ended = progress.and_then(|progress| progress.ended.as_deref());
        json!({
            "running": running,
            "process": self.process,
            "started": progress.map(|progress| calendar::rfc3339(progress.started)),
            "ended": end.filter(|_| !running).map(calendar::rfc3339),
            "reason": ended,
            "killed": !running && progress.is_some() && ended.is_none(),
            "seconds": progress.zip(end).map(|(progress, end)| (end - progress.started).max(0) as f64 / 1000.0),
            "pages": progress.map(|progress| progress.pages),
            "pages_per_second": progress.filter(|_| running).map(|progress| progress.pages_per_second),
            "waits_for": self.waits_for().map(WaitsFor::name),
        })
    }
}

fn nodes_line(nodes: &[NodeEntry]) -> String {
    if nodes.is_empty() {
        return "not running: no node is at work".to_owned();
    }
    let rate: f64 = nodes.iter().map(|node| node.pages_per_second).sum();
    let sites = nodes.iter().map(|node| node.leases).sum();
    format!(
        "running on {}: {rate:.1} pages/s; visits {} (aranha nodes lists the nodes)",
        counted(nodes.len() as u64, "node"),
        counted(sites, "site")
    )
}

fn nodes_json(nodes: &[NodeEntry]) -> Value {
    let started = nodes.iter().map(|node| node.since).min();
    json!({
        "running": !nodes.is_empty(),
        "nodes": nodes.len(),
        "process": null,
        "started": started.map(calendar::rfc3339),
        "ended": null,
        "reason": null,
        "killed": false,
        "seconds": null,
        "waits_for": null,
        "pages": nodes.iter().map(|node| node.pages).sum::<u64>(),
        "pages_per_second": nodes.iter().map(|node| node.pages_per_second).sum::<f64>(),
    })
}

/// The time between two unix milliseconds, in whole seconds.
fn length(from: i64, to: i64) -> String {
    let seconds = u64::try_from((to - from) / 1000).unwrap_or_default();
    duration::format(Duration::from_secs(seconds))
}
