//! A byte of the body every half second, of a page that announces a megabyte.
//!
//! Imitates overloaded servers and slow-read attacks turned on the client: N5, V 4.1, P A.1.3: an idle time-out
//! never fires, only a lowest speed or a limit on the whole page ends it.

use std::io;
use std::time::Duration;

use crate::exchange::Exchange;

const INTERVAL: Duration = Duration::from_millis(500);
const LENGTH: usize = 1 << 20;

pub(super) async fn serve(exchange: &mut Exchange<'_>) -> io::Result<()> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {LENGTH}\r\n\r\n");
    exchange.status(200);
    exchange.send(head.as_bytes()).await?;
    for _ in 0..LENGTH {
        exchange.send(b".").await?;
        exchange.wait(INTERVAL).await?;
    }
    exchange.complete();
    Ok(())
}
