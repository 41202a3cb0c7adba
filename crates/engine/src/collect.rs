//! The collector: one page, from its URL to what is known about it.
//!
//! Resolve, pass the address's gate, fetch, read, canonicalise and judge the links, hand the bytes
//! to the archive. It runs as a task of its own, so that one visit's pages can be read on several
//! cores; it holds nothing of the visit and decides nothing about it: what to do next is the
//! visit's business.
//!
//! Redirects are links (N11): they are returned, not followed.

use std::net::SocketAddr;
use std::sync::PoisonError;
use std::time::Duration;

use aranha_fetch::{Answer, Failure, Fetched, Request, Resolved, Session, Truncated, Web};
use aranha_frontier::{Flags, Outcome, Outside, PageRecord, Past, Pending};
use aranha_page::{Input, Page};
use aranha_robots::Directives;
use aranha_url::{Base, CanonUrl, Scheme, SiteKey};
use aranha_volume::{Earlier, Exchange};
use http::header;
use tokio::time::Instant;

use crate::commit::Done;
use crate::config::Crawl;
use crate::node::Context;
use crate::novelty::Reading;
use crate::signals::Source;
use crate::tally::add;

/// A page to collect.
pub(crate) struct Assignment {
    pub(crate) url: CanonUrl,
    pub(crate) pending: Pending,
    pub(crate) cookie: Option<String>,
    /// Whether its links are wanted: a threshold of the site (D5) may forbid it.
    pub(crate) follow: bool,
    /// Whether its words are looked at: not worth it at a site of a few pages.
    pub(crate) wary: bool,
    /// The pause that the site asks for.
    pub(crate) delay: Duration,
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Page,
    /// A page of a server that has refused to send a part of it.
    WholePage,
    /// robots.txt, whatever its media type.
    Robots,
}

/// A link to a page of the same site.
pub(crate) struct Inside {
    pub(crate) url: CanonUrl,
    pub(crate) hop: char,
    /// When a sitemap or a feed says that it changed last.
    pub(crate) dated: Option<i64>,
}

/// Where a redirect leads, inside or outside, in scope or not.
pub(crate) struct Redirect {
    pub(crate) target: CanonUrl,
    /// Its path as the server wrote it: what to ask for when the canonical form is the page itself.
    pub(crate) literal: String,
}

/// The version of a page that an answer brought: what the next visit compares with, and asks with.
pub(crate) struct Version {
    pub(crate) past: Past,
    /// Until when the server says that it holds.
    pub(crate) expires: Option<i64>,
}

