//! The records that pass between a visit and the Global Frontier.
//!
//! A link enters as [`Outside`] or [`Seed`] and waits as [`Pending`]. A [`Lease`] brings it to a visit, and it returns
//! as a [`PageRecord`] in a [`CheckIn`] (Viuva Negra 5). Times are Unix milliseconds and are given by the caller. The
//! frontier has no clock, so that it also works in simulated time.
//!
//! Read first: [`Lease`], [`CheckIn`].

use std::net::IpAddr;

use aranha_url::{CanonUrl, PathKey, SiteKey};
use serde::{Deserialize, Serialize};

pub use aranha_volume::Location;

use crate::blocked::Blocked;
use crate::gate::LeaseGate;
pub use crate::hop::Hop;
pub use crate::language::Language;
pub use crate::outcome::Outcome;
pub use crate::past::{Claim, Past};

/// A page that waits to be fetched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// Canonical path and query, as sent in the request.
    pub path: String,
    /// Key of `path`.
    pub key: PathKey,
    /// Number of links on the way from a seed to the page.
    pub depth: u16,
    /// Number of links on the way to the page from the page at which the site was entered.
    pub site_depth: u16,
    /// Number of failed fetches in a row; 0 after a success, and for a page that was never requested.
    pub tries: u8,
    /// The kind of link that led to the page.
    pub hop: Hop,
    /// URL of the page on which the link was found; may be empty.
    pub via: String,
    /// Data about the last response, if the page was fetched before.
    pub past: Option<Box<Past>>,
}

/// A link to another site, for that site's inbox.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outside {
    /// Name of the site, as in [`CanonUrl::site`].
    pub site: String,
    /// Origin as written in the link, such as `https://www.example.org`. The first request to a new site uses it.
    pub origin: String,
    /// Canonical path and query.
    pub path: String,
    /// Key of `site`.
    pub site_key: SiteKey,
    /// Key of `path`.
    pub path_key: PathKey,
    /// Number of links on the way from a seed to the page.
    pub depth: u16,
    /// The kind of link that led to the page.
    pub hop: Hop,
    /// URL of the page on which the link was found; may be empty.
    pub via: String,
}

impl Outside {
    /// A link to `url`, found on `via`.
    pub fn of(url: &CanonUrl, depth: u16, hop: Hop, via: &str) -> Outside {
        Outside {
            site: url.site().to_owned(),
            origin: url.origin().to_owned(),
            path: url.path().to_owned(),
            site_key: url.site_key(),
            path_key: url.path_key(),
            depth,
            hop,
            via: via.to_owned(),
        }
    }
}

/// A URL at which a crawl begins (F10). It is given by the user, comes from a DNS zone, or is the home page of a site
/// of an earlier crawl.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seed {
    /// Name of the site.
    pub site: String,
    /// Origin for the first request, such as `https://www.example.org`.
    pub origin: String,
    /// Canonical path and query.
    pub path: String,
    /// Key of `site`.
    pub site_key: SiteKey,
    /// Key of `path`.
    pub path_key: PathKey,
}

impl Seed {
    /// A seed at `url`.
    pub fn of(url: &CanonUrl) -> Seed {
        Seed {
            site: url.site().to_owned(),
            origin: url.origin().to_owned(),
            path: url.path().to_owned(),
            site_key: url.site_key(),
            path_key: url.path_key(),
        }
    }
}

/// Result of [`crate::Frontier::seed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seeded {
    /// Number of seeds whose page is new.
    pub added: u64,
    /// Number of seeds whose page was known before.
    pub known: u64,
}

