//! The rules by which several nodes share a frontier, independent of the storage engine: gates of addresses, dead nodes,
//! groups of check-ins that are sent twice.
//!
//! [`tables::ClusterTables`] is what an engine stores for them. The PostgreSQL engine and the engine in memory
//! (`memory/`, for simulations) use the same rules, so that a simulation of many nodes tests the code that runs in
//! production.
//!
//! Read first: [`gates`], then [`nodes`] and [`numbered`].

pub(crate) mod checkout;
pub(crate) mod contact;
pub(crate) mod gates;
pub(crate) mod nodes;
pub(crate) mod numbered;
pub(crate) mod own_leases;
pub(crate) mod tables;