/// A page collected.
pub(crate) struct Collected {
    pub(crate) session: Session,
    pub(crate) pending: Pending,
    pub(crate) url: CanonUrl,
    pub(crate) done: Done,
    pub(crate) inside: Vec<Inside>,
    pub(crate) outside: Vec<Outside>,
    pub(crate) redirect: Option<Redirect>,
    /// What the text says about the site; pages with status 200 only.
    pub(crate) reading: Option<Reading>,
    /// What came, when it is worth coming back for: an answer of 200 or a redirect; of a 304, what it stands for.
    pub(crate) version: Option<Version>,
    pub(crate) headers: Option<http::HeaderMap>,
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

/// After an answer that was broken off the pause begins when the server knows: this much later at most.
const FAREWELL: Duration = Duration::from_millis(200);
/// Addresses of a name tried before its server counts as unreachable.
const ADDRESSES: usize = 2;
/// The letter of the link for a page that a signal from outside told of, and for one that a proxy's users were served.
pub(crate) const SIGNAL: char = 'S';
pub(crate) const CACHE: char = 'C';
/// robots.txt is read up to 500 KiB (RFC 9309, 2.5).
pub(crate) const ROBOTS_SIZE: usize = 500 << 10;

/// One request and its end, with the name resolved and the address's courtesy kept.
pub(crate) async fn ask(
    context: &Context,
    session: &mut Session,
    url: &CanonUrl,
    headers: &[(&'static str, String)],
    wanted: Wanted,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    let resolved = match context.web.resolve(url.host()).await {
        Ok(resolved) => resolved,
        Err(failure) => return (None, Err(failure)),
    };
    let mut end = Err(Failure::DnsNotFound);
    for &address in resolved.addresses.iter().take(ADDRESSES) {
        if context.config.crawl.contact.is_empty() && Web::is_public(address) {
            let rule = "a public address, and no contact was given (--contact)".to_owned();
            end = Err(Failure::AddressRefused { address, rule });
            continue;
        }
        context.rate.wait().await;
        let permit = context.gates.enter(address).await;
        let mut request = Request::new(url, address);
        request.headers.extend_from_slice(headers);
        request.whole = wanted != Wanted::Page;
        request.any_type = wanted == Wanted::Robots;
        request.max_body = request.any_type.then_some(ROBOTS_SIZE as u64);
        let slot = context.load.enter().await;
        let mut fetched = context.web.fetch(session, request).await;
        drop(slot);
        if was_broken_off(&fetched) {
            // The server hears of it as much later as it took to hear of the request.
            tokio::time::sleep(fetched.timings.first_byte.min(FAREWELL)).await;
            fetched.finished = Instant::now();
        }
        drop(permit);
        let answered = fetched.result.is_ok();
        context
            .load
            .note(answered.then_some(fetched.timings.first_byte));
        let received = fetched.response.len() as u64;
        context.rate.take(received);
        add(&context.tally.received, received);
        let unreachable = matches!(
            fetched.result,
            Err(Failure::ConnectFailed(_) | Failure::ConnectTimeout)
        );
        end = Ok(fetched);
        if !unreachable {
            break;
        }
    }
    (Some(resolved), end)
}

/// Whether the end of the answer was ours.
fn was_broken_off(fetched: &Fetched) -> bool {
    let answer = fetched.result.as_ref().ok();
    answer
        .and_then(|answer| answer.truncated)
        .is_some_and(|reason| reason != Truncated::Disconnect)
}

/// The proxy in whose cache the page should be, because its users were served it just now (I5).
fn cache(context: &Context, pending: &Pending, url: &CanonUrl) -> Option<SocketAddr> {
    let told = match &pending.past {
        Some(past) => past.claim == Source::Proxy as u8,
        None => pending.hop == CACHE && pending.tries == 0,
    };
    if !told || url.scheme() != Scheme::Http {
        return None;
    }
    context.config.parasite.address()
}

/// Takes the page from the proxy's cache and only from there: its own server hears nothing of it.
async fn ask_cache(
    context: &Context,
    session: &mut Session,
    url: &CanonUrl,
    mut headers: Vec<(&'static str, String)>,
    proxy: SocketAddr,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    headers.push(("Cache-Control", "only-if-cached".to_owned()));
    let mut request = Request::new(url, proxy.ip());
    request.proxy = Some(proxy);
    request.headers = headers;
    let slot = context.load.enter().await;
    let fetched = context.web.fetch(session, request).await;
    drop(slot);
    add(&context.tally.received, fetched.response.len() as u64);
    (None, Ok(fetched))
}

/// Whether the proxy had the page: it answers 504 when it had not (RFC 9111, 5.2.1.7).
fn is_cached(asked: &Result<Fetched, Failure>) -> bool {
    asked.as_ref().is_ok_and(|fetched| {
        let answer = fetched.result.as_ref();
        answer.is_ok_and(|answer| answer.status != 504)
    })
}

/// Collects one page. Always returns; may be cancelled, and then nothing has been recorded.
pub(crate) async fn collect(
    context: &Context,
    mut session: Session,
    assignment: Assignment,
) -> Collected {
    let Assignment {
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
    let cache = cache(context, &pending, &url);
    headers.extend(
        cookie
            .filter(|_| cache.is_none())
            .map(|cookie| ("Cookie", cookie)),
    );
    let page = match cache {
        Some(proxy) => ask_cache(context, &mut session, &url, headers.clone(), proxy).await,
        None => ask(context, &mut session, &url, &headers, Wanted::Page).await,
    };
    let (resolved, asked) =
        if cache.is_none() && context.config.fetch.range && is_refusal_of_range(&page.1) {
            // A second request is a request: it waits like any other (P A.3.2).
            let pause = pause_after(&context.config.crawl, delay, started.elapsed());
            tokio::time::sleep(pause).await;
            ask(context, &mut session, &url, &headers, Wanted::WholePage).await
        } else {
            page
        };
    let mut record = blank(&pending, began);
    let mut collected = Collected {
        session,
        done: Done {
            is_page: true,
            record: record.clone(),
            url: url.as_str().to_owned(),
            receipt: None,
            notes: String::new(),
        },
        pending,
        url,
        inside: Vec::new(),
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
    };
    if cache.is_some() {
        collected.uncached = !is_cached(&asked);
        if collected.uncached {
            return collected;
        }
        add(&context.tally.cached, 1);
    }
    let fetched = match asked {
        Ok(fetched) => fetched,
        Err(failure) => {
            record.outcome = outcome(&failure);
            collected.done.notes = failure.to_string();
            collected.done.record = record;
            return collected;
        }
    };
    record.time = fetched.started_ms;
    record.duration_ms = fetched.timings.total.as_millis().min(u128::from(u32::MAX)) as u32;
    collected.ended = fetched.finished;
    collected.took = fetched.timings.total;
    match &fetched.result {
        Err(failure) => {
            record.outcome = outcome(failure);
            collected.done.notes = failure.to_string();
        }
        Ok(answer) => {
            read(
                context,
                answer,
                (follow, wary),
                &mut record,
                &mut collected,
                &fetched,
            )
            .await;
        }
    }
    collected.done.record = record;
    collected
}

fn is_refusal_of_range(asked: &Result<Fetched, Failure>) -> bool {
    let answer = asked
        .as_ref()
        .ok()
        .and_then(|fetched| fetched.result.as_ref().ok());
    answer.is_some_and(|answer| answer.status == 416)
}

/// The pause after an answer that took this long, at a site that asks for `delay`.
pub(crate) fn pause_after(crawl: &Crawl, delay: Duration, took: Duration) -> Duration {
    if crawl.pause.is_zero() {
        return delay;
    }
    let slow = took
        .mul_f64(crawl.pause_factor.max(0.0))
        .min(crawl.max_pause);
    crawl.pause.max(delay).max(slow)
}

async fn read(
    context: &Context,
    answer: &Answer,
    (follow, wary): (bool, bool),
    record: &mut PageRecord,
    collected: &mut Collected,
    fetched: &Fetched,
) {
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
    collected.headers = collected.resolved.is_some().then(|| answer.headers.clone());
    collected.retry_after = retry_after(answer, record.time);
    collected.truncated = answer.truncated.filter(|_| !answer.unwanted);
    if answer
        .remarks
        .iter()
        .any(|remark| matches!(remark, aranha_fetch::Remark::Decode { .. }))
    {
        record.flags = record.flags.with(Flags::UNDECODED);
    }
    let text = |name| {
        answer
            .headers
            .get(name)
            .and_then(|value: &http::HeaderValue| value.to_str().ok())
    };
    if matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        let target = answer
            .headers
            .get(header::LOCATION)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let base = Base::of(&collected.url);
        match target
            .as_deref()
            .map(|href| (href, context.canon.join(&base, href)))
        {
            Some((href, Ok(target))) => {
                record.redirect = Some(target.as_str().to_owned());
                let literal = match context.literal.join(&base, href) {
                    Ok(literal) => literal.path().to_owned(),
                    Err(_) => target.path().to_owned(),
                };
                collected.redirect = Some(Redirect { target, literal });
            }
            Some((_, Err(rejected))) => {
                record.outcome = Outcome::NoTarget;
                collected.done.notes = rejected.to_string();
            }
            None => record.outcome = Outcome::NoTarget,
        }
    }
    if answer.status == 304
        && let Some(past) = collected.pending.past.clone()
    {
        unmodified(context, answer, *past, record, collected, fetched).await;
        return;
    }
    if answer.unwanted {
        record.media_type = text(header::CONTENT_TYPE)
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        return;
    }
    let page = aranha_page::read(
        &Input {
            url: collected.url.as_str(),
            content_type: text(header::CONTENT_TYPE),
            body: &answer.body,
            content_language: text(header::CONTENT_LANGUAGE),
        },
        &context.config.page,
    );
    record.media_type = page.media_type.to_string();
    record.text_digest = page.text_digest;
    collected.version = version(answer, record, &collected.pending);
    if answer.status == 200 && !page.text.is_empty() {
        let words = if wary { page.text.as_str() } else { "" };
        let reading = Reading::of(words, page.text_digest, page.sketch);
        collected.reading = Some(reading);
    }
    if page.remarks.contains(&aranha_page::Remark::Browser) {
        record.flags = record.flags.with(Flags::CLOAKED);
        add(&context.tally.cloaked, 1);
    }
    let directives = directives(&page, answer, &context.product);
    if directives.noindex {
        record.flags = record.flags.with(Flags::NOINDEX);
    }
    if directives.nofollow {
        record.flags = record.flags.with(Flags::NOFOLLOW);
    }
    add(&context.tally.links, page.links.len() as u64);
    if follow && !directives.nofollow && (200..300).contains(&answer.status) {
        links(context, &page, collected);
    }
    let metadata = metadata(record, Some(&page), answer, fetched);
    let exchange = exchange(
        &collected.url,
        fetched,
        answer,
        &record.media_type,
        metadata,
    );
    // Not held while the archive has no room.
    drop(page);
    store(context, exchange, collected).await;
}

/// The server says that the page is what it was: the version that is kept counts for this one too.
async fn unmodified(
    context: &Context,
    answer: &Answer,
    mut past: Past,
    record: &mut PageRecord,
    collected: &mut Collected,
    fetched: &Fetched,
) {
    record.media_type.clone_from(&past.media_type);
    record.size = past.size;
    record.digest = Some(past.digest);
    record.text_digest = if past.text { past.fingerprint } else { 0 };
    let mut exchange = exchange(
        &collected.url,
        fetched,
        answer,
        &record.media_type,
        metadata(record, None, answer, fetched),
    );
    exchange.unmodified = Some(Earlier {
        time_ms: past.time,
        digest: past.digest,
        location: past.location.map(|place| aranha_volume::Location {
            volume: place.volume,
            offset: place.offset,
            length: place.length,
        }),
    });
    if let Some(etag) = answer.etag() {
        etag.clone_into(&mut past.etag);
    }
    past.modified = answer.last_modified(record.time).or(past.modified);
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

/// What the archive keeps of a fetch.
pub(crate) fn exchange(
    url: &CanonUrl,
    fetched: &Fetched,
    answer: &Answer,
    media_type: &str,
    metadata: Vec<(String, String)>,
) -> Exchange {
    Exchange {
        url: url.as_str().to_owned(),
        time_ms: fetched.started_ms,
        address: fetched.address,
        request: fetched.request.clone(),
        response: fetched.response.clone(),
        head_length: answer.head_length,
        payload: answer.payload.clone(),
        status: answer.status,
        media_type: media_type.to_owned(),
        truncated: answer.truncated.map(Truncated::as_str),
        metadata,
        unmodified: None,
    }
}

/// What makes a request conditional: the version that is kept is asked about (N14).
fn conditions(pending: &Pending) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    let Some(past) = pending.past.as_ref().filter(|past| past.location.is_some()) else {
        return headers;
    };
    if !past.etag.is_empty() {
        headers.push(("If-None-Match", tags(&past.etag)));
    }
    if let Some(modified) = past.modified.and_then(|ms| u64::try_from(ms).ok()) {
        let date = std::time::UNIX_EPOCH + Duration::from_millis(modified);
        headers.push(("If-Modified-Since", httpdate::fmt_http_date(date)));
    }
    headers
}

/// The tag to ask with. Apache marks the tags of what it packs on the way (`"1-gzip"`), and does not know the mark when
/// it comes back: the tag without it stands for the same page, and is sent along.
fn tags(etag: &str) -> String {
    let marks = ["-gzip\"", "-br\"", "-zstd\""];
    match marks.iter().find_map(|mark| etag.strip_suffix(mark)) {
        Some(bare) => format!("{etag}, {bare}\""),
        None => etag.to_owned(),
    }
}

/// What the next visit is to know of this answer; digest and place are added when its bytes are stored.
fn version(answer: &Answer, record: &PageRecord, pending: &Pending) -> Option<Version> {
    let redirect = record.redirect.as_ref();
    if answer.status != 200 && redirect.is_none() {
        return None;
    }
    let text = record.text_digest != 0 && redirect.is_none();
    let fingerprint = match redirect {
        Some(target) => xxhash_rust::xxh3::xxh3_64(target.as_bytes()),
        None if text => record.text_digest,
        None => xxhash_rust::xxh3::xxh3_64(&answer.body),
    };
    // What is not whole must come whole the next time; and only a page itself can be "not modified".
    let whole = !record.flags.has(Flags::TRUNCATED)
        && !record.flags.has(Flags::UNDECODED)
        && redirect.is_none();
    let etag = answer.etag().filter(|_| whole).unwrap_or_default();
    let history = pending.past.as_ref().map(|past| past.history.clone());
    Some(Version {
        past: Past {
            time: record.time,
            visited: record.time,
            digest: [0; 20],
            fingerprint,
            text,
            location: None,
            media_type: record.media_type.clone(),
            size: record.size,
            etag: etag.to_owned(),
            modified: answer.last_modified(record.time).filter(|_| whole),
            history: history.unwrap_or_default(),
            claim: 0,
        },
        expires: answer.expires(record.time),
    })
}

fn directives(page: &Page, answer: &Answer, product: &str) -> Directives {
    let mut all = Directives::default();
    for (name, content) in &page.robots {
        all |= Directives::meta(name, content, product);
    }
    for value in answer.headers.get_all("x-robots-tag") {
        if let Ok(value) = value.to_str() {
            all |= Directives::header(value, product);
        }
    }
    all
}

/// Canonicalises the page's links, leaves out what is out of scope, and sorts the rest into this
/// site's and other sites'.
fn links(context: &Context, page: &Page, collected: &mut Collected) {
    let site: SiteKey = collected.url.site_key();
    let own = Base::of(&collected.url);
    let base = match &page.base {
        Some(href) => own.with_href(href),
        None => own,
    };
    let scope = context.scope.read().unwrap_or_else(PoisonError::into_inner);
    let mut dates = page.dated.iter().peekable();
    for (place, link) in page.links.iter().enumerate() {
        let dated = dates
            .next_if(|(dated, _)| *dated == place)
            .map(|(_, date)| *date);
        if link.nofollow && !context.config.crawl.follow_nofollow {
            continue;
        }
        let Ok(url) = context.canon.join(&base, &link.href) else {
            continue;
        };
        let hop = link.kind.letter();
        if !scope.judge(&url, deeper(&collected.pending, hop)).inside {
            continue;
        }
        if url.site_key() == site {
            collected.inside.push(Inside { url, hop, dated });
        } else {
            context.web.prefetch(url.host());
            collected
                .outside
                .push(outside(&url, &collected.pending, hop, &collected.url));
        }
    }
}

/// Links from a seed: a redirect leads no deeper, but a second in a row does.
pub(crate) fn deeper(from: &Pending, hop: char) -> u16 {
    if hop == 'R' && from.hop != 'R' {
        from.depth
    } else {
        from.depth.saturating_add(1)
    }
}

/// A link to another site, as its inbox takes it.
pub(crate) fn outside(url: &CanonUrl, from: &Pending, hop: char, via: &CanonUrl) -> Outside {
    Outside::of(url, deeper(from, hop), hop, via.as_str())
}

/// The record of a page before anything is known about its answer.
pub(crate) fn blank(pending: &Pending, time: i64) -> PageRecord {
    PageRecord {
        path: pending.path.clone(),
        key: pending.key,
        depth: pending.depth,
        site_depth: pending.site_depth,
        time,
        outcome: Outcome::Reset,
        media_type: String::new(),
        size: 0,
        digest: None,
        text_digest: 0,
        location: None,
        revisit: false,
        duration_ms: 0,
        tries: pending.tries.saturating_add(1),
        hop: pending.hop,
        via: pending.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// The frontier's word for the fetcher's.
pub(crate) fn outcome(failure: &Failure) -> Outcome {
    match failure {
        Failure::DnsNotFound | Failure::DnsNoAddress => Outcome::DnsNotFound,
        Failure::DnsFailed(_) | Failure::DnsTimeout => Outcome::DnsFailed,
        Failure::AddressRefused { .. } => Outcome::AddressRefused,
        Failure::ConnectFailed(_) => Outcome::ConnectFailed,
        Failure::ConnectTimeout => Outcome::ConnectTimeout,
        Failure::TlsFailed(_) => Outcome::TlsFailed,
        Failure::Timeout => Outcome::Timeout,
        Failure::Stalled => Outcome::Stalled,
        Failure::Reset => Outcome::Reset,
        Failure::Protocol(_) => Outcome::Protocol,
    }
}

/// `Retry-After` in both of its forms, as the time from now.
pub(crate) fn retry_after(answer: &Answer, now: i64) -> Option<Duration> {
    let value = answer
        .headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(date.saturating_sub(Duration::from_millis(now.max(0) as u64)))
}

fn metadata(
    record: &PageRecord,
    page: Option<&Page>,
    answer: &Answer,
    fetched: &Fetched,
) -> Vec<(String, String)> {
    let mut fields = vec![
        ("hopsFromSeed".to_owned(), record.depth.to_string()),
        ("fetchTimeMs".to_owned(), record.duration_ms.to_string()),
    ];
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            fields.push((name.to_owned(), value.to_owned()));
        }
    };
    put("via", &record.via);
    if let Some(page) = page {
        put("charsetForLinkExtraction", page.charset);
        put("title", page.title.as_deref().unwrap_or_default());
        put("language", page.language.as_deref().unwrap_or_default());
    }
    put("tlsFault", fetched.tls_fault.as_deref().unwrap_or_default());
    // The header itself is in the record; this is the date as far as it can be believed (N15).
    let modified = answer
        .last_modified(record.time)
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    if let Some(modified) = modified {
        put("lastModified", &modified.to_string());
    }
    for remark in page.iter().flat_map(|page| &page.remarks) {
        put("remark", &remark.to_string());
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_asked_with_and_without_the_mark_of_packing() {
        let check = |etag, expected| assert_eq!(tags(etag), expected);
        check("\"1-gzip\"", "\"1-gzip\", \"1\"");
        check("W/\"1-br\"", "W/\"1-br\", W/\"1\"");
        check("\"gzip\"", "\"gzip\"");
        check("1-gzip", "1-gzip");
    }
}
