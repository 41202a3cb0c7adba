//! The transport below the fetcher: the real network (name servers, TCP, TLS) or a simulation of it.
//!
//! Everything above this seam is the same code in both cases: DNS cache, address guard, kept-alive connections, time
//! limits and the HTTP exchange. Fetching by a browser does not belong here, because a browser replaces the HTTP
//! exchange as well: see the crate documentation.

mod simulation;

pub(crate) use simulation::{Network, Pipe, Simulated};
pub use simulation::{SimulatedResponse, Simulation};
