//! Hostile sites, one small file each: what the web does to crawlers.
//!
//! A hazard is a site of its own, named after it, at an address of its own, linked from the first seed's home
//! page when the plan has it. Its file has one function, `serve`, which is given the exchange and may do with
//! the bytes what it likes; the connection ends when it returns. To add one: the file, a variant, a name, a
//! line in [`Hazard::serve`]. Hazards have no part in the truth: what a crawler makes of them is judged by the
//! log.

mod calendar;
mod circle;
mod drip;
mod endless;
mod length;
mod silence;

use std::io;

use crate::exchange::Exchange;
use crate::request::Head;
use crate::web::Web;

/// Which hostile sites a plan can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hazard {
    /// A calendar with a next month for ever: `calendar.lab`.
    Calendar,
    /// One byte at a time: `drip.lab`.
    Drip,
    /// Accepts the request and says nothing: `silence.lab`.
    Silence,
    /// A body that never ends: `endless.lab`.
    Endless,
    /// Redirects in a circle: `circle.lab`.
    Circle,
    /// A Content-Length that is not the body's length: `length.lab`.
    Length,
}

impl Hazard {
    /// All of them.
    pub const ALL: [Hazard; 6] = [
        Hazard::Calendar,
        Hazard::Drip,
        Hazard::Silence,
        Hazard::Endless,
        Hazard::Circle,
        Hazard::Length,
    ];

    /// The site's name.
    pub fn host(self) -> &'static str {
        match self {
            Hazard::Calendar => "calendar.lab",
            Hazard::Drip => "drip.lab",
            Hazard::Silence => "silence.lab",
            Hazard::Endless => "endless.lab",
            Hazard::Circle => "circle.lab",
            Hazard::Length => "length.lab",
        }
    }

    /// Answers one request, in its way. robots.txt is absent on all of them, so that crawlers do come in.
    pub(crate) async fn serve(
        self,
        exchange: &mut Exchange<'_>,
        head: &Head,
        web: &Web,
    ) -> io::Result<()> {
        if head.target == "/robots.txt" {
            return send(exchange, 404, "", "").await;
        }
        match self {
            Hazard::Calendar => calendar::serve(exchange, head).await,
            Hazard::Drip => drip::serve(exchange).await,
            Hazard::Silence => silence::serve(exchange).await,
            Hazard::Endless => endless::serve(exchange, head).await,
            Hazard::Circle => circle::serve(exchange, head, web).await,
            Hazard::Length => length::serve(exchange, head).await,
        }
    }
}

/// A correct answer with a header line of the hazard's own, for the parts in which it behaves.
async fn send(
    exchange: &mut Exchange<'_>,
    status: u16,
    header: &str,
    body: &str,
) -> io::Result<()> {
    let reason = crate::wire::reason(status);
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/html; charset=utf-8\r\n{header}\
        Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    exchange.status(status);
    exchange.send(text.as_bytes()).await?;
    exchange.complete();
    Ok(())
}
