//! A header section that arrives one byte every half second and never ends.
//!
//! N5, Castillo A.1.3: like the Slowloris attack (2009), but by a server against its client. An idle timeout never
//! expires, and a minimum speed for bodies does not apply. Only a limit on the time to the first body byte, or on the
//! total time, ends the fetch.

use std::io;
use std::time::Duration;

use super::HazardRequest;

const INTERVAL: Duration = Duration::from_millis(500);
const START: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Patience: ";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    request.exchange.status(200);
    for byte in START.bytes().chain(std::iter::repeat(b'z')) {
        request.send(&[byte]).await?;
        request.exchange.wait(INTERVAL).await?;
    }
    Ok(())
}
