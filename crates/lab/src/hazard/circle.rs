//! Redirects in a circle of five, and one to itself at `/self`.
//!
//! Imitates servers that redirect to set a cookie, for ever, for those who take none: N10, V 3.4 (redirects are
//! links, N11: a crawler that treats them so goes round once).

use std::io;

use super::send;
use crate::exchange::Exchange;
use crate::layout::last_number;
use crate::request::Head;
use crate::web::Web;

const ROUND: usize = 5;

pub(super) async fn serve(exchange: &mut Exchange<'_>, head: &Head, web: &Web) -> io::Result<()> {
    if head.target == "/" {
        let body = "<title>Circles</title><a href=/step/0>enter</a> <a href=/self>here</a>";
        return send(exchange, 200, "", body).await;
    }
    let next = match last_number(&head.target) {
        Some(step) => format!("/step/{}", (step % ROUND + 1) % ROUND),
        None => head.target.clone(),
    };
    let header = format!("Location: http://{}:{}{next}\r\n", head.host, web.port());
    send(exchange, 302, &header, "moved").await
}
