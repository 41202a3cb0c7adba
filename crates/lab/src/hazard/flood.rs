//! A robots.txt of one gigabyte.
//!
//! R1; RFC 9309, 2.5: a crawler must read at least 500 kibibytes and may ignore the rest. The rule that the test
//! checks, `/private/`, comes first. The pages are ordinary.

use std::io;

use super::{Visit, visit::ordinary};

const LINES: usize = 1 << 26;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() != "/robots.txt" {
        return ordinary(visit).await;
    }
    visit.start(200, "Content-Type: text/plain\r\n").await?;
    visit.send(b"User-agent: *\nDisallow: /private/\n").await?;
    visit.repeat(b"Disallow: /abcd\n", LINES).await?;
    visit.exchange.complete();
    Ok(())
}
