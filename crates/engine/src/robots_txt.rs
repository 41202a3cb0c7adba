//! The robots.txt file of the visited site (R1). A visit uses the stored copy while it is fresh, and requests it otherwise.
//!
//! RFC 9309: status 4xx means that there are no rules; 5xx or no response means that no page may be fetched for now. Up to five
//! redirects are followed, and a copy is used for at most a day. The file is archived and logged like a page, with the hop letter
//! `P` (prerequisite), but it is not a page of the frontier.

use std::time::Duration;

use aranha_fetch::{FetchSession, Fetched, ResponseRemark, Truncated};
use aranha_frontier::{Hop, Outcome, Pending, RobotsFile};
use aranha_robots::{Access, Robots, RobotsRules};
use aranha_url::{Base, CanonUrl};
use aranha_volume::WarcFields;
use tokio::time::Instant;

use crate::collect::{ROBOTS_SIZE, Wanted, ask, blank, exchange, outcome};
use crate::commit::Done;
use crate::courtesy::retry_after;
use crate::node::Context;

/// Maximum age of a copy (RFC 9309, 2.4).
const MAX_AGE_MS: i64 = 24 * 3600 * 1000;
/// Redirects that are followed (RFC 9309, 2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// Whether a copy may still be used.
pub(crate) fn is_fresh(file: &RobotsFile, now: i64) -> bool {
    // A time in the future comes from a wrong clock, so such a copy is not used.
    (0..MAX_AGE_MS).contains(&(now - file.fetched))
}

/// The rules of a copy; `None` if the file was unavailable, so that no page may be fetched.
pub(crate) fn rules(file: &RobotsFile, product: &str) -> Option<RobotsRules> {
    let status = (file.status != 0).then_some(file.status);
    match aranha_robots::access(status) {
        Access::Use => Some(Robots::parse(&file.body).agent(product)),
        Access::AllowAll => Some(Robots::allow_all().agent(product)),
        Access::DenyAll => None,
    }
}

/// The sitemaps that a copy names.
pub(crate) fn sitemaps(file: &RobotsFile) -> Vec<String> {
    match file.status {
        200..=299 => Robots::parse(&file.body).sitemaps().to_vec(),
        _ => Vec::new(),
    }
}

/// The result of a request for robots.txt.
pub(crate) struct RobotsFetch {
    pub(crate) file: RobotsFile,
    /// Outcome of the last request, for the retry table.
    pub(crate) outcome: Outcome,
    /// `Retry-After` of the last response.
    pub(crate) retry_after: Option<Duration>,
    /// The requests, for the log and the check-in.
    pub(crate) done: Vec<Done>,
}

/// Requests the file, not before `allowed`. After each response, `allowed` becomes the end of the courtesy pause.
pub(crate) async fn request(
    context: &Context,
    session: &mut FetchSession,
    start: CanonUrl,
    allowed: &mut Instant,
) -> RobotsFetch {
    let mut result = RobotsFetch {
        file: RobotsFile {
            fetched: context.clock.now(),
            status: 0,
            url: start.as_str().to_owned(),
            body: Vec::new(),
        },
        outcome: Outcome::Timeout,
        retry_after: None,
        done: Vec::new(),
    };
    let mut url = start;
    for _ in 0..=MAX_REDIRECTS {
        tokio::time::sleep_until(*allowed).await;
        let began = context.clock.now();
        let (_, fetched) = ask(context, session, &url, &[], Wanted::Robots).await;
        result.retry_after = retry_after_of(&fetched);
        *allowed = Instant::now() + context.config.crawl.pause;
        let (done, response) = archive(context, &url, began, fetched).await;
        result.outcome = done.record.outcome;
        let reason = done.notes.clone();
        result.done.push(done);
        match response {
            RobotsResponse::Failed => {
                // The reason is kept in place of the file, for `aranha robots` and `aranha why`.
                result.file.body = reason.into_bytes();
                return result;
            }
            RobotsResponse::Complete { status, body } => {
                result.file.status = status;
                result.file.body = body;
                result.file.url = url.as_str().to_owned();
                return result;
            }
            RobotsResponse::Redirect(href) => match context.canon.join(&Base::of(&url), &href) {
                Ok(target) if context.is_blocked(&target) => {
                    // The rules are unknown, so no page may be fetched.
                    let reason = format!("a redirect to {}, which is blocked", target.as_str());
                    result.file.body = reason.into_bytes();
                    return result;
                }
                Ok(target) => url = target,
                Err(_) => break,
            },
        }
    }
    // Too many redirects, or an invalid target: treated as if there were no file (RFC 9309, 2.3.1.2).
    result.file.status = 404;
    result
}

