//! A header section that never ends: header lines at `/lines`, one header line at `/line`, a status line at `/status`.
//!
//! N5. RFC 9110, 5.4 leaves limits on headers to the client. Memory must not grow.

use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let (start, piece): (&str, &str) = match visit.target() {
        "/lines" => (
            "HTTP/1.1 200 OK\r\n",
            "X-Filler: all work and no play makes a dull header\r\n",
        ),
        "/line" => ("HTTP/1.1 200 OK\r\nX-Filler: ", "and so on "),
        "/status" => ("HTTP/1.1 200 ", "quite all right "),
        _ => {
            return visit
                .index("Preambles", &["/lines", "/line", "/status"])
                .await;
        }
    };
    visit.exchange.status(200);
    visit.send(start.as_bytes()).await?;
    visit.forever(piece.as_bytes()).await
}
