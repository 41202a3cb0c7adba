//! A robots.txt of one gigabyte.
//!
//! R1; RFC 9309, 2.5: a crawler must read at least 500 kibibytes and may ignore the rest. The rule
//! `Disallow: /private/` comes first, because the test checks that this rule is obeyed. The pages of the site are
//! correct.

use std::io;

use super::{HazardRequest, request::ordinary};

const LINES: usize = 1 << 26;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() != "/robots.txt" {
        return ordinary(request).await;
    }
    request.start(200, "Content-Type: text/plain\r\n").await?;
    request
        .send(b"User-agent: *\nDisallow: /private/\n")
        .await?;
    request.repeat(b"Disallow: /abcd\n", LINES).await?;
    request.exchange.complete();
    Ok(())
}
