//! A server that answers 503 to every request for robots.txt.
//!
//! R1. According to RFC 9309, 2.3.1.4, nothing may be fetched for some time. According to Viuva Negra 5.4, there are no
//! restrictions. In both cases, the crawler must not request robots.txt again and again.

use std::io;

use super::{HazardRequest, request::ordinary};

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() == "/robots.txt" {
        return request.answer(503, "Retry-After: 1\r\n", "").await;
    }
    ordinary(request).await
}
