//! Interim responses without a final one: endless `100 Continue`, or thirty early hints before the page.
//!
//! RFC 9110, 15.2: a client must accept several 1xx responses, but must limit their number.

use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    match visit.target() {
        "/continue" => {
            visit.exchange.status(100);
            visit.forever(b"HTTP/1.1 100 Continue\r\n\r\n").await
        }
        "/hints" => {
            let hint = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
            visit.send(hint.repeat(30).as_bytes()).await?;
            visit.page("<title>Hints</title><p>At last.</p>").await
        }
        _ => {
            visit
                .index("Interim answers", &["/continue", "/hints"])
                .await
        }
    }
}
