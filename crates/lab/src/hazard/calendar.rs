//! A calendar: each month links to its days and to the month after it, for ever.
//!
//! Imitates the generated agendas that crawlers of 1999 and of today get lost in: D8, V 4.1, P A.6.2, B 4. Each
//! page differs from the last in its dates only, so that duplicates by digest do not catch it; text novelty and
//! thresholds (D5) do.

use std::fmt::Write as _;
use std::io;

use super::send;
use crate::exchange::Exchange;
use crate::layout::last_number;
use crate::request::Head;

pub(super) async fn serve(exchange: &mut Exchange<'_>, head: &Head) -> io::Result<()> {
    let month = last_number(&head.target).unwrap_or(0);
    let mut body = format!("<title>Month {month}</title><h1>Agenda of month {month}</h1>");
    for day in 1..=28 {
        let _ = writeln!(
            body,
            "<a href=\"/day/{day}/of/{month}\">{day}</a> no events"
        );
    }
    let _ = write!(
        body,
        "<a href=\"/month/{}\">next month</a>",
        month.wrapping_add(1)
    );
    send(exchange, 200, "", &body).await
}
