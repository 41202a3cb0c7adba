//! Read-only access to a frontier for the commands that only read, also while nodes write to the frontier.
//!
//! [`FrontierReader`] is the interface that every storage engine implements; [`View`] is an open reader of any engine.

use aranha_url::CanonUrl;

use crate::shared::SharedReader;
use crate::{
    Explanation, FolderEntry, FrontierError, FrontierStatus, NodeEntry, Outcome, PageRecord,
    Pending, ProblemSite, SharedText, SiteEntry, SiteFacts, SiteSettings,
};

/// Selects the page records of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFilter<'a> {
    /// If set, only records of the site with this name.
    pub site: Option<&'a str>,
    /// If set, only records with this outcome.
    pub outcome: Option<Outcome>,
    /// Whether to list all records of a page instead of only the latest.
    pub all: bool,
}

/// A page record with its site.
#[derive(Clone, Copy, Debug)]
pub struct PageEntry<'a> {
    /// Name of the site.
    pub site: &'a str,
    /// Preferred origin of the site.
    pub origin: &'a str,
    /// The record.
    pub record: &'a PageRecord,
}

impl PageEntry<'_> {
    /// The URL of the page, with the preferred origin of its site.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.record.path)
    }
}

/// A page that waits to be fetched.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPage<'a> {
    /// Preferred origin of the site.
    pub origin: &'a str,
    /// The page.
    pub page: &'a Pending,
    /// The time of the retry, if the page waits for one.
    pub due: Option<i64>,
}

impl QueuedPage<'_> {
    /// The URL of the page, with the preferred origin of its site.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.page.path)
    }
}

/// Read-only access to a frontier. Readers never block the nodes. A long listing is not one snapshot: each batch of sites
/// shows the state at the time when it is read.
pub trait FrontierReader {
    /// The process on this machine that had the collection open for writing when this reader was opened; 0 if its id is
    /// unknown. `None` if there was no such process. In a frontier of one machine, all leases are then left over from a
    /// process that was killed, and their sites count as waiting.
    fn writer(&self) -> Option<u32>;

    /// The totals of the crawl.
    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError>;

    /// Everything known about each of these URLs. The pages of a site are read once, however many of the URLs are on it.
    fn explain_all(&self, urls: &[CanonUrl]) -> Result<Vec<Explanation>, FrontierError>;

    /// Sites whose last visit was ended by a fault of the crawler, the latest fault first.
    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError>;

    /// All seeds, in the order in which they were added.
    fn seeds(&self) -> Result<Vec<String>, FrontierError>;

    /// All sites with settings, in order of key.
    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError>;

    /// Call `visit` for every site, in order of key, until it returns false.
    fn each_site(&self, visit: &mut dyn FnMut(SiteEntry) -> bool) -> Result<(), FrontierError>;

    /// Call `visit` for every site with its facts, in order of key, until it returns false.
    fn each_site_with_facts(
        &self,
        visit: &mut dyn FnMut(SiteEntry, SiteFacts) -> bool,
    ) -> Result<(), FrontierError>;

    /// The site with this name, if it is known.
    fn site(&self, name: &str) -> Result<Option<SiteEntry>, FrontierError>;

    /// Call `visit` for every page that waits to be fetched or retried, site by site, until it returns false. If `site`
    /// is set, only for pages of the site with this name. Links in inboxes are not included.
    fn each_queued(
        &self,
        site: Option<&str>,
        visit: &mut dyn FnMut(QueuedPage<'_>) -> bool,
    ) -> Result<(), FrontierError>;

    /// Call `visit` for every selected record, site by site, the newest record first, until it returns false. Memory
    /// use is bounded by one batch of sites and the keys of one site.
    fn each_page(
        &self,
        filter: &PageFilter<'_>,
        visit: &mut dyn FnMut(PageEntry<'_>) -> bool,
    ) -> Result<(), FrontierError>;
}

/// An open reader of any engine. The methods are described at [`FrontierReader`].
pub struct View {
    reader: Box<dyn FrontierReader>,
    /// `None` for a frontier of one machine.
    shared: Option<Box<dyn SharedReader>>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl View {
    /// A view of this reader.
    pub fn of(reader: impl FrontierReader + 'static) -> View {
        View {
            reader: Box::new(reader),
            shared: None,
        }
    }

    /// A view of this reader, and of what the nodes of its crawl share.
    pub(crate) fn of_shared(
        reader: impl FrontierReader + 'static,
        shared: impl SharedReader + 'static,
    ) -> View {
        View {
            reader: Box::new(reader),
            shared: Some(Box::new(shared)),
        }
    }

    /// Whether several nodes can share this frontier.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The nodes of the crawl: all live nodes, and the last node of each folder. Empty for a frontier of one machine.
    pub fn nodes(&self) -> Result<Vec<NodeEntry>, FrontierError> {
        self.shared
            .as_ref()
            .map_or(Ok(Vec::new()), |shared| shared.nodes())
    }

    /// The folders in which the nodes of the crawl store volumes. Empty for a frontier of one machine.
    pub fn folders(&self) -> Result<Vec<FolderEntry>, FrontierError> {
        self.shared
            .as_ref()
            .map_or(Ok(Vec::new()), |shared| shared.folders())
    }

    /// The text with this name that all nodes share ([`crate::shared`]).
    pub fn text(&self, name: &str) -> Result<Option<SharedText>, FrontierError> {
        self.shared
            .as_ref()
            .map_or(Ok(None), |shared| shared.text(name))
    }

    /// See [`FrontierReader::writer`].
    pub fn writer(&self) -> Option<u32> {
        self.reader.writer()
    }

    /// See [`FrontierReader::status`].
    pub fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        self.reader.status(now)
    }

    /// Everything known about one URL.
    pub fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        let found = self.explain_all(std::slice::from_ref(url))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// See [`FrontierReader::explain_all`].
    pub fn explain_all(&self, urls: &[CanonUrl]) -> Result<Vec<Explanation>, FrontierError> {
        self.reader.explain_all(urls)
    }

    /// See [`FrontierReader::problem_sites`].
    pub fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.reader.problem_sites()
    }

    /// See [`FrontierReader::seeds`].
    pub fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.reader.seeds()
    }

    /// See [`FrontierReader::seed_settings`].
    pub fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        self.reader.seed_settings()
    }

    /// See [`FrontierReader::each_site`].
    pub fn sites(&self, mut visit: impl FnMut(SiteEntry) -> bool) -> Result<(), FrontierError> {
        self.reader.each_site(&mut visit)
    }

    /// See [`FrontierReader::each_site_with_facts`].
    pub fn sites_with_facts(
        &self,
        mut visit: impl FnMut(SiteEntry, SiteFacts) -> bool,
    ) -> Result<(), FrontierError> {
        self.reader.each_site_with_facts(&mut visit)
    }

    /// See [`FrontierReader::site`].
    pub fn site(&self, name: &str) -> Result<Option<SiteEntry>, FrontierError> {
        self.reader.site(name)
    }

    /// See [`FrontierReader::each_queued`].
    pub fn queued(
        &self,
        site: Option<&str>,
        mut visit: impl FnMut(QueuedPage<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.reader.each_queued(site, &mut visit)
    }

    /// See [`FrontierReader::each_page`].
    pub fn pages(
        &self,
        filter: &PageFilter<'_>,
        mut visit: impl FnMut(PageEntry<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.reader.each_page(filter, &mut visit)
    }
}
