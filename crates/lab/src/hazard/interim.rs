//! Interim responses (1xx): endless `100 Continue` without a final response, or thirty early hints before the page.
//!
//! RFC 9110, 15.2: a client must accept several 1xx responses before the final one. The crawler must limit their
//! number.

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    match request.target() {
        "/continue" => {
            request.exchange.status(100);
            request.forever(b"HTTP/1.1 100 Continue\r\n\r\n").await
        }
        "/hints" => {
            let hint = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
            request.send(hint.repeat(30).as_bytes()).await?;
            request.page("<title>Hints</title><p>At last.</p>").await
        }
        _ => {
            request
                .index("Interim answers", &["/continue", "/hints"])
                .await
        }
    }
}
