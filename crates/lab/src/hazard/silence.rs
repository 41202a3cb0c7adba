//! A server that reads the request and sends nothing.
//!
//! N5, Viuva Negra 4.1, Castillo A.1.3 and A.6.3: hung servers. Without a timeout for the first byte the crawler waits
//! without end.

use std::io;
use std::time::Duration;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    visit.exchange.wait(Duration::from_hours(24)).await
}
