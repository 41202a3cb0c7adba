//! A body that never ends. It consists of chunks without a last chunk. At `/stream` it is not chunked, and the
//! connection stays open.
//!
//! D8, N6, Viuva Negra 4.1, Castillo A.3.2. The crawler must stop at its maximum size and keep the bytes that it has.
//! The server writes small pieces at a limited rate, so that a test does not fill the socket buffers.

use std::io;

use super::HazardRequest;

const PIECE: usize = 16 * 1024;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let line = "on and on ".repeat(PIECE / 10);
    if request.target() == "/stream" {
        request.start(200, "").await?;
        return request.forever(line.as_bytes()).await;
    }
    request.start(200, "Transfer-Encoding: chunked\r\n").await?;
    let chunk = format!("{:x}\r\n{line}\r\n", line.len());
    request.forever(chunk.as_bytes()).await
}
