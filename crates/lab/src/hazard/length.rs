//! A wrong Content-Length: too large at `/more`, too small at `/less`, not a number at `/word`, negative at
//! `/negative`, larger than any memory at `/huge`.
//!
//! N10, Castillo A.3.3; RFC 9112, 6.3. The crawler must keep the bytes that arrived and mark the page as damaged. It
//! must neither read surplus bytes as the next response nor allocate as much memory as announced.

use std::io;

use super::HazardRequest;

const BODY: &str = "<title>Length</title><p>The body of a page whose length nobody counted.</p>\n";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let announced = match request.target() {
        "/more" => (BODY.len() * 3).to_string(),
        "/less" => (BODY.len() / 2).to_string(),
        "/word" => "many".to_owned(),
        "/negative" => "-1".to_owned(),
        "/huge" => "18446744073709551615".to_owned(),
        _ => {
            let links = ["/more", "/less", "/word", "/negative", "/huge"];
            return request.index("Lengths", &links).await;
        }
    };
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {announced}\r\n\r\n{BODY}"
    );
    request.raw(200, text).await
}
