//! The simulated network as one node sees it, so that the audit knows which node sent a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{Failure, SimulatedResponse, Simulation};

use crate::SimulatedWeb;

/// The network of one node process.
#[derive(Debug)]
pub(crate) struct NodeNetwork {
    web: Arc<SimulatedWeb>,
    /// Number of the process. Each start of a node is another process.
    process: u32,
}

impl NodeNetwork {
    pub(crate) fn new(web: Arc<SimulatedWeb>, process: u32) -> NodeNetwork {
        NodeNetwork { web, process }
    }
}

impl Simulation for NodeNetwork {
    fn look_up(&self, now: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>) {
        self.web.look_up(now, name)
    }

    fn connect(&self, now: i64, target: SocketAddr) -> (Duration, Result<(), Failure>) {
        self.web.connect(now, target)
    }

    fn respond(&self, now: i64, target: SocketAddr, request: &[u8]) -> SimulatedResponse {
        let response = self.web.respond(now, target, request);
        let site = response.id as u32;
        self.web.audit().on_sender(site, self.process);
        response
    }

    fn exchange_ended(&self, now: i64, target: SocketAddr, id: u64) {
        self.web.exchange_ended(now, target, id);
    }
}
