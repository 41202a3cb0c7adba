//! A robots.txt response that never ends: one byte every half second.
//!
//! R1, N5: a visit fetches robots.txt before any page, so a slow file delays all pages of the site. RFC 9309, 2.3.1.4:
//! a robots.txt that cannot be fetched because of server or network errors is "unreachable".

use std::io;
use std::time::Duration;

use super::{HazardRequest, request::ordinary};

const INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() != "/robots.txt" {
        return ordinary(request).await;
    }
    request.start(200, "Content-Type: text/plain\r\n").await?;
    request
        .send(b"User-agent: *\nDisallow: /private/\n# ")
        .await?;
    loop {
        request.send(b"z").await?;
        request.exchange.wait(INTERVAL).await?;
    }
}
