//! The collector: fetches one page, reads it, and hands its bytes to the archive.
//!
//! ```text
//! FetchTask ─► request.rs ─► response.rs ─► read.rs ─► archive ─► Collected
//!              DNS, gates,    outcome,       text, links,
//!              HTTP           headers        version
//! ```
//!
//! A collector is a tokio task of its own, so that pages are read on all cores. It decides nothing: it returns a
//! [`FetchedPage`], and the visit calls `verdict` for the decision. A redirect is returned like a link, not followed
//! (N11).

mod archive_record;
mod not_modified;
mod proxy_cache;
mod read;
mod reader_threads;
mod request;
mod response;
mod robots_directives;
mod version;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{Failure, FetchResponse, FetchSession, Fetched, Headers, Resolved};
use aranha_frontier::{Hop, Pending};
use aranha_url::CanonUrl;
use aranha_volume::{Exchange, Receipt, VolumeError};
use tokio::time::Instant;

use self::version::conditional_headers;
use crate::courtesy::pause_after;
use crate::fault_injection::{self, FaultPoint};
use crate::links::PageLinks;
use crate::node::Context;
use crate::status::tally::add;
use crate::visit::activity::Activity;

pub(crate) use self::archive_record::exchange;
pub(crate) use self::reader_threads::{MAX_ABANDONED, ReaderFault, ReaderThreads, panic_message};
pub(crate) use self::request::{MAX_ROBOTS_SIZE, RequestKind, Unsent, request};
pub(crate) use self::response::PageResponse;
#[cfg(test)]
pub(crate) use self::version::Version;

/// One page to fetch.
pub(crate) struct FetchTask {
    /// The lease of the visit. The ids in the link cache are valid only for this lease.
    pub(crate) lease: u64,
    pub(crate) url: CanonUrl,
    pub(crate) page: Pending,
    pub(crate) cookie: Option<String>,
    /// Whether the links of the page are followed. They are not followed if its site is blocked or `thresholds.depth`
    /// is reached (D5).
    pub(crate) follow_links: bool,
    /// Whether the words of the page are read for the trap check.
    pub(crate) read_words: bool,
    /// The pause that the site's robots.txt asks for.
    pub(crate) crawl_delay: Duration,
    /// The activity of the visit.
    pub(crate) activity: Arc<Activity>,
}

/// The result of a [`FetchTask`].
pub(crate) enum Collected {
    /// The page was fetched, or the fetch failed: see [`PageResponse::outcome`].
    Fetched(Box<FetchedPage>),
    /// The cache of the proxy did not have the page. No request was sent to the page's own server.
    CacheMiss(Box<FinishedTask>),
    /// The crawl is stopping, because the archive could not store the page or because the proxy cannot be used. The
    /// page counts as not fetched.
    Unfinished(Box<FinishedTask>),
    /// The request could not be sent or has no usable result. See [`Unsent`].
    Unsent(Box<FinishedTask>, Unsent),
    /// The page was received but could not be read. `ended`: the end of the response.
    NotRead { fault: ReaderFault, ended: Instant },
}

/// A [`FetchTask`] whose last request has ended.
pub(crate) struct FinishedTask {
    pub(crate) session: FetchSession,
    pub(crate) page: Pending,
    pub(crate) url: CanonUrl,
    pub(crate) took: Duration,
    /// The end of the response, at which the courtesy pause starts.
    pub(crate) ended: Instant,
}

/// A page after its fetch.
pub(crate) struct FetchedPage {
    pub(crate) task: FinishedTask,
    pub(crate) response: PageResponse,
    pub(crate) links: PageLinks,
    /// The addresses of the host, if this fetch looked them up.
    pub(crate) resolved: Option<Resolved>,
    /// Whether the response comes from the cache of a proxy ([`proxy_cache`]).
    pub(crate) from_cache: bool,
    /// The headers of the response, if they set cookies.
    pub(crate) set_cookies: Option<Headers>,
    /// Resolves when the bytes are written to a volume.
    pub(crate) receipt: Option<Receipt>,
    /// Text for the field `notes` of the crawl log.
    pub(crate) notes: String,
}

