//! The collector: one page, from its URL to what is known about it.
//!
//! Resolve, pass the address's gate, fetch, read, canonicalise and judge the links, hand the bytes
//! to the archive. It runs as a task of its own, so that one visit's pages can be read on several
//! cores; it holds nothing of the visit and decides nothing about it: what to do next is the
//! visit's business.
//!
//! Redirects are links (N11): they are returned, not followed.

mod cache;
mod links;
mod record;
mod request;
mod version;

use std::time::Duration;

use aranha_fetch::{
    Failure, FetchResponse, FetchSession, Fetched, Headers, Resolved, ResponseRemark, Truncated,
};
use aranha_frontier::{Flags, Outcome, Outside, Past, Pending};
use aranha_page::Input;
use aranha_url::CanonUrl;
use aranha_volume::{EarlierVersion, Exchange};
use tokio::time::Instant;

use self::links::{directives, links, redirect};
use self::record::metadata;
use self::version::{conditions, version};
use crate::commit::Done;
use crate::courtesy::{pause_after, retry_after};
use crate::node::Context;
use crate::status::tally::add;
use crate::traps::novelty::Reading;

pub(crate) use self::links::{Insides, Redirect, deeper, outside};
pub(crate) use self::record::{blank, exchange, outcome};
pub(crate) use self::request::{ROBOTS_SIZE, Wanted, ask};
pub(crate) use self::version::Version;

/// A page to collect.
pub(crate) struct Assignment {
    /// The visit's, by which links are known that it has taken in before.
    pub(crate) lease: u64,
    pub(crate) url: CanonUrl,
    pub(crate) pending: Pending,
    pub(crate) cookie: Option<String>,
    /// Whether its links are wanted: a threshold of the site (D5) may forbid it.
    pub(crate) follow: bool,
    /// Whether its words are looked at.
    pub(crate) wary: bool,
    /// The pause that the site asks for.
    pub(crate) delay: Duration,
}

/// A page collected.
pub(crate) struct Collected {
    pub(crate) session: FetchSession,
    pub(crate) pending: Pending,
    pub(crate) url: CanonUrl,
    pub(crate) done: Done,
    pub(crate) inside: Insides,
    pub(crate) outside: Vec<Outside>,
    pub(crate) redirect: Option<Redirect>,
    /// What the text says about the site; pages with status 200 only.
    pub(crate) reading: Option<Reading>,
    /// What came, when it is worth coming back for: an answer of 200 or a redirect; of a 304, what it stands for.
    pub(crate) version: Option<Version>,
    /// Of an answer that sets cookies.
    pub(crate) headers: Option<Headers>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) resolved: Option<Resolved>,
    pub(crate) took: Duration,
    pub(crate) ended: Instant,
    /// The archive could not take it: the page is not done, the crawl is stopping.
    pub(crate) lost: bool,
    /// The proxy did not have it: nothing has happened to the page.
    pub(crate) uncached: bool,
}

/// Collects one page. Always returns; may be cancelled, and then nothing has been recorded.
///
/// What is rare is boxed, here and in the fetch: the rest is made, moved and dropped for every page.
pub(crate) async fn collect(
    context: &Context,
    mut session: FetchSession,
    assignment: Assignment,
) -> Box<Collected> {
    let Assignment {
        lease,
        url,
        pending,
        cookie,
        follow,
        wary,
        delay,
    } = assignment;
    let began = context.clock.now();
    let started = Instant::now();
    let mut headers = conditions(&pending);
    let proxy = cache::proxy(context, &pending, &url);
    headers.extend(
        cookie
            .filter(|_| proxy.is_none())
            .map(|cookie| ("Cookie", cookie)),
    );
    let page = match proxy {
        Some(proxy) => {
            Box::pin(cache::ask(
                context,
                &mut session,
                &url,
                headers.clone(),
                proxy,
            ))
            .await
        }
        None => ask(context, &mut session, &url, &headers, Wanted::Page).await,
    };
    let (resolved, asked) =
        if proxy.is_none() && context.config.fetch.range_requests && is_refusal_of_range(&page.1) {
            // Its share of the memory for answers, which the second one needs.
            drop(page);
            // A second request is a request: it waits like any other (P A.3.2).
            let pause = pause_after(&context.config.crawl, delay, started.elapsed());
            tokio::time::sleep(pause).await;
            Box::pin(ask(
                context,
                &mut session,
                &url,
                &headers,
                Wanted::WholePage,
            ))
            .await
        } else {
            page
        };
    let mut collected = Box::new(Collected {
        session,
        done: Done {
            is_page: true,
            record: blank(&pending, began),
            url: url.as_str().to_owned(),
            receipt: None,
            notes: String::new(),
        },
        pending,
        url,
        inside: Insides::default(),
        outside: Vec::new(),
        redirect: None,
        reading: None,
        version: None,
        headers: None,
        retry_after: None,
        truncated: None,
        resolved,
        took: started.elapsed(),
        ended: Instant::now(),
        lost: false,
        uncached: false,
    });
    if proxy.is_some() {
        collected.uncached = !cache::has(&asked);
        if collected.uncached {
            return collected;
        }
        add(&context.counters.proxy_hits, 1);
    }
    let fetched = match asked {
        Ok(fetched) => fetched,
        Err(failure) => {
            collected.failed(&failure);
            return collected;
        }
    };
    let record = &mut collected.done.record;
    record.time = fetched.started_ms;
    record.duration_ms = fetched.timings.total.as_millis().min(u128::from(u32::MAX)) as u32;
    collected.ended = fetched.finished;
    collected.took = fetched.timings.total;
    match &fetched.result {
        Err(failure) => collected.failed(failure),
        Ok(answer) => {
            read(
                context,
                answer,
                follow.then_some(lease),
                wary,
                &mut collected,
                &fetched,
            )
            .await;
        }
    }
    collected
}