fn retry_after_of(fetched: &Result<Fetched, aranha_fetch::Failure>) -> Option<Duration> {
    let fetched = fetched.as_ref().ok()?;
    let answer = fetched.result.as_ref().ok()?;
    retry_after(answer, fetched.started_ms)
}

/// A response to a request for robots.txt.
enum RobotsResponse {
    Failed,
    Complete { status: u16, body: Vec<u8> },
    Redirect(String),
}

/// Archives the response and interprets it.
async fn archive(
    context: &Context,
    url: &CanonUrl,
    began: i64,
    fetched: Result<Fetched, aranha_fetch::Failure>,
) -> (Done, RobotsResponse) {
    let pending = Pending {
        path: url.path().to_owned(),
        key: url.path_key(),
        depth: 0,
        site_depth: 0,
        tries: 0,
        hop: Hop::RobotsTxt,
        via: String::new(),
        past: None,
    };
    let mut done = Done {
        is_page: false,
        record: blank(&pending, began),
        url: url.as_str().to_owned(),
        receipt: None,
        notes: String::new(),
    };
    let fetched = match fetched {
        Ok(fetched) => fetched,
        Err(failure) => {
            done.record.outcome = outcome(&failure);
            done.notes = failure.to_string();
            return (done, RobotsResponse::Failed);
        }
    };
    done.record.duration_ms = fetched.timings.total.as_millis().min(u128::from(u32::MAX)) as u32;
    let answer = match &fetched.result {
        Ok(answer) => answer,
        Err(failure) => {
            done.record.outcome = outcome(failure);
            done.notes = failure.to_string();
            return (done, RobotsResponse::Failed);
        }
    };
    done.record.outcome = Outcome::Answer(answer.status);
    done.record.size = answer.body.len() as u64;
    let media_type = answer
        .headers
        .text("content-type")
        .and_then(|value| value.split(';').next())
        .unwrap_or("text/plain")
        .trim()
        .to_ascii_lowercase();
    done.record.media_type.clone_from(&media_type);
    let exchange = exchange(url, &fetched, answer, &media_type, WarcFields::new());
    match context.archive.append(exchange).await {
        Ok(receipt) => done.receipt = Some(receipt),
        Err(error) => context.give_up(&error),
    }
    let is_cut = match answer.truncated {
        Some(Truncated::Length) => true,
        Some(Truncated::Disconnect | Truncated::Time | Truncated::Unspecified) => {
            // The missing part may contain rules, so the request counts as failed.
            done.record.outcome = Outcome::Reset;
            return (done, RobotsResponse::Failed);
        }
        None => false,
    };
    if !is_cut && answer.remarks.iter().any(is_undecoded) {
        done.record.outcome = Outcome::Protocol;
        done.notes
            .push_str("the content coding could not be decoded");
        return (done, RobotsResponse::Failed);
    }
    let target = answer.headers.get("location");
    let response = match (answer.status, target) {
        (301 | 302 | 303 | 307 | 308, Some(target)) => {
            RobotsResponse::Redirect(String::from_utf8_lossy(target).into_owned())
        }
        (status, _) => RobotsResponse::Complete {
            status,
            body: whole_lines(&answer.body, is_cut).to_vec(),
        },
    };
    (done, response)
}

fn is_undecoded(remark: &ResponseRemark) -> bool {
    matches!(remark, ResponseRemark::DecodeError { .. })
}

/// The part of the file that is parsed: at most [`ROBOTS_SIZE`] bytes. An incomplete last line is dropped, because it may have
/// another meaning than the whole line.
fn whole_lines(body: &[u8], is_cut: bool) -> &[u8] {
    let read = &body[..body.len().min(ROBOTS_SIZE)];
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
        let mut long = vec![b'#'; ROBOTS_SIZE - 4];
        long.extend_from_slice(b"\rDisallow: /admin\n");
        assert_eq!(whole_lines(&long, false).len(), ROBOTS_SIZE - 3);
    }
}
