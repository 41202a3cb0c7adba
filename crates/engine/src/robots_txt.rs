//! The robots.txt file of a site (R1; RFC 9309). It is fetched before the first page of the site, and used for 24
//! hours.
//!
//! A 4xx response means that there are no rules. A 5xx response, or no response, means that no page may be fetched for
//! now. The file is archived and logged like a page, with the hop letter `P` (prerequisite), but it is not a page of
//! the frontier. The visit stores it with the site (`visit/robots.rs`).

use std::time::Duration;

use aranha_fetch::{Failure, FetchResponse, FetchSession, Fetched, ResponseRemark, Truncated};
use aranha_frontier::{Hop, Outcome, RobotsFile};
use aranha_robots::{Access, Robots, RobotsRules};
use aranha_url::{Base, CanonUrl};
use aranha_volume::WarcFields;
use tokio::time::Instant;

use crate::collect::{self, MAX_ROBOTS_SIZE, PageResponse, RequestKind, Unsent, auxiliary_page};
use crate::commit::CompletedFetch;
use crate::courtesy::retry_after;
use crate::node::Context;
use crate::visit::activity::Activity;

/// How long a fetched file may be used, in milliseconds (RFC 9309, 2.4).
const MAX_AGE_MS: i64 = 24 * 3600 * 1000;
/// Maximum number of redirects that are followed (RFC 9309, 2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// Whether a file that was fetched earlier may still be used.
pub(crate) fn is_fresh(file: &RobotsFile, now: i64) -> bool {
    // If the time is in the future, the clock was wrong. Then the file is fetched again.
    (0..MAX_AGE_MS).contains(&(now - file.fetched))
}

/// The rules of the file for the crawler `product`. `None` if the file could not be fetched: then no page of the site
/// may be fetched.
pub(crate) fn rules(file: &RobotsFile, product: &str) -> Option<RobotsRules> {
    let status = (file.status != 0).then_some(file.status);
    match aranha_robots::access(status) {
        Access::Use => Some(Robots::parse(&file.body).agent(product)),
        Access::AllowAll => Some(Robots::allow_all().agent(product)),
        Access::DenyAll => None,
    }
}

/// The sitemaps that the file names.
pub(crate) fn sitemaps(file: &RobotsFile) -> Vec<String> {
    match file.status {
        200..=299 => Robots::parse(&file.body).sitemaps().to_vec(),
        _ => Vec::new(),
    }
}

/// The result of fetching a robots.txt file, with its redirects.
pub(crate) struct RobotsFetch {
    pub(crate) file: RobotsFile,
    /// The outcome of the last request, for the retry table.
    pub(crate) outcome: Outcome,
    /// The host name of the last request does not exist (NXDOMAIN).
    pub(crate) no_such_name: bool,
    /// `Retry-After` of the last response.
    pub(crate) retry_after: Option<Duration>,
    /// All requests, for the archive and the crawl log.
    pub(crate) done: Vec<CompletedFetch>,
}

/// Fetches the file at `start`. No request is sent before `allowed_at`. After each response, `allowed_at` is set to the
/// end of the courtesy pause. Returns `Ok(None)` if the crawl is stopping because the proxy cannot be used.
pub(crate) async fn request(
    context: &Context,
    activity: &Activity,
    session: &mut FetchSession,
    start: CanonUrl,
    allowed_at: &mut Instant,
) -> Result<Option<RobotsFetch>, Unsent> {
    let mut fetch = RobotsFetch {
        file: RobotsFile {
            fetched: context.now(),
            status: 0,
            url: start.as_str().to_owned(),
            body: Vec::new(),
        },
        outcome: Outcome::Timeout,
        no_such_name: false,
        retry_after: None,
        done: Vec::new(),
    };
    let mut url = start;
    for _ in 0..=MAX_REDIRECTS {
        tokio::time::sleep_until(*allowed_at).await;
        let began = context.now();
        let kind = RequestKind::RobotsTxt;
        let sent = collect::request(context, activity, session, &url, &[], kind).await;
        let (_, fetched) = match sent {
            Ok(sent) => sent,
            Err(unsent) => {
                *allowed_at = Instant::now() + context.config().crawl.pause;
                return Err(unsent);
            }
        };
        if collect::is_proxy_failure(&fetched) {
            return Ok(None);
        }
        fetch.retry_after = read_retry_after(&fetched);
        fetch.no_such_name = matches!(fetched, Err(Failure::DnsNotFound));
        *allowed_at = Instant::now() + context.config().crawl.pause;
        let (completed, end) = store(context, &url, began, fetched).await;
        fetch.outcome = completed.record.outcome;
        let notes = completed.notes.clone();
        fetch.done.push(completed);
        match end {
            RequestEnd::Failed => {
                // The reason for the failure is stored in place of the file.
                fetch.file.body = notes.into_bytes();
                return Ok(Some(fetch));
            }
            RequestEnd::File { status, body } => {
                fetch.file.status = status;
                fetch.file.body = body;
                fetch.file.url = url.as_str().to_owned();
                return Ok(Some(fetch));
            }
            RequestEnd::Redirect(href) => {
                match context.policy.canon.join(&Base::of(&url), &href) {
                    Ok(target) if context.scope.is_blocked(&target) => {
                        // The rules of the site are unknown, so no page may be fetched.
                        let reason = format!(
                            "robots.txt redirects to {}, which is blocked",
                            target.as_str()
                        );
                        fetch.file.body = reason.into_bytes();
                        return Ok(Some(fetch));
                    }
                    Ok(target) => url = target,
                    Err(_) => break,
                }
            }
        }
    }
    // More redirects than `MAX_REDIRECTS`, or a redirect without a usable target, count as 404 (RFC 9309, 2.3.1.2).
    fetch.file.status = 404;
    Ok(Some(fetch))
}

