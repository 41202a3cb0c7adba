//! The truth: what a crawler that obeys the rules must find, computed and not crawled.
//!
//! A breadth-first walk over `outline`: no socket, no HTML. Links are read by `aranha-url` with its default
//! rules and robots.txt by the meaning written beside each file (`robots`), so what is tested here is the
//! crawler's reading of pages, its courtesy and its bookkeeping.
//!
//! **Which form.** URLs are told in folded form: canonical by `Canonicaliser::default()`, with the site's name
//! (`www.` folded) for the host: `http://site000.lab:PORT/a?b`. Twins are one URL there; the status is the one
//! under the preferred name, and a redirect from one twin to the other is no URL of its own.
//!
//! **What is in it.** Everything that answers: redirects, 404s and files that were linked too. Not in it:
//! robots.txt, names without an address, hazards, and assets unless asked for.

use std::collections::{BTreeMap, HashSet, VecDeque};

use aranha_url::{Base, CanonUrl, Canonicaliser, UrlRules};

use crate::outline::outline;
use crate::resource::Resource;
use crate::robots;
use crate::site::Site;
use crate::web::{Host, Web};

/// What the crawler whose result is foreseen does. The default is aranha's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crawler {
    /// Product token looked for in robots.txt.
    pub agent: String,
    /// robots.txt is obeyed.
    pub robots: bool,
    /// Links of pages with a robots meta tag `nofollow` are not followed.
    pub meta_nofollow: bool,
    /// Links with `rel=nofollow` are not followed.
    pub rel_nofollow: bool,
    /// Images and style sheets are fetched.
    pub assets: bool,
    /// Sites other than the seeds' are visited.
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

/// What is expected of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Status of the answer under the site's preferred name.
    pub status: u16,
    /// A page: status 200 and HTML.
    pub html: bool,
    /// Least number of links, redirects counted, from a seed.
    pub depth: u16,
}

/// The URL in folded form; the text itself when it is no URL.
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
    /// Everything that this crawler finds from the seeds, in folded form.
    pub fn truth(&self, crawler: &Crawler) -> BTreeMap<String, Expected> {
        let mut walk = Walk {
            web: self,
            crawler,
            canonicaliser: Canonicaliser::new(UrlRules::default()),
            inside: self.seed_sites().map(|site| site.number).collect(),
            queue: VecDeque::new(),
            found: BTreeMap::new(),
        };
        for seed in self.seeds() {
            if let Ok(url) = walk.canonicaliser.canon(&seed) {
                walk.queue.push_back((url, 0));
            }
        }
        while let Some((url, depth)) = walk.queue.pop_front() {
            walk.visit(&url, depth);
        }
        walk.found
    }
}

struct Walk<'a> {
    web: &'a Web,
    crawler: &'a Crawler,
    canonicaliser: Canonicaliser,
    inside: HashSet<usize>,
    queue: VecDeque<(CanonUrl, u16)>,
    found: BTreeMap<String, Expected>,
}

impl Walk<'_> {
    fn visit(&mut self, url: &CanonUrl, depth: u16) {
        let key = folded(url);
        let Some(site) = self.wanted(url) else { return };
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
            self.found_link(&Base::of(url), &target, depth);
        } else if html {
            self.follow(url, &site, &resource, depth);
        }
    }

    /// The site of a URL when the crawler may ask for it.
    fn wanted(&self, url: &CanonUrl) -> Option<Site> {
        if url.port() != self.web.port() {
            return None;
        }
        let site = match self.web.host(url.host())? {
            Host::Site(site) | Host::Twin(site) => site,
            Host::Hazard(_) => return None,
        };
        let crawler = self.crawler;
        let outside = crawler.outside || self.inside.contains(&site.number);
        let allowed = || robots::allowed(site.robots, &crawler.agent, url.path());
        (outside && (!crawler.robots || allowed())).then_some(site)
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
            let refused = link.nofollow && self.crawler.rel_nofollow;
            if !refused && (self.crawler.assets || !link.markup.is_asset()) {
                self.found_link(&base, &link.href, depth);
            }
        }
    }

    fn found_link(&mut self, base: &Base, href: &str, depth: u16) {
        if let Ok(target) = self.canonicaliser.join(base, href) {
            self.queue.push_back((target, depth + 1));
        }
    }
}
