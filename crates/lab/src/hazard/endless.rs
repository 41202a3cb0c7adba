//! A body that never ends: chunks without a last chunk, or an open connection at `/stream`.
//!
//! D8, N6, Viuva Negra 4.1, Castillo A.3.2. The crawler must stop at its maximum size and keep what it has. The server
//! writes small pieces so that a test does not fill the socket buffers.

use std::io;

use super::Visit;

const PIECE: usize = 16 * 1024;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let line = "on and on ".repeat(PIECE / 10);
    if visit.target() == "/stream" {
        visit.start(200, "").await?;
        return visit.forever(line.as_bytes()).await;
    }
    visit.start(200, "Transfer-Encoding: chunked\r\n").await?;
    let chunk = format!("{:x}\r\n{line}\r\n", line.len());
    visit.forever(chunk.as_bytes()).await
}