fn read_retry_after(fetched: &Result<Fetched, Failure>) -> Option<Duration> {
    let fetched = fetched.as_ref().ok()?;
    let response = fetched.result.as_ref().ok()?;
    retry_after(response, fetched.started_ms)
}

/// How one request in the chain of redirects ended.
enum RequestEnd {
    Failed,
    File { status: u16, body: Vec<u8> },
    Redirect(String),
}

/// Archives the response to one request, and reads it.
async fn store(
    context: &Context,
    url: &CanonUrl,
    began: i64,
    fetched: Result<Fetched, Failure>,
) -> (CompletedFetch, RequestEnd) {
    let (mut summary, mut notes) = PageResponse::of(&fetched, began);
    summary.time = began;
    let (mut end, mut receipt) = (RequestEnd::Failed, None);
    if let Ok(fetched) = &fetched
        && let Ok(response) = &fetched.result
    {
        summary.media_type = media_type(response);
        let exchange = collect::exchange(
            url,
            fetched,
            response,
            &summary.media_type,
            WarcFields::new(),
        );
        match context.store(exchange).await {
            Ok(appended) => receipt = Some(appended),
            Err(error) => context.control.archive_failed(&error),
        }
        match read(response) {
            Ok(read) => end = read,
            Err((outcome, note)) => {
                summary.outcome = outcome;
                notes.push_str(note);
            }
        }
    }
    let page = auxiliary_page(url, Hop::RobotsTxt);
    let mut fetch = CompletedFetch::auxiliary(page, url.as_str().to_owned(), summary);
    (fetch.receipt, fetch.notes) = (receipt, notes);
    (fetch, end)
}

fn media_type(response: &FetchResponse) -> String {
    let header = response.headers.text("content-type");
    header
        .and_then(|value| value.split(';').next())
        .unwrap_or("text/plain")
        .trim()
        .to_ascii_lowercase()
}

/// Reads a response. If the file cannot be used, the error contains the outcome and a note for the crawl log.
fn read(response: &FetchResponse) -> Result<RequestEnd, (Outcome, &'static str)> {
    let is_cut = match response.truncated {
        Some(Truncated::Length) => true,
        // The missing part may contain rules, so the file is not used at all.
        Some(Truncated::Disconnect | Truncated::Time | Truncated::Unspecified) => {
            return Err((Outcome::Reset, ""));
        }
        None => false,
    };
    if !is_cut && response.remarks.iter().any(is_undecoded) {
        return Err((Outcome::Protocol, "its content coding could not be decoded"));
    }
    let target = response.headers.get("location");
    Ok(match (response.status, target) {
        (301 | 302 | 303 | 307 | 308, Some(target)) => {
            RequestEnd::Redirect(String::from_utf8_lossy(target).into_owned())
        }
        (status, _) => RequestEnd::File {
            status,
            body: whole_lines(&response.body, is_cut).to_vec(),
        },
    })
}

fn is_undecoded(remark: &ResponseRemark) -> bool {
    matches!(remark, ResponseRemark::DecodeError { .. })
}

/// The part of the file that is used: at most [`MAX_ROBOTS_SIZE`] bytes. An incomplete last line is dropped, because
/// the whole line may have another meaning.
fn whole_lines(body: &[u8], is_cut: bool) -> &[u8] {
    let read = &body[..body.len().min(MAX_ROBOTS_SIZE)];
    if !is_cut && read.len() == body.len() {
        return read;
    }
    let end = read.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    &read[..end.map_or(0, |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_last_line_is_dropped() {
        let rules = b"Disallow: /private/\nDisallow: /admin";
        assert_eq!(whole_lines(rules, false), rules);
        assert_eq!(whole_lines(rules, true), b"Disallow: /private/\n");
        assert_eq!(whole_lines(b"Disallow: /", true), b"");
        let mut long = vec![b'#'; MAX_ROBOTS_SIZE - 4];
        long.extend_from_slice(b"\rDisallow: /admin\n");
        assert_eq!(whole_lines(&long, false).len(), MAX_ROBOTS_SIZE - 3);
    }
}