/// Flags of a fetched page, one bit each. The bits are part of the stored format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// The page has the robots directive `noindex`.
    pub const NOINDEX: Flags = Flags(1);
    /// The page has the robots directive `nofollow`.
    pub const NOFOLLOW: Flags = Flags(2);
    /// The body was truncated at a limit.
    pub const TRUNCATED: Flags = Flags(4);
    /// The content coding of the body could not be decoded.
    pub const UNDECODED: Flags = Flags(8);
    /// The site was blocked when the page was fetched, so its links were not followed.
    pub const BLOCKED: Flags = Flags(32);
    /// The page is a soft 404: the site answers in the same way for pages that do not exist (T8).
    pub const SOFT_404: Flags = Flags(64);
    /// The page says that it does not support the browser, so its content was withheld from the crawler (T9).
    pub const CLOAKED: Flags = Flags(128);
    /// The response was read but not stored, because of a rule of the user.
    pub const NOT_KEPT: Flags = Flags(256);
    /// The text of the page equals the text of another page of its site. Links that both pages have were not followed
    /// (D2).
    pub const COPY: Flags = Flags(512);

    /// Whether all flags of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags that are set in `self` or in `other`.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One fetch of a page, or the refusal to fetch it: an entry of the page's history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PageRecord {
    /// Canonical path and query.
    pub path: String,
    /// Key of `path`.
    pub key: PathKey,
    /// Number of links on the way from a seed to the page.
    pub depth: u16,
    /// Number of links on the way to the page from the page at which the site was entered.
    pub site_depth: u16,
    /// Start of the fetch, or time of the refusal.
    pub time: i64,
    /// The result.
    pub outcome: Outcome,
    /// Media type without parameters; empty if unknown.
    pub media_type: String,
    /// Length of the decoded body in bytes.
    pub size: u64,
    /// SHA-1 of the body.
    pub digest: Option<[u8; 20]>,
    /// Hash of the text; 0 if there is none.
    pub text_digest: u64,
    /// The language of the text, if it was identified.
    pub language: Option<Language>,
    /// The location of the response in the archive, if it is stored.
    pub location: Option<Location>,
    /// Whether the response is stored as a revisit record, which refers to the payload of an earlier record.
    pub revisit: bool,
    /// Duration of the fetch in milliseconds.
    pub duration_ms: u32,
    /// Number of failed fetches in a row, including this one; 0 if it succeeded. Copied to [`Pending::tries`] for the
    /// next fetch.
    pub tries: u8,
    /// See [`Pending::hop`].
    pub hop: Hop,
    /// See [`Pending::via`].
    pub via: String,
    /// Target of a redirect.
    pub redirect: Option<String>,
    /// Flags.
    pub flags: Flags,
    /// Time of the next fetch, a retry or a revisit; `None` for no further fetch.
    pub next: Option<i64>,
    /// Data for the next visit. It is stored with the waiting page, not in the history, so it is `None` in a record
    /// that is read from the store.
    pub past: Option<Box<Past>>,
}

/// The robots.txt file of a site.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RobotsFile {
    /// Time of the fetch.
    pub fetched: i64,
    /// HTTP status; 0 if the file could not be fetched.
    pub status: u16,
    /// URL after redirects.
    pub url: String,
    /// The bytes of the file.
    pub body: Vec<u8>,
}

/// IP addresses of a host, with the expiry of the DNS records.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Addresses {
    /// The resolved name.
    pub host: String,
    /// The addresses.
    pub list: Vec<IpAddr>,
    /// Time after which the name must be resolved again.
    pub expires: i64,
}

/// Counters of a site over all its visits, for the thresholds (D5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Pages fetched.
    pub fetched: u64,
    /// Total length of the bodies of these pages, in bytes.
    pub bytes: u64,
    /// Fetches without a response.
    pub errors: u64,
    /// Pages with the same text as another page of the site.
    pub duplicates: u64,
    /// Visits in a row in which the site could not be reached; reset by any response.
    pub outages: u32,
}

