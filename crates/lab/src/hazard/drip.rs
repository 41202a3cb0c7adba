//! One byte of the body every half second, for a page that announces a megabyte.
//!
//! Imitates overloaded servers and slow-response attacks (N5, Viuva Negra 4.1, Castillo A.1.3). An idle timeout never
//! fires; only a minimum speed or a limit on the total time ends the fetch.

use std::io;
use std::time::Duration;

use super::Visit;

const INTERVAL: Duration = Duration::from_millis(500);
const LENGTH: usize = 1 << 20;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let header = format!("Content-Length: {LENGTH}\r\n");
    visit.start(200, &header).await?;
    for _ in 0..LENGTH {
        visit.send(b".").await?;
        visit.exchange.wait(INTERVAL).await?;
    }
    visit.exchange.complete();
    Ok(())
}
