//! A calendar: each month links to its days and to the month after it, for ever.
//!
//! Imitates the generated agendas that crawlers of 1999 and of today get lost in: D8, Viuva Negra 4.1, Castillo A.6.2, Bouras 4. Each
//! page differs from the last in its dates only, so that duplicates by digest do not catch it; text novelty and
//! thresholds (D5) do.

use std::fmt::Write as _;
use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let month = visit.number().unwrap_or(0);
    let mut body = format!("<title>Month {month}</title><h1>Agenda of month {month}</h1>");
    for day in 1..=28 {
        let _ = writeln!(
            body,
            "<a href=\"/day/{day}/of/{month}\">{day}</a> no events"
        );
    }
    let next = month.wrapping_add(1);
    let _ = write!(body, "<a href=\"/month/{next}\">next month</a>");
    visit.page(&body).await
}
