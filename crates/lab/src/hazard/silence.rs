//! Takes the request and says nothing.
//!
//! Imitates hung servers behind a live kernel, and tarpits: N5, Viuva Negra 4.1, Castillo A.1.3 A.6.3: without a time-out for the
//! first byte the crawler waits for ever.

use std::io;
use std::time::Duration;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    visit.exchange.wait(Duration::from_hours(24)).await
}
