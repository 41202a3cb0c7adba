//! A header section that never ends: endless header lines at `/lines`, an endless line at `/line`, an endless status
//! line at `/status`.
//!
//! N5. RFC 9110, 5.4 lets the client choose its limits on headers. The memory of the crawler must not grow.

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let (start, piece): (&str, &str) = match request.target() {
        "/lines" => (
            "HTTP/1.1 200 OK\r\n",
            "X-Filler: all work and no play makes a dull header\r\n",
        ),
        "/line" => ("HTTP/1.1 200 OK\r\nX-Filler: ", "and so on "),
        "/status" => ("HTTP/1.1 200 ", "quite all right "),
        _ => {
            return request
                .index("Preambles", &["/lines", "/line", "/status"])
                .await;
        }
    };
    request.exchange.status(200);
    request.send(start.as_bytes()).await?;
    request.forever(piece.as_bytes()).await
}
