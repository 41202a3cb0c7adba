//! robots.txt of the site being visited (R1): from the site's facts while it is fresh, else asked for.
//!
//! RFC 9309: an answer of 4xx means no rules, 5xx or no answer means that nothing may be fetched for
//! now, up to five redirects are followed, a copy is used for at most a day. The file is archived and
//! logged like a page, with the hop letter `P` (prerequisite), but it is no page of the frontier.

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

/// A copy may be used this long (RFC 9309, 2.4).
const FRESH_MS: i64 = 24 * 3600 * 1000;
/// Redirects followed (RFC 9309, 2.3.1.2).
const REDIRECTS: usize = 5;

/// Whether the copy may still be used.
pub(crate) fn is_fresh(file: &RobotsFile, now: i64) -> bool {
    // One from the future was fetched by a clock that was wrong.
    (0..FRESH_MS).contains(&(now - file.fetched))
}

/// The rules of a copy; `None` when it says that the file could not be had, and so nothing may be fetched.
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

/// What asking brought.
pub(crate) struct RobotsFetch {
    pub(crate) file: RobotsFile,
    /// How it ended, for the retry table.
    pub(crate) outcome: Outcome,
    /// `Retry-After`, where the last answer had it.
    pub(crate) retry_after: Option<Duration>,
    /// For the archive and the log.
    pub(crate) done: Vec<Done>,
}

/// Asks for the file, not before `allowed`, which it moves on by the pause after each answer.
pub(crate) async fn request(
    context: &Context,
    session: &mut FetchSession,
    start: CanonUrl,
    allowed: &mut Instant,
) -> RobotsFetch {
    let mut asked = RobotsFetch {
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
    for _ in 0..=REDIRECTS {
        tokio::time::sleep_until(*allowed).await;
        let began = context.clock.now();
        let (_, fetched) = ask(context, session, &url, &[], Wanted::Robots).await;
        asked.retry_after = patience(&fetched);
        *allowed = Instant::now() + context.config.crawl.pause;
        let (done, end) = keep(context, &url, began, fetched).await;
        asked.outcome = done.record.outcome;
        let reason = done.notes.clone();
        asked.done.push(done);
        match end {
            RobotsResponse::Failed => {
                // Instead of a file: why there is none, for whoever asks.
                asked.file.body = reason.into_bytes();
                return asked;
            }
            RobotsResponse::Answer { status, body } => {
                asked.file.status = status;
                asked.file.body = body;
                asked.file.url = url.as_str().to_owned();
                return asked;
            }
            RobotsResponse::Redirect(href) => match context.canon.join(&Base::of(&url), &href) {
                Ok(target) if context.is_blocked(&target) => {
                    // There may be rules: that we do not ask for them is no leave to do as we like.
                    let reason = format!("a redirect to {}, which is shut out", target.as_str());
                    asked.file.body = reason.into_bytes();
                    return asked;
                }
                Ok(target) => url = target,
                Err(_) => break,
            },
        }
    }
    // Too many redirects, or one to nowhere: as if there were no file (RFC 9309, 2.3.1.2).
    asked.file.status = 404;
    asked
}

fn patience(fetched: &Result<Fetched, aranha_fetch::Failure>) -> Option<Duration> {
    let fetched = fetched.as_ref().ok()?;
    let answer = fetched.result.as_ref().ok()?;
    retry_after(answer, fetched.started_ms)
}

enum RobotsResponse {
    Failed,
    Answer { status: u16, body: Vec<u8> },
    Redirect(String),
}

async fn keep(
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
    let cut = match answer.truncated {
        Some(Truncated::Length) => true,
        Some(Truncated::Disconnect | Truncated::Time | Truncated::Unspecified) => {
            // Rules behind the cut would not exist for us: as if the file had not come.
            done.record.outcome = Outcome::Reset;
            return (done, RobotsResponse::Failed);
        }
        None => false,
    };
    if !cut && answer.remarks.iter().any(is_undecoded) {
        done.record.outcome = Outcome::Protocol;
        done.notes
            .push_str("its content coding could not be undone");
        return (done, RobotsResponse::Failed);
    }
    let target = answer.headers.get("location");
    let end = match (answer.status, target) {
        (301 | 302 | 303 | 307 | 308, Some(target)) => {
            RobotsResponse::Redirect(String::from_utf8_lossy(target).into_owned())
        }
        (status, _) => RobotsResponse::Answer {
            status,
            body: whole_lines(&answer.body, cut).to_vec(),
        },
    };
    (done, end)
}

fn is_undecoded(remark: &ResponseRemark) -> bool {
    matches!(remark, ResponseRemark::DecodeError { .. })
}

/// As much of a file as is read. Half a line at the end of that might say something else than the line.
fn whole_lines(body: &[u8], cut: bool) -> &[u8] {
    let read = &body[..body.len().min(ROBOTS_SIZE)];
    if !cut && read.len() == body.len() {
        return read;
    }
    let end = read.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    &read[..end.map_or(0, |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_is_no_rule() {
        let rules = b"Disallow: /private/\nDisallow: /admin";
        assert_eq!(whole_lines(rules, false), rules);
        assert_eq!(whole_lines(rules, true), b"Disallow: /private/\n");
        assert_eq!(whole_lines(b"Disallow: /", true), b"");
        let mut long = vec![b'#'; ROBOTS_SIZE - 4];
        long.extend_from_slice(b"\rDisallow: /admin\n");
        assert_eq!(whole_lines(&long, false).len(), ROBOTS_SIZE - 3);
    }
}
