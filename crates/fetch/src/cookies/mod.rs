//! The cookies of one site (N12): `jar.rs` stores and sends them, `date.rs` parses their expiry dates.

mod date;
mod jar;

pub use jar::CookieJar;
