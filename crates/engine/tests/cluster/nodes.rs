//! The node processes of a trial. A node that has ended for any reason is started again.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::process::Orders;

/// Time from the end of a node to its next start.
const RESTART: Duration = Duration::from_millis(500);

/// All nodes of a trial. Dropping them ends the processes.
pub(crate) struct Nodes {
    processes: Vec<NodeProcess>,
    counts: Counts,
    _folder: TempDir,
}

struct NodeProcess {
    orders: Orders,
    child: Option<Child>,
    /// When the stopped process is continued.
    stopped_until: Option<Instant>,
    restart_at: Instant,
    /// Whether the process was killed by the trial.
    is_killed: bool,
}

/// What has happened to the nodes.
#[derive(Default, Debug)]
struct Counts {
    kills: u32,
    stops: u32,
    /// Processes that their own timer has ended.
    ended_by_timer: u32,
    failed: u32,
    finished: u32,
}

impl Nodes {
    pub(crate) fn start(
        count: usize,
        database: &str,
        resolver: SocketAddr,
        faults: &'static str,
    ) -> Nodes {
        let folder = tempfile::tempdir().expect("a folder");
        let nodes = (0..count).map(|number| NodeProcess {
            orders: Orders {
                name: format!("node{number}"),
                folder: folder.path().join(format!("node{number}")),
                database: database.to_owned(),
                resolver,
                skew: [0, 3, -2, 1][number % 4],
                faults,
            },
            child: None,
            stopped_until: None,
            restart_at: Instant::now(),
            is_killed: false,
        });
        let mut nodes = Nodes {
            processes: nodes.collect(),
            counts: Counts::default(),
            _folder: folder,
        };
        nodes.look();
        nodes
    }

    /// Continues nodes whose stop is over, and starts nodes that have ended.
    pub(crate) fn look(&mut self) {
        for node in &mut self.processes {
            if node
                .stopped_until
                .is_some_and(|until| Instant::now() >= until)
            {
                node.go_on();
            }
            let ended = node
                .child
                .as_mut()
                .and_then(|child| child.try_wait().expect("asks"));
            if let Some(status) = ended {
                self.counts.add(status, node.is_killed);
                (node.child, node.stopped_until) = (None, None);
                node.restart_at = Instant::now() + RESTART;
            }
            if node.child.is_none() && Instant::now() >= node.restart_at {
                node.is_killed = false;
                node.child = Some(node.orders.command().spawn().expect("starts"));
            }
        }
    }

    pub(crate) fn kill(&mut self, number: usize) {
        let node = &mut self.processes[number];
        if let Some(child) = &mut node.child {
            child.kill().expect("is killed");
            node.is_killed = true;
            self.counts.kills += 1;
        }
    }

    /// Stops a node for a time.
    pub(crate) fn stop(&mut self, number: usize, time: Duration) {
        let node = &mut self.processes[number];
        if node.stopped_until.is_none() && node.signal(Signal::STOP) {
            node.stopped_until = Some(Instant::now() + time);
            self.counts.stops += 1;
        }
    }

    /// Continues all stopped nodes.
    pub(crate) fn go_on(&mut self) {
        for node in &mut self.processes {
            node.go_on();
        }
    }

    pub(crate) fn report(&self) -> String {
        let mut report = vec![format!("{:?}", self.counts)];
        for node in &self.processes {
            let log = std::fs::read_to_string(node.orders.folder.with_extension("log"));
            let log = log.unwrap_or_default();
            let problems = log
                .lines()
                .filter(|line| line.contains("panicked") || line.contains("ended:"));
            let last: Vec<&str> = problems.collect();
            let last = &last[last.len().saturating_sub(3)..];
            report.push(format!("{}: {last:?}", node.orders.name));
        }
        report.join("\n")
    }
}

impl NodeProcess {
    fn signal(&self, signal: Signal) -> bool {
        let pid = self.child.as_ref().map(Pid::from_child);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    fn go_on(&mut self) {
        if self.stopped_until.take().is_some() {
            self.signal(Signal::CONT);
        }
    }
}

impl Counts {
    fn add(&mut self, status: ExitStatus, is_killed: bool) {
        match status.signal() {
            Some(_) if is_killed => {}
            Some(9) => self.ended_by_timer += 1,
            _ if status.success() => self.finished += 1,
            _ => self.failed += 1,
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.processes {
            if let Some(mut child) = node.child.take() {
                // It may have ended.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        if let Some(path) = std::env::var_os("ARANHA_CLUSTER_LOGS") {
            for node in &self.processes {
                let log = node.orders.folder.with_extension("log");
                let name = log.file_name().expect("a name");
                let _ = std::fs::copy(&log, std::path::Path::new(&path).join(name));
            }
        }
    }
}
