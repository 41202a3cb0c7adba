//! Cookies of one site.

mod date;
mod jar;

pub use jar::CookieJar;
