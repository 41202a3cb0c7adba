//! The transport below the fetcher: the real network (name servers, TCP, TLS) or a simulation of it.
//!
//! ```text
//! Fetcher ─► dns/         cache, circuit breaker ─► name servers    or Simulation::look_up
//!     └────► connection/  address guard ──────────► TCP, then TLS   or Simulation::connect, Simulation::respond
//! ```
//!
//! The code above the transport is the same in both cases: DNS cache, address guard, kept-alive connections, timeouts
//! and the HTTP exchange. Fetching by a browser does not belong here, because a browser also replaces the HTTP
//! exchange. The crate documentation says where it belongs.

mod simulation;

use crate::connection::tls::Tls;

pub use simulation::{SimulatedResponse, Simulation};
pub(crate) use simulation::{SimulatedStream, SimulatedTransport};

/// Connects through sockets or through a simulation.
pub(crate) enum Transport {
    Real(Box<Tls>),
    Simulated(SimulatedTransport),
}
