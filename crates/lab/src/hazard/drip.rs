//! One byte of the body every half second, for a page that announces a megabyte.
//!
//! Imitates overloaded servers and slow-response attacks (N5, Viuva Negra 4.1, Castillo A.1.3). An idle timeout never
//! expires. Only a minimum speed or a limit on the total time ends the fetch.

use std::io;
use std::time::Duration;

use super::HazardRequest;

const INTERVAL: Duration = Duration::from_millis(500);
const LENGTH: usize = 1 << 20;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let header = format!("Content-Length: {LENGTH}\r\n");
    request.start(200, &header).await?;
    for _ in 0..LENGTH {
        request.send(b".").await?;
        request.exchange.wait(INTERVAL).await?;
    }
    request.exchange.complete();
    Ok(())
}