/// Data about a site that a visit stores for the next visit. The stored form is a version byte, followed by the
/// postcard encoding of this struct.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SiteFacts {
    /// Preferred origin, such as `https://www.example.org`.
    pub origin: String,
    /// robots.txt, if it was requested.
    pub robots: Option<RobotsFile>,
    /// IP addresses, if they were resolved.
    pub addresses: Option<Addresses>,
    /// Cookies of the site. The frontier does not interpret them.
    pub cookies: Vec<u8>,
    /// Counters for the thresholds.
    pub counters: Counters,
    /// The block on the site, if any.
    pub blocked: Option<Blocked>,
    /// Time before which the server wants no requests (Retry-After). A visit waits until then, even if pages of the
    /// site are due.
    pub retry_after: i64,
    /// Courtesy pause at the end of the last visit, in milliseconds.
    pub pause_ms: u32,
    /// Counters of the new content in the site's pages.
    pub novelty: NoveltyCounters,
    /// Response to the probe for a page that cannot exist (T8); `None` until the probe is sent.
    pub absent: Option<Absent>,
    /// State of the revisit policy for the site. The frontier does not interpret it.
    pub rounds: Vec<u8>,
    /// Trust in the sources of change signals for the site. The frontier does not interpret it.
    pub trust: Vec<u8>,
    /// The other domains that link to the site. The hash of each domain selects a bit, so for few domains the number of
    /// set bits is about the number of domains. A link that is dropped because the same link was sent recently does not
    /// count.
    pub sources: u64,
}

/// Counters of new content in a site's pages, for the detection of traps in the engine (D5, D7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NoveltyCounters {
    /// Approximate number of pages fetched since the last page with new content.
    pub barren: u32,
    /// Number of new links on the pages that `barren` counts.
    pub growth: u32,
    /// Number of pages with new content.
    pub fruitful: u32,
    /// Number of pages with several links to pages of the site.
    pub pages: u32,
    /// Number of pages among [`NoveltyCounters::pages`] with a link to a page that was already known.
    pub back: u32,
}

/// Response to the probe for a page that cannot exist.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Absent {
    /// HTTP status; 0 for no response.
    pub status: u16,
    /// Hash of the text; 0 if there is none.
    pub text_digest: u64,
    /// Sketch of the text for the near-duplicate test; 0 if the text is too short.
    pub sketch: u64,
    /// Target of the redirect; empty if the response is not a redirect.
    pub location: String,
}

/// The right to visit a site until the lease is released or expires, together with the data of the site. A site has at
/// most one lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Number of the lease; never reused.
    pub id: u64,
    /// Number of the node that holds the lease ([`crate::Term::node`]); 0 for a frontier of one machine.
    pub node: u64,
    /// Name of the site.
    pub site: String,
    /// Key of `site`.
    pub site_key: SiteKey,
    /// Data from earlier visits; for a new site, only the origin is set.
    pub facts: SiteFacts,
    /// Whether a seed is on this site.
    pub seed: bool,
    /// When the site became due.
    pub due: i64,
    /// The window: the first pages to fetch, in order.
    pub pending: Vec<Pending>,
    /// Whether more pages wait on disk.
    pub has_more: bool,
    /// Keys of all admitted pages of the site, including the window; unordered.
    pub known: Vec<PathKey>,
    /// Expiry; every check-in extends it.
    pub expires: i64,
    /// The gate of the address at which the site was last visited, if it was claimed with the lease.
    pub gate: Option<LeaseGate>,
}

/// The results of a visit since its last check-in, stored in one transaction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckIn {
    /// Number of the lease.
    pub lease: u64,
    /// Pages fetched or refused.
    pub done: Vec<PageRecord>,
    /// Update of the window. After the update the window is the visit's remaining queue, including pages that are being
    /// fetched. The visit limits it to [`crate::Options::window`] pages for each concurrent request. Pages in `done`
    /// with a `next` time are scheduled by the frontier and must not be in the window.
    pub window: WindowUpdate,
    /// Pages of the window that are postponed without a page record, each with its new due time.
    pub later: Vec<(i64, Pending)>,
    /// Claims of the site about its own pages, from sitemaps and feeds.
    pub claims: Vec<Claim>,
    /// New pages of the site for which the window has no room. They are appended to the queue on disk.
    pub overflow: Vec<Pending>,
    /// Keys of all pages in `window`, `overflow` and `done` that are new since the last check-in.
    pub keys: Vec<PathKey>,
    /// Links to other sites.
    pub outside: Vec<Outside>,
    /// Facts of the site, if they changed.
    pub facts: Option<SiteFacts>,
    /// Whether the lease is kept or released after the check-in.
    pub then: Then,
}

