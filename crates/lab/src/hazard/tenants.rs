//! Twenty-four slow hosts at one address.
//!
//! F8, Castillo A.1.2, Chakrabarti 2.3.9: virtual hosts of a parking company or a spammer. A frontier that counts by
//! host may visit all at the same time, which overloads the one server. Other names under the domain do not exist, so
//! this is not a DNS wildcard.

use std::io;
use std::time::Duration;

use super::{Lookup, Said, Visit};
use crate::packet::NO_SUCH_NAME;

const HOSTS: usize = 24;
const SLOW: Duration = Duration::from_millis(400);

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let host = visit.head.host.clone();
    if number(&host).is_some() {
        visit.exchange.wait(SLOW).await?;
        let body = Visit::prose(&mut visit.chance(), 2);
        return visit.page(&body).await;
    }
    let port = visit.web.port();
    let links: Vec<String> = (0..HOSTS)
        .map(|number| format!("http://h{number}.{host}:{port}/"))
        .collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    visit.index("Tenants", &links).await
}

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let name = &lookup.asked.name;
    let below = name.split('.').count() > 2;
    if below && number(name).is_none_or(|number| number >= HOSTS) {
        return Said::Code(NO_SUCH_NAME);
    }
    lookup.usual()
}

/// The number of a host: 17 for `h17.tenants.lab`.
fn number(host: &str) -> Option<usize> {
    let (label, rest) = host.split_once('.')?;
    let number = label.strip_prefix('h')?.parse().ok()?;
    rest.contains('.').then_some(number)
}
