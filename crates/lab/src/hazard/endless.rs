//! A body that never ends: chunks without a last one, or at `/stream` a connection that is never closed.
//!
//! Imitates radio streams and runaway scripts: D8, N6, V 4.1, P A.3.2. The crawler must cut at its maximum size
//! and keep what it has. It is written a little at a time so that a test does not fill the machine's pipes.

use std::io;
use std::time::Duration;

use crate::exchange::Exchange;
use crate::request::Head;

const PIECE: usize = 16 * 1024;

pub(super) async fn serve(exchange: &mut Exchange<'_>, head: &Head) -> io::Result<()> {
    let chunked = head.target != "/stream";
    let framing = if chunked {
        "Transfer-Encoding: chunked\r\n"
    } else {
        ""
    };
    let text = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{framing}\r\n");
    exchange.status(200);
    exchange.send(text.as_bytes()).await?;
    let line = "on and on ".repeat(PIECE / 10);
    let piece = if chunked {
        format!("{:x}\r\n{line}\r\n", line.len())
    } else {
        line
    };
    loop {
        exchange.send(piece.as_bytes()).await?;
        exchange.wait(Duration::from_millis(1)).await?;
    }
}
