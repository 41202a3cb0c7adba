//! Durations, byte sizes and dates as text.
//!
//! - [`duration`] and [`size`]: values of the configuration and of command-line flags, with serde adapters.
//! - [`calendar`]: the conversion between unix milliseconds and dates in UTC, and the written forms of times.
//!
//! ```
//! use std::time::Duration;
//! use aranha_units::{calendar, duration, size};
//!
//! assert_eq!(duration::parse("1h30m"), Ok(Duration::from_secs(5400)));
//! assert_eq!(size::format(10 << 20), "10MiB");
//! assert_eq!(calendar::rfc3339(1_794_764_880_123), "2026-11-15T17:48:00.123Z");
//! ```

pub mod calendar;
pub mod duration;
pub mod size;
