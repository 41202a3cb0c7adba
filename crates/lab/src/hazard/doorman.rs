//! A robots.txt response that never ends: one byte every half second.
//!
//! R1, N5: robots.txt is fetched before the limits of the visit apply, and the site waits for it. RFC 9309, 2.3.1.4: a
//! file that cannot be fetched in time is unreachable.

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
