//! The records that pass between a visit and the Global Frontier.
//!
//! A link enters as [`Outside`] (or [`Seed`]), waits as [`Pending`], comes to a visit inside a [`Lease`] and returns
//! as a [`PageRecord`] inside a [`CheckIn`]. Times are unix milliseconds, given by the caller: the frontier has no
//! clock of its own, so that a simulation can run it (V 5; DESIGN, "Time and the network are parameters").
//!
//! Read first: [`Lease`], [`CheckIn`].

use std::net::IpAddr;

use aranha_url::{CanonUrl, PathKey, SiteKey};
use serde::{Deserialize, Serialize};

pub use aranha_volume::Location;

use crate::blocked::Blocked;
pub use crate::hop::Hop;
pub use crate::outcome::Outcome;
pub use crate::past::{Claim, Past};

/// A page that waits for its fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    /// Canonical path and query, as it will be asked.
    pub path: String,
    /// Its key.
    pub key: PathKey,
    /// Links from a seed.
    pub depth: u16,
    /// Links from where this site was entered.
    pub site_depth: u16,
    /// Fetches in a row that ended without a lasting answer: 0 for a page never asked.
    pub tries: u8,
    /// The kind of link that led here.
    pub hop: Hop,
    /// URL where it was found; may be empty.
    pub via: String,
    /// The last answer, when there was one: the page is visited again.
    pub past: Option<Box<Past>>,
}

/// A link to another site, on its way to that site's inbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The site's name, as [`CanonUrl::site`] spells it.
    pub site: String,
    /// `https://www.example.org`, as found: a new site is first asked under this name.
    pub origin: String,
    /// Canonical path and query.
    pub path: String,
    /// Key of `site`.
    pub site_key: SiteKey,
    /// Key of `path`.
    pub path_key: PathKey,
    /// Links from a seed.
    pub depth: u16,
    /// The kind of link that led here.
    pub hop: Hop,
    /// URL of the page that holds the link; may be empty.
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

/// A URL to start from: given by the user, by a DNS listing, or the home page of a previous crawl's site (F10).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seed {
    /// The site's name.
    pub site: String,
    /// Under which name the site is asked.
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

/// What [`crate::Frontier::seed`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seeded {
    /// Pages that were new.
    pub added: u64,
    /// Pages that the frontier knew before.
    pub known: u64,
}

/// Marks on a fetched page, one bit each; the bits are on disk and keep their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// The page asks not to be indexed.
    pub const NOINDEX: Flags = Flags(1);
    /// The page asks that its links are not followed.
    pub const NOFOLLOW: Flags = Flags(2);
    /// The body was cut at a limit.
    pub const TRUNCATED: Flags = Flags(4);
    /// The body's content coding could not be undone.
    pub const UNDECODED: Flags = Flags(8);
    /// The site was blocked when the page was fetched: its links were not followed.
    pub const BLOCKED: Flags = Flags(32);
    /// The answer is what the site says of pages that do not exist (T8).
    pub const SOFT_404: Flags = Flags(64);
    /// The page turns visitors away whose browser it does not like (T9).
    pub const CLOAKED: Flags = Flags(128);

    /// Whether every mark of `other` is set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of marks.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One fetch, or one refusal, of one page: an entry of the page's history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRecord {
    /// Canonical path and query.
    pub path: String,
    /// Its key.
    pub key: PathKey,
    /// Links from a seed.
    pub depth: u16,
    /// Links from where the site was entered.
    pub site_depth: u16,
    /// When the fetch began, or was refused.
    pub time: i64,
    /// How it ended.
    pub outcome: Outcome,
    /// Media type, without parameters; empty when unknown.
    pub media_type: String,
    /// Bytes of the body, decoded.
    pub size: u64,
    /// SHA-1 of the body.
    pub digest: Option<[u8; 20]>,
    /// Hash of the text; 0 when there is none.
    pub text_digest: u64,
    /// Where its bytes are in the archive.
    pub location: Option<Location>,
    /// Stored as a revisit record: the bytes are those of an earlier one.
    pub revisit: bool,
    /// How long the fetch took.
    pub duration_ms: u32,
    /// Fetches in a row without a lasting answer, this one included; 0 after a lasting answer. A page with `next`
    /// comes back as [`Pending`] with exactly this number.
    pub tries: u8,
    /// See [`Pending::hop`].
    pub hop: Hop,
    /// See [`Pending::via`].
    pub via: String,
    /// Where a redirect led.
    pub redirect: Option<String>,
    /// Marks.
    pub flags: Flags,
    /// When the page wants to be asked again: a retry, or a revisit. `None`: done.
    pub next: Option<i64>,
    /// What the next visit is to know. Kept with the page that waits, not in the history: a record that is read back
    /// has none.
    pub past: Option<Box<Past>>,
}

/// The robots.txt in force at a site.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RobotsFile {
    /// When it was fetched.
    pub fetched: i64,
    /// Status of the answer; 0: unreachable.
    pub status: u16,
    /// Where it was found, after redirects.
    pub url: String,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Addresses of a host, as long as DNS let them be believed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Addresses {
    /// The name that was looked up.
    pub host: String,
    /// What it led to.
    pub list: Vec<IpAddr>,
    /// Until when.
    pub expires: i64,
}

/// What the thresholds (D5) count, over all visits of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Pages fetched.
    pub fetched: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Fetches without an answer.
    pub errors: u64,
    /// Bodies that were known already.
    pub duplicates: u64,
    /// Visits in a row that ended because the site could not be had at all; any answer sets it back.
    pub outages: u32,
}

