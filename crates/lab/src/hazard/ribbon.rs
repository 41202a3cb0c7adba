//! A robots.txt of one line of 64 megabytes.
//!
//! R1; RFC 9309, 2.5: a parser that buffers whole lines holds all of it. Viuva Negra 5.4: 64.3% of the files violate
//! the rules in some way.

use std::io;

use super::{Visit, visit::ordinary};

const TIMES: usize = 4 << 20;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() != "/robots.txt" {
        return ordinary(visit).await;
    }
    visit.start(200, "Content-Type: text/plain\r\n").await?;
    visit.send(b"User-agent: * Disallow: /").await?;
    visit.repeat(b"private/ and so ", TIMES).await?;
    visit.exchange.complete();
    Ok(())
}
