//! A head that comes a byte every half second and has no end.
//!
//! Slowloris (2009) turned on the client: N5, Castillo A.1.3. Something always arrives, so that an idle time-out never fires,
//! and no body begins, so that a lowest speed for bodies does not count: only the time for the first byte of an answer,
//! or for the whole of it, ends the wait.

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