impl Collected {
    fn failed(&mut self, failure: &Failure) {
        self.done.record.outcome = outcome(failure);
        self.done.notes = failure.to_string();
    }
}

fn is_refusal_of_range(asked: &Result<Fetched, Failure>) -> bool {
    let answer = asked
        .as_ref()
        .ok()
        .and_then(|fetched| fetched.result.as_ref().ok());
    answer.is_some_and(|answer| answer.status == 416)
}

/// `follow`: the lease, if links are wanted.
async fn read(
    context: &Context,
    answer: &FetchResponse,
    follow: Option<u64>,
    wary: bool,
    collected: &mut Collected,
    fetched: &Fetched,
) {
    let record = &mut collected.done.record;
    record.outcome = if answer.unwanted {
        Outcome::Unwanted(answer.status)
    } else {
        Outcome::Answer(answer.status)
    };
    record.size = answer.body.len() as u64;
    if answer.truncated.is_some() {
        record.flags = record.flags.with(Flags::TRUNCATED);
    }
    // The cookies of an answer to somebody else are not for us.
    let sets_cookies = answer.headers.has("set-cookie");
    collected.headers =
        (sets_cookies && collected.resolved.is_some()).then(|| answer.headers.clone());
    collected.retry_after = retry_after(answer, record.time);
    collected.truncated = answer.truncated.filter(|_| !answer.unwanted);
    if answer.remarks.iter().any(|remark| {
        matches!(
            remark,
            ResponseRemark::DecodeError { .. } | ResponseRemark::NotCoded(_)
        )
    }) {
        record.flags = record.flags.with(Flags::UNDECODED);
    }
    if matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        redirect(context, answer, collected);
    }
    if answer.status == 304
        && let Some(past) = collected.pending.past.clone()
    {
        Box::pin(unmodified(context, answer, *past, collected, fetched)).await;
        return;
    }
    let record = &mut collected.done.record;
    if answer.unwanted {
        record.media_type = answer
            .headers
            .text("content-type")
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        return;
    }
    let page = aranha_page::read(
        &Input {
            url: collected.url.as_str(),
            content_type: answer.headers.text("content-type"),
            body: &answer.body,
            content_language: answer.headers.text("content-language"),
        },
        &context.config.page,
    );
    record.media_type = page.media_type.to_string();
    record.text_digest = page.text_digest;
    let modified = answer.last_modified(record.time);
    collected.version = version(answer, modified, record, &collected.pending);
    if answer.status == 200 && !page.text.is_empty() {
        collected.reading = Some(if wary {
            Reading::of(&page.text, page.text_digest, page.sketch)
        } else {
            Reading::glance(page.text_digest, page.sketch)
        });
    }
    if page
        .remarks
        .contains(&aranha_page::PageRemark::UnsupportedBrowser)
    {
        record.flags = record.flags.with(Flags::CLOAKED);
        add(&context.counters.unsupported_browser, 1);
    }
    let directives = directives(&page, answer, &context.product);
    if directives.noindex {
        record.flags = record.flags.with(Flags::NOINDEX);
    }
    if directives.nofollow {
        record.flags = record.flags.with(Flags::NOFOLLOW);
    }
    add(&context.counters.links, page.links.len() as u64);
    if let Some(lease) = follow
        && !directives.nofollow
        && (200..300).contains(&answer.status)
    {
        links(context, lease, &page, collected);
    }
    let record = &collected.done.record;
    let exchange = exchange(
        &collected.url,
        fetched,
        answer,
        &record.media_type,
        metadata(record, Some(&page), modified, fetched),
    );
    // Not held while the archive has no room.
    drop(page);
    store(context, exchange, collected).await;
}

/// The server says that the page is what it was: the version that is kept counts for this one too.
async fn unmodified(
    context: &Context,
    answer: &FetchResponse,
    mut past: Past,
    collected: &mut Collected,
    fetched: &Fetched,
) {
    let record = &mut collected.done.record;
    record.media_type.clone_from(&past.media_type);
    record.size = past.size;
    record.digest = Some(past.digest);
    record.text_digest = if past.text { past.fingerprint } else { 0 };
    let modified = answer.last_modified(record.time);
    let mut exchange = exchange(
        &collected.url,
        fetched,
        answer,
        &record.media_type,
        metadata(record, None, modified, fetched),
    );
    exchange.not_modified = Some(EarlierVersion {
        time_ms: past.time,
        digest: past.digest,
        location: past.location,
    });
    if let Some(etag) = answer.etag() {
        etag.clone_into(&mut past.etag);
    }
    past.modified = modified.or(past.modified);
    collected.version = Some(Version {
        past,
        expires: answer.expires(record.time),
    });
    store(context, exchange, collected).await;
}

async fn store(context: &Context, exchange: Exchange, collected: &mut Collected) {
    match context.archive.append(exchange).await {
        Ok(receipt) => collected.done.receipt = Some(receipt),
        Err(error) => {
            context.give_up(&error);
            collected.lost = true;
        }
    }
}
