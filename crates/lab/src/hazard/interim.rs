//! Interim answers without a final one: `100 Continue` for ever, or thirty early hints and then the page.
//!
//! RFC 9110 15.2: a client must be able to read any number of 1xx answers, and must not do so for ever.

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
