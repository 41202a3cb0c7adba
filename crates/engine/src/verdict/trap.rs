//! Evidence from one page that its site is a trap or is not, and the thresholds of a site (D5 to D8).
//!
//! `traps/novelty.rs` collects the evidence of all pages, and decides whether the site is a trap. `visit/trap_check.rs`
//! calls that decision, and blocks the site.

use std::fmt;

use aranha_frontier::{Counters, Outcome, Pending};

use crate::collect::PageResponse;
use crate::config::Thresholds;
use crate::traps::novelty::{Reading, Trap};

/// Why a site is blocked as a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrapReason {
    /// The number of fetched pages has reached the threshold `urls`.
    Pages(u64),
    /// The number of known pages has reached the threshold `urls`.
    Urls(u64),
    /// The threshold `duplicates` is reached.
    Duplicates(u64),
    /// The check that `trap_pages` configures has found a trap.
    Endless(Trap),
}

impl fmt::Display for TrapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(limit) => write!(f, "{limit} pages fetched from this site"),
            Self::Urls(limit) => write!(f, "{limit} URLs of this site are known"),
            Self::Duplicates(limit) => write!(f, "{limit} pages with a text already seen"),
            Self::Endless(trap) => trap.fmt(f),
        }
    }
}

/// The reason to block the site, if the number of its fetched pages has reached the threshold `urls`,
/// provided that `thresholds.block` is set.
pub(crate) fn page_threshold(counters: &Counters, thresholds: &Thresholds) -> Option<TrapReason> {
    let limit = thresholds.urls.filter(|_| thresholds.block)?;
    (counters.fetched >= limit).then_some(TrapReason::Pages(limit))
}

/// Why the links of a site with `known` pages are not followed: it has reached a threshold. `None` with
/// `thresholds.block`, because the site is then blocked instead.
pub(crate) fn link_threshold(
    known: usize,
    counters: &Counters,
    thresholds: &Thresholds,
) -> Option<TrapReason> {
    if thresholds.block {
        return None;
    }
    let urls = thresholds.urls.filter(|limit| known as u64 >= *limit);
    urls.map(TrapReason::Urls)
        .or_else(|| duplicate_threshold(counters, thresholds))
}

/// The threshold `duplicates`, if the number of duplicates has reached it.
pub(crate) fn duplicate_threshold(
    counters: &Counters,
    thresholds: &Thresholds,
) -> Option<TrapReason> {
    let limit = thresholds.duplicates?;
    (counters.duplicates >= limit).then_some(TrapReason::Duplicates(limit))
}

/// The evidence that the first fetch of a page gives about its site.
#[derive(Debug)]
pub(crate) enum TrapObservation<'a> {
    /// The page has a text, which may be new or known.
    Text(&'a Reading),
    /// The page is an image or a document without readable text and without links. This counts in favour of the site,
    /// because endless sites consist of pages with links.
    EndOfPath,
    /// The page has no text but leads to new pages. It is a redirect after a redirect, or a list of links. Endless
    /// chains consist of such pages.
    Chain { new_pages: u32 },
    /// No evidence.
    Nothing,
}

/// Classifies a page. `links`: number of its links to pages of the site. `new`: how many of these links lead to new
/// pages.
pub(crate) fn observe<'a>(
    page: &Pending,
    response: &'a PageResponse,
    (links, new): (u32, u32),
) -> TrapObservation<'a> {
    let is_chain = response.redirect.is_some() && page.hop.is_redirect();
    match &response.reading {
        Some(reading) => TrapObservation::Text(reading),
        None if response.outcome == Outcome::Answer(200) && links == 0 && response.size > 0 => {
            TrapObservation::EndOfPath
        }
        None if is_chain => TrapObservation::Chain { new_pages: 1 },
        None if new > 0 => TrapObservation::Chain { new_pages: new },
        None => TrapObservation::Nothing,
    }
}
