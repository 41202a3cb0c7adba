//! Twenty-four slow hosts at one address.
//!
//! F8, Castillo A.1.2, Chakrabarti 2.3.9: virtual hosts of a domain parking company or a spammer. A crawler that limits
//! its load only per host may send requests to all of them at the same time, and overload their only server. Other
//! names under the domain do not exist, so the crawler cannot find a DNS wildcard here.

use std::io;
use std::time::Duration;

use super::{DnsResponse, HazardRequest, Lookup};
use crate::packet::NO_SUCH_NAME;

const HOSTS: usize = 24;
const SLOW: Duration = Duration::from_millis(400);

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let host = request.head.host.clone();
    if number(&host).is_some() {
        request.exchange.wait(SLOW).await?;
        let body = HazardRequest::prose(&mut request.chance(), 2);
        return request.page(&body).await;
    }
    let port = request.web.port();
    let links: Vec<String> = (0..HOSTS)
        .map(|number| format!("http://h{number}.{host}:{port}/"))
        .collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    request.index("Tenants", &links).await
}

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let name = &lookup.question.name;
    let below = name.split('.').count() > 2;
    if below && number(name).is_none_or(|number| number >= HOSTS) {
        return DnsResponse::Code(NO_SUCH_NAME);
    }
    lookup.correct_response()
}

/// The number of a host: 17 for `h17.tenants.lab`.
fn number(host: &str) -> Option<usize> {
    let (label, rest) = host.split_once('.')?;
    let number = label.strip_prefix('h')?.parse().ok()?;
    rest.contains('.').then_some(number)
}
