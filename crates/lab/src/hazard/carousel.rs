//! A robots.txt that redirects without end.
//!
//! R1; RFC 9309, 2.3.1.2: a crawler follows five redirects and may then treat the file as absent.

use std::io;

use super::{Visit, visit::ordinary};

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if !visit.path().ends_with("/robots.txt") {
        return ordinary(visit).await;
    }
    let next = visit.number().unwrap_or(0).wrapping_add(1);
    let location = format!("{}/{next}/robots.txt", visit.origin());
    visit.redirect(301, &location).await
}
