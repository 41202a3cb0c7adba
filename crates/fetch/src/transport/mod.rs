//! Sockets and name servers, or a simulation of both.

mod simulation;

pub(crate) use simulation::{Network, Pipe, Simulated};
pub use simulation::{SimulatedResponse, Simulation};