/// Fetches and reads one page within a finite time (invariant 6). If this future is cancelled, the page stays pending.
///
/// A future of `collect` is allocated for every page, so it should be small. For this reason the futures of rare paths
/// are boxed, here and in the fetcher. The arguments are destructured outside the asynchronous block, because an `async
/// fn` would hold them twice.
pub(crate) fn collect(
    context: &Arc<Context>,
    mut session: FetchSession,
    task: FetchTask,
) -> impl Future<Output = Collected> {
    let FetchTask {
        lease,
        url,
        page,
        cookie,
        follow_links,
        read_words,
        crawl_delay,
        activity,
    } = task;
    async move {
        fault_injection::hang(FaultPoint::Fetch, url.as_str()).await;
        fault_injection::inject(FaultPoint::Fetch, url.as_str());
        let began = context.now();
        let started = Instant::now();
        let mut headers = conditional_headers(&page);
        let cache = proxy_cache::address(context, &page, &url);
        headers.extend(
            cookie
                .filter(|_| cache.is_none())
                .map(|cookie| ("Cookie", cookie)),
        );
        let mut sent = if let Some(cache) = cache {
            let headers = headers.clone();
            Ok(Box::pin(proxy_cache::request(
                context,
                &mut session,
                &url,
                headers,
                cache,
            ))
            .await)
        } else {
            let kind = RequestKind::Page;
            request(context, &activity, &mut session, &url, &headers, kind).await
        };
        let use_ranges = cache.is_none() && context.config().fetch.range_requests;
        if use_ranges && matches!(&sent, Ok((_, result)) if refuses_range(result)) {
            // Return this response's share of the memory budget before the second response needs a share.
            drop(sent);
            // The second request waits for the courtesy pause like any other (Castillo A.3.2).
            let crawl = &context.config().crawl;
            let took = started.elapsed();
            let pause = pause_after(crawl, url.host(), context.now(), crawl_delay, took);
            tokio::time::sleep(pause).await;
            let whole = RequestKind::WholePage;
            sent = Box::pin(request(
                context,
                &activity,
                &mut session,
                &url,
                &headers,
                whole,
            ))
            .await;
        }
        let task = FinishedTask {
            session,
            page,
            url,
            took: started.elapsed(),
            ended: Instant::now(),
        };
        let (resolved, result) = match sent {
            Ok(sent) => sent,
            Err(unsent) => return Collected::Unsent(Box::new(task), unsent),
        };
        if is_proxy_failure(&result) {
            return Collected::Unfinished(Box::new(task));
        }
        if cache.is_some() {
            if !proxy_cache::is_hit(&result) {
                return Collected::CacheMiss(Box::new(task));
            }
            add(&context.counters().proxy_hits, 1);
        }
        if let Some(error) = spool_error(context, &result) {
            context.control.archive_failed(&error);
            return Collected::Unfinished(Box::new(task));
        }
        let (response, notes) = PageResponse::of(&result, began);
        let mut page = Box::new(FetchedPage {
            task,
            response,
            links: PageLinks::default(),
            resolved,
            from_cache: cache.is_some(),
            set_cookies: None,
            receipt: None,
            notes,
        });
        let Ok(fetched) = result else {
            return Collected::Fetched(page);
        };
        page.task.took = fetched.timings.total;
        page.task.ended = fetched.finished;
        if fetched.result.is_err() {
            return Collected::Fetched(page);
        }
        let lease = follow_links.then_some(lease);
        Box::pin(read_and_store(
            context, &activity, fetched, lease, read_words, page,
        ))
        .await
    }
}

/// Reads the response, and hands its bytes to the archive.
async fn read_and_store(
    context: &Arc<Context>,
    activity: &Activity,
    fetched: Fetched,
    lease: Option<u64>,
    read_words: bool,
    page: Box<FetchedPage>,
) -> Collected {
    let ended = fetched.finished;
    // Reading has its own time limit.
    let wait = activity.wait();
    let read = read_page(context, fetched, lease, read_words, page).await;
    drop(wait);
    let (fetched, mut page, exchange) = match read {
        Ok(read) => read,
        Err(fault) => return Collected::NotRead { fault, ended },
    };
    if let Some(exchange) = exchange {
        // `fetched` must live until the archive has the bytes, because it holds the response's share of the memory
        // budget.
        match context.store(exchange).await {
            Ok(receipt) => page.receipt = Some(receipt),
            Err(error) => {
                context.control.archive_failed(&error);
                return Collected::Unfinished(Box::new(page.task));
            }
        }
    }
    drop(fetched);
    Collected::Fetched(page)
}

/// Reads the response within a time limit. If there is no body to read, the current thread does it.
async fn read_page(
    context: &Arc<Context>,
    fetched: Fetched,
    lease: Option<u64>,
    read_words: bool,
    mut page: Box<FetchedPage>,
) -> Result<(Fetched, Box<FetchedPage>, Option<Exchange>), ReaderFault> {
    let size = |response: &FetchResponse| {
        if response.unwanted {
            0
        } else {
            response.body.len()
        }
    };
    let size = fetched.result.as_ref().map_or(0, size);
    let total = context.config().fetch.total_timeout;
    let limit = reader_threads::reading_time(total, fetched.timings.total);
    let reader = Arc::clone(context);
    let read = move || {
        fault_injection::inject(FaultPoint::Read, page.task.url.as_str());
        let exchange = match &fetched.result {
            Ok(response) => read::read(&reader, &fetched, response, lease, read_words, &mut page),
            Err(_) => None,
        };
        (fetched, page, exchange)
    };
    if size > 0 {
        context.readers.run(size, limit, read).await
    } else {
        Ok(read())
    }
}

/// Makes the [`Pending`] for a request that does not come from the frontier: robots.txt or a probe.
pub(crate) fn auxiliary_page(url: &CanonUrl, hop: Hop) -> Pending {
    Pending {
        path: url.path().to_owned(),
        key: url.path_key(),
        depth: 0,
        site_depth: 0,
        tries: 0,
        hop,
        via: String::new(),
        past: None,
    }
}

/// The error of the disk, if such an error ended the fetch of a large response.
fn spool_error(context: &Context, result: &Result<Fetched, Failure>) -> Option<VolumeError> {
    let Ok(Fetched {
        result: Err(Failure::Disk { full, reason }),
        ..
    }) = result
    else {
        return None;
    };
    let kind = if *full {
        io::ErrorKind::StorageFull
    } else {
        io::ErrorKind::Other
    };
    let folder = context.network.web.options().spool_folder.clone();
    let error = io::Error::new(kind, reason.clone());
    Some(VolumeError::from_io(&folder.unwrap_or_default(), error))
}

/// Whether the proxy failed, so that nothing is known about the page.
pub(crate) fn is_proxy_failure(result: &Result<Fetched, Failure>) -> bool {
    let failure = match result {
        Ok(fetched) => fetched.result.as_ref().err(),
        Err(failure) => Some(failure),
    };
    failure.is_some_and(Failure::is_of_proxy)
}

fn refuses_range(result: &Result<Fetched, Failure>) -> bool {
    let response = result
        .as_ref()
        .ok()
        .and_then(|fetched| fetched.result.as_ref().ok());
    response.is_some_and(|response| response.status == 416)
}
