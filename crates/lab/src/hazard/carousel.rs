//! A robots.txt that redirects without end.
//!
//! R1; RFC 9309, 2.3.1.2: a crawler follows five redirects and may then treat the file as absent.

use std::io;

use super::{HazardRequest, request::ordinary};

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if !request.path().ends_with("/robots.txt") {
        return ordinary(request).await;
    }
    let next = request.number().unwrap_or(0).wrapping_add(1);
    let location = format!("{}/{next}/robots.txt", request.origin());
    request.redirect(301, &location).await
}
