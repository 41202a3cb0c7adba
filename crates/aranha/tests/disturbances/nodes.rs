//! The node processes of a trial. A node that has ended for any reason is started again, as by systemd.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Time from the end of a node to its next start.
const RESTART: Duration = Duration::from_millis(500);
/// Time in which a node ends after Ctrl-C.
const LEAVE_LIMIT: Duration = Duration::from_secs(90);

/// All nodes of a trial. Dropping them ends the processes.
#[derive(Debug)]
pub(crate) struct Nodes {
    processes: Vec<NodeProcess>,
    pub(crate) counts: Counts,
}

/// How a node is started.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) folder: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
}

#[derive(Debug)]
struct NodeProcess {
    orders: Orders,
    child: Option<Child>,
    restart_at: Instant,
    /// Whether the process was killed by the trial.
    is_killed: bool,
}

/// What has happened to the nodes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) kills: u32,
    pub(crate) stops: u32,
    /// Processes that their own timer has ended.
    pub(crate) ended_by_timer: u32,
    /// Processes that ended with an error, such as a start while the database was away.
    pub(crate) failed: u32,
    /// Processes that ended without an error, although nobody had asked them to.
    pub(crate) finished: u32,
}

impl Orders {
    fn log(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// The command that starts the process. Its messages are appended to a file.
    fn command(&self) -> Command {
        let log = File::options().create(true).append(true).open(self.log());
        let log = log.expect("the file opens");
        let mut command = crate::support::aranha();
        command
            .args(["node", "--quiet", "-c"])
            .arg(&self.folder)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the file is shared"))
            .stderr(log);
        command
    }
}

impl Nodes {
    pub(crate) fn start(orders: Vec<Orders>) -> Nodes {
        let processes = orders.into_iter().map(|orders| NodeProcess {
            orders,
            child: None,
            restart_at: Instant::now(),
            is_killed: false,
        });
        let mut nodes = Nodes {
            processes: processes.collect(),
            counts: Counts::default(),
        };
        nodes.look();
        nodes
    }

    /// Starts nodes that have ended.
    pub(crate) fn look(&mut self) {
        for node in &mut self.processes {
            let child = node.child.as_mut();
            let ended = child.and_then(|child| child.try_wait().expect("asks"));
            if let Some(status) = ended {
                self.counts.add(status, node.is_killed);
                node.child = None;
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

    /// Stops a node until it is continued.
    pub(crate) fn stop(&mut self, number: usize) {
        if self.processes[number].signal(Signal::STOP) {
            self.counts.stops += 1;
        }
    }

    pub(crate) fn go_on(&mut self, number: usize) {
        self.processes[number].signal(Signal::CONT);
    }

    /// Interrupts all nodes, and waits until they have left in order.
    pub(crate) async fn leave(&mut self) {
        for node in &mut self.processes {
            node.signal(Signal::CONT);
            node.signal(Signal::INT);
        }
        let begun = Instant::now();
        for node in &mut self.processes {
            let Some(mut child) = node.child.take() else {
                continue;
            };
            let status = loop {
                if let Some(status) = child.try_wait().expect("asks") {
                    break status;
                }
                if begun.elapsed() > LEAVE_LIMIT {
                    node.child = Some(child);
                    panic!("{} does not end", node.orders.folder.display());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            let log = std::fs::read_to_string(node.orders.log()).unwrap_or_default();
            assert_eq!(status.code(), Some(130), "{log}");
        }
    }

    pub(crate) fn folders(&self) -> Vec<&Path> {
        let folders = self.processes.iter();
        folders.map(|node| node.orders.folder.as_path()).collect()
    }

    /// Everything that the nodes have written, without the hints.
    pub(crate) fn messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        for node in &self.processes {
            let log = std::fs::read_to_string(node.orders.log()).unwrap_or_default();
            let lines = log.lines().filter(|line| !line.starts_with("hint:"));
            messages.extend(lines.map(str::to_owned));
        }
        messages
    }
}

impl NodeProcess {
    fn signal(&self, signal: Signal) -> bool {
        let pid = self.child.as_ref().map(Pid::from_child);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
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
    }
}
