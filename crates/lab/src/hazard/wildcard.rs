//! Endless hosts: every name under `wildcard.lab` has the same address, and each page links to five new names.
//!
//! D6, Viuva Negra 4.1 and 5.4: DNS wildcards (RFC 4592). The crawler detects them with queries for random names. A
//! frontier that counts by host sees every name as a new site.

use std::fmt::Write as _;
use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let host = &visit.head.host;
    let labels: Vec<&str> = host.split('.').collect();
    let domain = labels[labels.len().saturating_sub(2)..].join(".");
    let mut chance = visit.chance();
    let mut body = Visit::prose(&mut chance, 2);
    for _ in 0..5 {
        let name = chance.next() as u32;
        let port = visit.web.port();
        let _ = writeln!(
            body,
            "<a href=\"http://shop-{name:08x}.{domain}:{port}/\">offers</a>"
        );
    }
    visit.page(&body).await
}
