//! The maze again, at the speed of tar: a page takes ten seconds to come.
//!
//! Imitates Nepenthes: generated pages, each sent in small pieces with pauses, to hold the crawler's connections as
//! well as to fill its store. Never slow enough for an idle time-out; N5's lowest speed and D5 must work together.

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
