//! Endless hosts: every name under `wildcard.lab` has the same address, and each page links to five new names.
//!
//! D6, Viuva Negra 4.1 and 5.4: DNS wildcards (RFC 4592). The crawler can detect a wildcard by queries for random
//! names. A limit per host does not help, because every name is a new host.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let host = &request.head.host;
    let labels: Vec<&str> = host.split('.').collect();
    let domain = labels[labels.len().saturating_sub(2)..].join(".");
    let mut chance = request.chance();
    let mut body = HazardRequest::prose(&mut chance, 2);
    for _ in 0..5 {
        let name = chance.next() as u32;
        let port = request.web.port();
        let _ = writeln!(
            body,
            "<a href=\"http://shop-{name:08x}.{domain}:{port}/\">offers</a>"
        );
    }
    request.page(&body).await
}
