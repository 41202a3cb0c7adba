//! A byte of the body every half second, of a page that announces a megabyte.
//!
//! Imitates overloaded servers and slow-read attacks turned on the client: N5, Viuva Negra 4.1, Castillo A.1.3: an idle time-out
//! never fires, only a lowest speed or a limit on the whole page ends it.

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
