//! A Content-Length that lies: more than is sent at `/more`, less than is sent at `/less`.
//!
//! Imitates scripts that count characters instead of bytes, and broken proxies: N10, P A.3.3. What came must be
//! kept and marked; the surplus must not be read as the next answer.

use std::io;

use super::send;
use crate::exchange::Exchange;
use crate::request::Head;

const BODY: &str = "<title>Length</title><p>The body of a page whose length nobody counted.</p>\n";

pub(super) async fn serve(exchange: &mut Exchange<'_>, head: &Head) -> io::Result<()> {
    let announced = match head.target.as_str() {
        "/more" => BODY.len() * 3,
        "/less" => BODY.len() / 2,
        _ => {
            let body = "<title>Lengths</title><a href=/more>more</a> <a href=/less>less</a>";
            return send(exchange, 200, "", body).await;
        }
    };
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {announced}\r\n\r\n{BODY}"
    );
    exchange.status(200);
    exchange.send(text.as_bytes()).await?;
    exchange.complete();
    Ok(())
}
