//! A header section that arrives one byte every half second and never ends.
//!
//! N5, Castillo A.1.3: Slowloris (2009) against a client. An idle timeout never fires, and a minimum speed for bodies
//! does not apply. Only a limit on the time to the first body byte, or on the total time, ends the fetch.

use std::io;
use std::time::Duration;

use super::Visit;

const INTERVAL: Duration = Duration::from_millis(500);
const START: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Patience: ";

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    visit.exchange.status(200);
    for byte in START.bytes().chain(std::iter::repeat(b'z')) {
        visit.send(&[byte]).await?;
        visit.exchange.wait(INTERVAL).await?;
    }
    Ok(())
}