/// Change of a site's window at a check-in. After the change, the frontier appends the pages that it returns in
/// [`CheckedIn::more`] to the window.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WindowUpdate {
    /// The window is exactly these pages, in this order.
    Replace(Vec<Pending>),
    /// The last `keep_last` pages of the current window stay, and `append` follows them. At the first check-in of a
    /// visit, the current window is [`Lease::pending`]. Later it is the window after the last check-in, including the
    /// pages that the reply returned.
    Tail {
        /// Number of pages at the end of the window that stay unchanged. A number larger than the window is an error.
        keep_last: usize,
        /// Pages to append.
        append: Vec<Pending>,
    },
}

impl Default for WindowUpdate {
    fn default() -> WindowUpdate {
        WindowUpdate::Replace(Vec::new())
    }
}

impl WindowUpdate {
    /// The number of pages to keep at the end of the window, and the pages to append.
    pub fn into_parts(self) -> (usize, Vec<Pending>) {
        match self {
            WindowUpdate::Replace(pages) => (0, pages),
            WindowUpdate::Tail { keep_last, append } => (keep_last, append),
        }
    }
}

/// Whether a lease is kept or released after a check-in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Then {
    /// The visit continues.
    Keep {
        /// Maximum number of pages to return from disk.
        want: usize,
    },
    /// The visit is over.
    Release {
        /// Earliest time of the next lease (courtesy pause, back-off).
        due: i64,
    },
    /// The visit is over and the site is blocked, as by [`crate::Frontier::block`].
    Block,
}

/// The reply to a [`CheckIn`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckedIn {
    /// Pages from disk, appended to the window.
    pub more: Vec<Pending>,
    /// Whether more pages wait on disk.
    pub has_more: bool,
    /// New expiry of the lease.
    pub expires: i64,
    /// Whether the lease was released, either by the visit or because the site was blocked. If so, the visit must end.
    pub released: bool,
}

/// A position in the page records of all sites, for [`crate::Frontier::read_records`]. The default is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordCursor {
    /// The site of the last batch; `None` at the beginning.
    pub(crate) site: Option<i64>,
    /// The next block of records of that site; 0 if there is none.
    pub(crate) block: i64,
}

/// Page records of one site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordBatch {
    /// Key of the site.
    pub site: SiteKey,
    /// Preferred origin of the site.
    pub origin: String,
    /// Whether the site is blocked.
    pub blocked: bool,
    /// The records, the newest first.
    pub records: Vec<PageRecord>,
}

/// The pages that the stored pages of a site lead to under the current rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rediscovered {
    /// Pages of the site to which its pages link. Known pages are skipped.
    pub linked: Vec<Pending>,
    /// Known pages that were refused and are wanted now. Pages that are queued already are skipped.
    pub wanted_again: Vec<Pending>,
    /// Links to other sites.
    pub outside: Vec<Outside>,
    /// Maximum number of known pages of the site. Further pages in `linked` are dropped.
    pub max_known: Option<u64>,
}

/// An order of the user to visit every page now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VisitOrder {
    /// Source of the claim that each page with a past gets, unless the page has a claim already.
    pub source: u8,
    /// Remove entity tags and dates of change, so that the requests are unconditional.
    pub unconditional: bool,
    /// Continue an earlier order if it has the same value of `unconditional` and began at most this many milliseconds
    /// ago.
    pub max_age: i64,
}
