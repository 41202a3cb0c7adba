//! The maze with slow responses: each page takes ten seconds.
//!
//! Imitates Nepenthes: generated pages, sent in small pieces with pauses, occupy the crawler's connections and its
//! archive. An idle timeout never expires. The minimum speed (N5) must end a slow response, and the thresholds (D5)
//! must end the crawl of the site.

use std::io;
use std::time::Duration;

use super::{HazardRequest, maze};

const PIECES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let body = maze::page(request);
    let length = format!("Content-Length: {}\r\n", body.len());
    request.start(200, &length).await?;
    for piece in body.as_bytes().chunks(body.len().div_ceil(PIECES)) {
        request.exchange.wait(PAUSE).await?;
        request.send(piece).await?;
    }
    request.exchange.complete();
    Ok(())
}
