//! Crawls in simulated time: the production engine on a web that is generated from a seed.
//!
//! ```text
//! WebPlan ─► SimulatedSite ─► page      the responses of the servers: pure functions of the seed
//!                 │
//!                 └─► SimulatedWeb ─► RequestAudit     checks every request against the courtesy rules
//!                            ▲
//!                       Node (engine)
//!                            ▼
//!                     AuditedFrontier ─► WaitAudit         checks every check-out against KLWF
//!
//! Scenario: runs several crawls of one collection, each of which is stopped or killed
//! ClusterScenario: runs many nodes, which join, leave, die and lose the database, on one frontier in memory
//! ```
//!
//! Only the lowest layer is simulated: [`SimulatedWeb`] replaces DNS, connections and servers, the archive discards its
//! records, and tokio's paused clock jumps to the next timer (docs/decisions/0011-simulation.md). Visits, courtesy,
//! robots.txt, retries, group commits and the frontier's files are production code.
//!
//! Invariants:
//! - **The same plan and configuration give the same requests.** [`RequestAudit::request_hash`] is a hash of the time,
//!   site and path of all requests, in the order of the requests.
//! - **Memory does not grow with the number of requests.** The audits have a fixed size per site and keep no log.
//! - **The audits are independent of the engine.** They use only data that a server or the frontier can observe.
//!
//! Read first: [`Scenario`], then `network.rs`. Tests and `bench/simulate` use this crate; the `aranha` binary does not
//! contain it.

mod audited_frontier;
mod cluster;
mod network;
mod node_network;
mod page;
mod partition;
mod plot;
mod process;
mod request_audit;
mod scenario;
mod site;
mod wait_audit;
mod web_plan;

pub use audited_frontier::AuditedFrontier;
pub use cluster::{ClusterEvents, ClusterResult, ClusterScenario};
pub use network::SimulatedWeb;
pub use partition::{Assignment, Partition, PartitionCost, Strategy, crawl_by};
pub use plot::{Axis, Plot, Series};
pub use process::{cpu_time, resident_bytes};
pub use request_audit::{CourtesyViolation, RequestAudit};
pub use scenario::{CrawlEnd, Sample, Scenario, ScenarioError, SimulatedCrawl};
pub use site::SimulatedSite;
pub use wait_audit::{CheckedOutSite, WaitAudit};
pub use web_plan::WebPlan;
