//! The totals of a collection: sites and pages by state, fetches by outcome.

use aranha_frontier::{FrontierStatus, Outcome, PageTotals, SiteTotals};
use aranha_units::calendar;
use serde::{Serialize, Serializer};

/// Totals of a collection over all its crawls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Sites by state.
    pub sites: SiteTotals,
    /// Pages by state.
    pub pages: PageTotals,
    /// Seeds.
    pub seeds: u64,
    /// Fetches of all pages, including repeated fetches.
    pub fetches: u64,
    /// Fetches by outcome.
    #[serde(serialize_with = "by_name")]
    pub outcomes: Vec<(Outcome, u64)>,
    /// Bytes of all fetched bodies, after decoding.
    pub bytes: u64,
    /// Links found to other sites.
    pub external_links: u64,
    /// Bytes of the frontier on disk.
    pub frontier_bytes: u64,
    /// When the next site can be checked out, in unix milliseconds. For a site that is being visited, this is the end
    /// of its lease.
    #[serde(serialize_with = "as_timestamp")]
    pub next_due: Option<i64>,
    /// When the next revisit is due, in unix milliseconds. Only sites without other pages to fetch are considered.
    #[serde(serialize_with = "as_timestamp")]
    pub next_revisit: Option<i64>,
}

impl From<FrontierStatus> for Status {
    fn from(status: FrontierStatus) -> Self {
        Self {
            sites: status.sites,
            pages: status.pages,
            seeds: status.seeds,
            fetches: status.records,
            outcomes: status.outcomes,
            bytes: status.bytes,
            external_links: status.links,
            frontier_bytes: status.disk,
            next_due: status.next_due,
            next_revisit: status.next_revisit,
        }
    }
}

fn by_name<S: Serializer>(outcomes: &[(Outcome, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        outcomes
            .iter()
            .map(|(outcome, count)| (outcome.to_string(), count)),
    )
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn as_timestamp<S: Serializer>(time: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(calendar::rfc3339).serialize(serializer)
}
