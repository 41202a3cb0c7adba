//! Takes the request and says nothing.
//!
//! Imitates hung servers behind a live kernel, and tarpits: N5, V 4.1, P A.6.3: without a time-out for the first
//! byte the crawler waits for ever.

use std::io;
use std::time::Duration;

use crate::exchange::Exchange;

pub(super) async fn serve(exchange: &mut Exchange<'_>) -> io::Result<()> {
    exchange.wait(Duration::from_hours(24)).await
}
