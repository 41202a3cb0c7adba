//! A robots.txt that cannot be had: 503, each time.
//!
//! RFC 9309 2.3.1.4: unreachable means that nothing may be fetched, for a while; Viuva Negra 5.4 says unrestricted. Whichever
//! the crawler chooses, it must not ask in a loop. R1.

use std::io;

use super::{Visit, visit::ordinary};

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() == "/robots.txt" {
        return visit.answer(503, "Retry-After: 1\r\n", "").await;
    }
    ordinary(visit).await
}
