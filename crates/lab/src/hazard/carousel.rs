//! A robots.txt that redirects for ever.
//!
//! RFC 9309 2.3.1.2: five redirects are to be followed, then the file may be taken as absent. R1.

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
