//! A calendar without end: each month links to its days and to the next month.
//!
//! D8, Viuva Negra 4.1, Castillo A.6.2, Bouras 4. Pages differ only in their dates, so an exact digest does not
//! recognise them as duplicates. The share of new text and the thresholds (D5) do recognise the trap.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let month = request.number().unwrap_or(0);
    let mut body = format!("<title>Month {month}</title><h1>Agenda of month {month}</h1>");
    for day in 1..=28 {
        let _ = writeln!(
            body,
            "<a href=\"/day/{day}/of/{month}\">{day}</a> no events"
        );
    }
    let next = month.wrapping_add(1);
    let _ = write!(body, "<a href=\"/month/{next}\">next month</a>");
    request.page(&body).await
}
