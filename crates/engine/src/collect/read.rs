//! Reads a response: redirect target, text, links, version, and the exchange that goes to the archive.

use aranha_fetch::{FetchResponse, Fetched};
use aranha_frontier::{Flags, Language, Outcome};
use aranha_page::{Input, PageRemark};
use aranha_volume::Exchange;

use super::FetchedPage;
use super::archive_record::{exchange, iso_639_3, metadata};
use super::not_modified::not_modified;
use super::robots_directives::robots_directives;
use super::version::version;
use crate::config::NoIndex;
use crate::links::{extract, redirect_target};
use crate::node::Context;
use crate::status::tally::add;
use crate::traps::novelty::Reading;

/// Maximum length, in characters, of the media type that is recorded for a response whose body was not wanted.
const MAX_UNWANTED_TYPE: usize = 100;

/// Completes `page` from its response. Returns the exchange for the archive, or `None` if the response is not stored.
/// `lease` is the lease of the visit, or `None` if the links are not followed.
pub(super) fn read(
    context: &Context,
    fetched: &Fetched,
    response: &FetchResponse,
    lease: Option<u64>,
    read_words: bool,
    page: &mut FetchedPage,
) -> Option<Exchange> {
    // A response from a proxy's cache may contain the cookies of another user. They must be ignored.
    let sets_cookies = response.headers.has("set-cookie") && !page.from_cache;
    page.set_cookies = sets_cookies.then(|| response.headers.clone());
    if matches!(response.status, 301 | 302 | 303 | 307 | 308) {
        match redirect_target(
            &context.policy,
            &page.task.url,
            page.task.page.hop,
            response,
        ) {
            Ok(target) => page.response.redirect = Some(target),
            Err(reason) => {
                page.response.outcome = Outcome::NoTarget;
                page.notes = reason;
            }
        }
    }
    if response.status == 304
        && let Some(past) = &page.task.page.past
    {
        let task = &page.task;
        return Some(not_modified(
            fetched,
            response,
            past,
            task,
            &mut page.response,
        ));
    }
    if response.truncated.is_some() && !response.unwanted {
        add(&context.counters().truncated, 1);
    }
    if response.unwanted {
        let media_type = response.headers.text("content-type").unwrap_or_default();
        page.response.media_type = media_type.chars().take(MAX_UNWANTED_TYPE).collect();
        return None;
    }
    read_body(context, fetched, response, lease, read_words, page)
}

fn read_body(
    context: &Context,
    fetched: &Fetched,
    response: &FetchResponse,
    lease: Option<u64>,
    read_words: bool,
    page: &mut FetchedPage,
) -> Option<Exchange> {
    let (task, summary) = (&page.task, &mut page.response);
    let options = &context.config().page;
    let mut content = aranha_page::read(
        &Input {
            url: task.url.as_str(),
            content_type: response.headers.text("content-type"),
            body: &response.body,
            content_language: response.headers.text("content-language"),
        },
        options,
    );
    for header in response.headers.texts("link") {
        content.add_link_header(header, options);
    }
    summary.media_type = content.media_type.to_string();
    summary.text_digest = content.text_digest;
    summary.language = content.language_found.map(|found| Language {
        code: found.code.to_owned(),
        confidence: found.confidence,
    });
    let modified = response.last_modified(summary.time);
    summary.version = version(response, modified, summary, &task.page);
    if response.status == 200 && !content.text.is_empty() {
        summary.reading = Some(if read_words {
            Reading::of_page(&content)
        } else {
            Reading::without_words(content.text_digest, content.sketch)
        });
    }
    if content.remarks.contains(&PageRemark::UnsupportedBrowser) {
        summary.flags = summary.flags.with(Flags::CLOAKED);
        add(&context.counters().unsupported_browser, 1);
    }
    let directives = robots_directives(&content, response, &context.config().crawl.product);
    if directives.noindex && context.config().crawl.noindex != NoIndex::Store {
        summary.flags = summary.flags.with(Flags::NOINDEX);
    }
    if directives.nofollow {
        summary.flags = summary.flags.with(Flags::NOFOLLOW);
    }
    add(&context.counters().links, content.links.len() as u64);
    let is_nofollow =
        directives.nofollow && !context.config().crawl.ignores_robots(task.url.host());
    if lease.is_some() && !is_nofollow && (200..300).contains(&response.status) {
        page.links = extract(context, lease, &content, &task.page, &task.url);
    }
    if !is_kept(context, page) {
        page.response.flags = page.response.flags.with(Flags::NOT_KEPT);
        add(&context.counters().not_kept, 1);
        return None;
    }
    let (task, summary) = (&page.task, &page.response);
    let metadata = metadata(&task.page, summary, Some(&content), modified, fetched);
    let media_type = &summary.media_type;
    let mut exchange = exchange(&task.url, fetched, response, media_type, metadata);
    exchange.language = iso_639_3(summary.language.as_ref());
    Some(exchange)
}

/// Whether a response is stored. Redirects are always stored, so that replay finds the pages to which they lead.
fn is_kept(context: &Context, page: &FetchedPage) -> bool {
    let (task, summary) = (&page.task, &page.response);
    if summary.redirect.is_some() {
        return true;
    }
    if summary.flags.has(Flags::NOINDEX) && context.config().crawl.noindex == NoIndex::Skip {
        return false;
    }
    context.policy.keep.as_ref().is_none_or(|keep| {
        let response = aranha_url::Response {
            media_type: &summary.media_type,
            size: summary.size,
            language: summary.language.as_ref().map_or("", |found| &found.code),
        };
        keep.matches_response(&task.url, task.page.depth, response)
    })
}
