//! The truth: the URLs that a correct crawler must find. They are computed without a crawl.
//!
//! The computation is a breadth-first search over the outlines of the pages (`outline.rs`). It uses neither sockets nor
//! HTML. Links are resolved by `aranha-url` with its default rules. The meaning of each robots.txt file is stated in
//! `robots.rs`. A comparison with a crawl therefore tests the crawler's page reader, its robots.txt parser, its
//! courtesy and its frontier.
//!
//! **Form.** URLs are folded: canonical by the default rules, and without `www.`, such as
//! `http://site000.lab:PORT/a?b`. The URLs of twins become one folded URL. Its status is the status under the preferred
//! name. So the truth has no redirects from one twin to the other.
//!
//! **Content.** The truth has every URL that is answered, including redirects, missing pages (404) and linked files. It
//! does not have robots.txt files, names without an address, and hazards. It has images and style sheets only if
//! [`Crawler::assets`] is set.

use std::collections::{BTreeMap, HashSet, VecDeque};

use aranha_url::{Base, CanonUrl, Canonicaliser, UrlRules};

use crate::outline::outline;
use crate::resource::Resource;
use crate::robots;
use crate::site::Site;
use crate::web::{Host, Web};

/// The rules that a crawler follows. The default values are the rules of aranha.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crawler {
    /// Product token of the crawler, by which robots.txt groups are selected.
    pub agent: String,
    /// Whether robots.txt is obeyed.
    pub robots: bool,
    /// Whether the robots meta tag `nofollow` is obeyed.
    pub meta_nofollow: bool,
    /// Whether `rel=nofollow` is obeyed.
    pub rel_nofollow: bool,
    /// Whether images and style sheets are fetched.
    pub assets: bool,
    /// Whether sites other than those of the seeds are visited.
    pub outside: bool,
}

impl Default for Crawler {
    fn default() -> Self {
        Crawler {
            agent: "aranha".to_owned(),
            robots: true,
            meta_nofollow: true,
            rel_nofollow: true,
            assets: false,
            outside: true,
        }
    }
}

/// The expected response for one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Status of the response under the preferred name of the site.
    pub status: u16,
    /// Whether the response is an HTML page with status 200.
    pub html: bool,
    /// Minimum number of links and redirects from a seed.
    pub depth: u16,
}

/// The URL in folded form. Text that is not a URL is returned unchanged.
pub(crate) fn fold(canonicaliser: &Canonicaliser, url: &str) -> String {
    match canonicaliser.canon(url) {
        Ok(url) => folded(&url),
        Err(_) => url.to_owned(),
    }
}

fn folded(url: &CanonUrl) -> String {
    format!("http://{}{}", url.site(), url.path())
}

impl Web {
    /// Every URL that this crawler must find from the seeds, in folded form (see `truth.rs`).
    pub fn truth(&self, crawler: &Crawler) -> BTreeMap<String, Expected> {
        let mut search = Search {
            web: self,
            crawler,
            canonicaliser: Canonicaliser::new(UrlRules::default()),
            seed_sites: self.seed_sites().map(|site| site.number).collect(),
            queue: VecDeque::new(),
            found: BTreeMap::new(),
        };
        for seed in self.seeds() {
            if let Ok(url) = search.canonicaliser.canon(&seed) {
                search.queue.push_back((url, 0));
            }
        }
        while let Some((url, depth)) = search.queue.pop_front() {
            search.visit(&url, depth);
        }
        search.found
    }
}

struct Search<'a> {
    web: &'a Web,
    crawler: &'a Crawler,
    canonicaliser: Canonicaliser,
    /// Numbers of the sites whose home pages are seeds.
    seed_sites: HashSet<usize>,
    queue: VecDeque<(CanonUrl, u16)>,
    found: BTreeMap<String, Expected>,
}

impl Search<'_> {
    fn visit(&mut self, url: &CanonUrl, depth: u16) {
        let key = folded(url);
        let Some(site) = self.fetchable(url) else {
            return;
        };
        if self.found.contains_key(&key) {
            return;
        }
        let resource = Resource::at(&site, url.path());
        let html = resource.status() == 200 && resource.media_type() == "text/html";
        let expected = Expected {
            status: resource.status(),
            html,
            depth,
        };
        self.found.insert(key, expected);
        if let Resource::Redirect(_, path) = &resource {
            let target = format!("http://{}:{}{path}", site.name(), self.web.port());
            self.enqueue_link(&Base::of(url), &target, depth);
        } else if html {
            self.follow(url, &site, &resource, depth);
        }
    }

    /// The site of a URL. `None` if the URL is not in the lab, or if the crawler's rules forbid it.
    fn fetchable(&self, url: &CanonUrl) -> Option<Site> {
        if url.port() != self.web.port() {
            return None;
        }
        let site = match self.web.host(url.host())? {
            Host::Site(site) | Host::Twin(site) => site,
            Host::Hazard(_) => return None,
        };
        let crawler = self.crawler;
        let in_scope = crawler.outside || self.seed_sites.contains(&site.number);
        let allowed = || robots::allowed(site.robots, &crawler.agent, url.path());
        (in_scope && (!crawler.robots || allowed())).then_some(site)
    }

    fn follow(&mut self, url: &CanonUrl, site: &Site, resource: &Resource, depth: u16) {
        let outline = outline(self.web, site, resource);
        if outline.nofollow && self.crawler.meta_nofollow {
            return;
        }
        let mut base = Base::of(url);
        if let Some(href) = &outline.base {
            base = base.with_href(href);
        }
        for link in &outline.links {
            let ignored = link.nofollow && self.crawler.rel_nofollow;
            if !ignored && (self.crawler.assets || !link.markup.is_asset()) {
                self.enqueue_link(&base, &link.href, depth);
            }
        }
    }

    fn enqueue_link(&mut self, base: &Base, href: &str, depth: u16) {
        if let Ok(target) = self.canonicaliser.join(base, href) {
            self.queue.push_back((target, depth + 1));
        }
    }
}
