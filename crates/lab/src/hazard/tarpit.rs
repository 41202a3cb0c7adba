//! The maze with slow responses: each page takes ten seconds.
//!
//! Imitates Nepenthes: generated pages, sent in small pieces with pauses, occupy the crawler's connections and its
//! archive. An idle timeout never fires; the minimum speed (N5) and the thresholds (D5) must work together.

use std::io;
use std::time::Duration;

use super::{Visit, maze};

const PIECES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let body = maze::page(visit);
    let length = format!("Content-Length: {}\r\n", body.len());
    visit.start(200, &length).await?;
    for piece in body.as_bytes().chunks(body.len().div_ceil(PIECES)) {
        visit.exchange.wait(PAUSE).await?;
        visit.send(piece).await?;
    }
    visit.exchange.complete();
    Ok(())
}
