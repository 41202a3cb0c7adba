//! The cookies of one site (N12): `jar.rs` stores and sends them, `date.rs` parses their expiry dates. `netscape.rs`
//! reads cookies from a file.

mod date;
mod jar;
mod netscape;

pub use jar::CookieJar;
pub(crate) use netscape::ImportedCookies;
