//! A robots.txt that answers 503 to every request.
//!
//! R1. RFC 9309, 2.3.1.4: nothing may be fetched for some time; Viuva Negra 5.4: no restrictions. With either rule, the
//! crawler must not request the file in a loop.

use std::io;

use super::{Visit, visit::ordinary};

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() == "/robots.txt" {
        return visit.answer(503, "Retry-After: 1\r\n", "").await;
    }
    ordinary(visit).await
}
