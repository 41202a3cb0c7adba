//! A server that reads the request and sends nothing.
//!
//! N5, Viuva Negra 4.1, Castillo A.1.3 and A.6.3: hung servers. Without a time limit for the first byte, the crawler
//! would wait for ever.

use std::io;
use std::time::Duration;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    request.exchange.wait(Duration::from_hours(24)).await
}