/// What a visit learns about its site and wants next time; postcard behind a version byte on disk.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SiteFacts {
    /// Preferred origin, `https://www.example.org`.
    pub origin: String,
    /// robots.txt, when it was asked for.
    pub robots: Option<RobotsFile>,
    /// Addresses, when they were looked up.
    pub addresses: Option<Addresses>,
    /// The site's cookies; opaque here.
    pub cookies: Vec<u8>,
    /// Counters for the thresholds.
    pub counters: Counters,
    /// Why the site is blocked, if it is.
    pub blocked: Option<Blocked>,
    /// Until when the server asked to be left alone: it holds for those, too, who want its pages now.
    pub retry_after: i64,
    /// The pause in force at the end of the last visit.
    pub pause_ms: u32,
    /// How much new content its pages still bring.
    pub novelty: Novelty,
    /// What the site says of a page that does not exist, once it was asked (T8).
    pub absent: Option<Absent>,
    /// What the revisit policy remembers of the site; opaque here.
    pub rounds: Vec<u8>,
    /// How far those are believed who say that pages of the site have changed; opaque here.
    pub trust: Vec<u8>,
}

/// What is known about the newness of a site's pages (D5, D7); the engine knows what to make of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Novelty {
    /// Pages since it last brought something, about.
    pub barren: u32,
    /// Pages that were first heard of on those.
    pub growth: u32,
    /// Pages that brought something.
    pub fruitful: u32,
    /// Pages with several links into the site.
    pub pages: u32,
    /// Of these, pages with a link to one that was known before.
    pub back: u32,
}

/// The answer to a request for a page that cannot exist.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Absent {
    /// Its status; 0: there was no answer.
    pub status: u16,
    /// Hash of its text; 0 when it has none.
    pub text_digest: u64,
    /// Sketch of its text, by which near duplicates are known; 0 when it is short.
    pub sketch: u64,
    /// Where it redirects to; empty when it does not.
    pub location: String,
}

/// A site, handed to one visit until it is checked in or the lease expires (invariant 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Number of the lease, never used again.
    pub id: u64,
    /// The site's name.
    pub site: String,
    /// Its key.
    pub site_key: SiteKey,
    /// What earlier visits learnt; for a new site only the origin is set.
    pub facts: SiteFacts,
    /// Whether a seed lies here.
    pub seed: bool,
    /// Since when it waited for this visit.
    pub due: i64,
    /// The window: the first pages to fetch, in order.
    pub pending: Vec<Pending>,
    /// Whether further pending pages are on disk.
    pub has_more: bool,
    /// Every page of this site ever admitted, those of the window included; in no order.
    pub known: Vec<PathKey>,
    /// When the frontier may give the site to another visit; every check-in moves it on.
    pub expires: i64,
}

/// One atomic batch for one lease.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckIn {
    /// Which lease.
    pub lease: u64,
    /// Pages fetched or refused since the last check-in.
    pub done: Vec<PageRecord>,
    /// How the window changes: from now on it is the visit's remaining queue, including pages being fetched. The visit
    /// keeps it within [`crate::Options::window`] pages. Pages in `done` with a `next` time are scheduled by the
    /// frontier and must not be in the window.
    pub window: WindowUpdate,
    /// Pages of the window that are put off, each until a time; nothing is recorded about them.
    pub later: Vec<(i64, Pending)>,
    /// What the site itself says has changed.
    pub claims: Vec<Claim>,
    /// New pages of this site that did not fit the visit's queue: appended behind everything pending on disk.
    pub overflow: Vec<Pending>,
    /// Keys of pages first seen since the last check-in: new ones in `window`, in `overflow`, or already in `done`.
    pub keys: Vec<PathKey>,
    /// Links to other sites.
    pub outside: Vec<Outside>,
    /// The site's facts, when they changed.
    pub facts: Option<SiteFacts>,
    /// What becomes of the lease.
    pub then: Then,
}

/// Change of a site's window at a check-in. Pages returned in [`CheckedIn::more`] are appended to the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WindowUpdate {
    /// The window is exactly these pages, in this order.
    Replace(Vec<Pending>),
    /// The window keeps its last pages and gains new ones. The window before the update is the one of the lease, or of
    /// the last check-in followed by the pages that its reply brought.
    Tail {
        /// How many of the last pages stay, unchanged. A number larger than the window is an error.
        keep_last: usize,
        /// Pages to append behind them.
        append: Vec<Pending>,
    },
}

impl Default for WindowUpdate {
    fn default() -> WindowUpdate {
        WindowUpdate::Replace(Vec::new())
    }
}

impl WindowUpdate {
    /// How many of the last pages to keep, and the pages to append.
    pub fn into_parts(self) -> (usize, Vec<Pending>) {
        match self {
            WindowUpdate::Replace(pages) => (0, pages),
            WindowUpdate::Tail { keep_last, append } => (keep_last, append),
        }
    }
}

/// What becomes of a lease after a check-in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// The visit goes on.
    Keep {
        /// How many more pending pages it can take from disk.
        want: usize,
    },
    /// The visit is over.
    Release {
        /// The site is not handed out before this time (courtesy, back-off).
        due: i64,
    },
    /// The visit is over and the site is blocked, as by [`crate::Frontier::block`]. Its pages wait until it is unblocked.
    Block,
}

/// The frontier's answer to one [`CheckIn`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckedIn {
    /// Further pages for the visit's queue: in the frontier's eyes they are held by the visit from now on.
    pub more: Vec<Pending>,
    /// Whether there is still more on disk.
    pub has_more: bool,
    /// When the lease expires now.
    pub expires: i64,
    /// The lease is over: it was released, or the site was blocked meanwhile and the visit must end.
    pub released: bool,
}
