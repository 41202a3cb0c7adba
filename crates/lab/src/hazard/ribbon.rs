//! A robots.txt that is a single line of 64 megabytes.
//!
//! R1; RFC 9309, 2.5: a parser that buffers whole lines would hold the whole file in memory. Viuva Negra 5.4: 64.3% of
//! the robots.txt files on the web violate the format.

use std::io;

use super::{HazardRequest, request::ordinary};

const TIMES: usize = 4 << 20;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() != "/robots.txt" {
        return ordinary(request).await;
    }
    request.start(200, "Content-Type: text/plain\r\n").await?;
    request.send(b"User-agent: * Disallow: /").await?;
    request.repeat(b"private/ and so ", TIMES).await?;
    request.exchange.complete();
    Ok(())
}
