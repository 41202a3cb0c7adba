//! A robots.txt that begins and never ends, a byte every half second.
//!
//! N5 where it is easily forgotten: the file is asked for before the visit's own limits apply, and a site that waits
//! for it holds its place. RFC 9309 2.3.1.4: what cannot be had in time is unreachable. R1.

use std::io;
use std::time::Duration;

use super::{Visit, visit::ordinary};

const INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() != "/robots.txt" {
        return ordinary(visit).await;
    }
    visit.start(200, "Content-Type: text/plain\r\n").await?;
    visit
        .send(b"User-agent: *\nDisallow: /private/\n# ")
        .await?;
    loop {
        visit.send(b"z").await?;
        visit.exchange.wait(INTERVAL).await?;
    }
}
