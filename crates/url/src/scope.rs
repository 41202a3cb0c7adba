//! Scope (U12): whether a URL belongs to the crawl, and which rule decides.
//!
//! The rules are applied to every link in this order. A URL on the black list is outside. A seed is inside. A URL is
//! outside if it is beyond the maximum depth, if it matches `reject`, or if it does not match `filter`. Any other URL
//! is inside if it is within reach of the seeds or below a wanted top-level domain. With [`Scope::with_requisites`],
//! the files that a page loads are inside wherever they are, unless the black list or `reject` names them. A
//! [`Judgement`] only borrows text, so that it costs no allocation.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::blacklist::{Blacklist, BlacklistError};
use crate::canonical::CanonUrl;
use crate::filter::{self, Filter};
use crate::key::{IdentityBuildHasher, PageKey, SiteKey};
use crate::origin;
use crate::site;

/// The part of the web that is within reach of the seeds: `--scope page|prefix|host|domain|any`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Only the seeds.
    Page,
    /// URLs of the seed's site below the seed's last `/`.
    Prefix,
    /// The sites of the seeds.
    #[default]
    Host,
    /// The registrable domains of the seeds, by the public suffix list.
    Domain,
    /// Everything.
    Any,
}

impl Reach {
    /// The value in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Reach::Page => "page",
            Reach::Prefix => "prefix",
            Reach::Host => "host",
            Reach::Domain => "domain",
            Reach::Any => "any",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl std::str::FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Reach, String> {
        [
            Reach::Page,
            Reach::Prefix,
            Reach::Host,
            Reach::Domain,
            Reach::Any,
        ]
        .into_iter()
        .find(|reach| reach.as_str() == text)
        .ok_or_else(|| format!("`{text}` is not a scope: write page, prefix, host, domain or any"))
    }
}

/// The scope of a crawl: the configured limits and the seeds.
#[derive(Clone, Debug)]
pub struct Scope {
    reach: Reach,
    tlds: Vec<String>,
    filter: Option<Filter>,
    reject: Option<Filter>,
    blacklist: Blacklist,
    max_depth: Option<u16>,
    /// Maximum depths of single sites, instead of `max_depth`.
    site_depths: HashMap<SiteKey, u16, IdentityBuildHasher>,
    requisites: bool,
    seeds: HashSet<PageKey, IdentityBuildHasher>,
    sites: HashSet<SiteKey, IdentityBuildHasher>,
    /// Directories of the seeds, by site. A directory inside another of these directories is left out.
    prefixes: HashMap<SiteKey, Vec<String>, IdentityBuildHasher>,
    domains: HashSet<String>,
}

/// The decision for one URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement<'a> {
    /// Whether the URL belongs to the crawl.
    pub inside: bool,
    /// The deciding rule.
    pub rule: ScopeRule<'a>,
}

/// The deciding rule, displayed for example as `example.org is the site of a seed (--scope host)` or `reject: ext:zip`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScopeRule<'a> {
    /// An entry of the black list matches.
    Blacklist(&'a str),
    /// The URL is a seed.
    Seed,
    /// The depth is beyond the limit.
    Depth {
        /// Depth at which the URL was found.
        depth: u16,
        /// The configured limit.
        limit: u16,
    },
    /// The depth is beyond the limit that the user has set for the site.
    SiteDepth {
        /// Depth at which the URL was found.
        depth: u16,
        /// The limit.
        limit: u16,
    },
    /// The `reject` filter matches.
    Reject(&'a str),
    /// The `filter` does not match.
    Filter(&'a str),
    /// The URL is below a wanted top-level domain.
    Tld(&'a str),
    /// The URL is below this directory of a seed.
    Prefix(&'a str),
    /// The URL is on the site of a seed.
    Host(&'a str),
    /// The URL is in the registrable domain of a seed.
    Domain(&'a str),
    /// The scope has no limit.
    Any,
    /// A page in scope loads the file at this URL.
    Requisite,
    /// The URL is out of reach of the seeds.
    Beyond {
        /// The configured reach.
        reach: Reach,
        /// The site, domain or URL that is out of reach.
        name: &'a str,
    },
}

impl Judgement<'_> {
    fn inside(rule: ScopeRule<'_>) -> Judgement<'_> {
        Judgement { inside: true, rule }
    }

    fn outside(rule: ScopeRule<'_>) -> Judgement<'_> {
        Judgement {
            inside: false,
            rule,
        }
    }
}

impl Scope {
    /// A scope without seeds. URLs below one of `tlds` (`pt`, `co.uk`, with or without a leading dot) are within reach,
    /// whatever seeds are added later.
    pub fn new(
        reach: Reach,
        tlds: &[String],
        filter: Option<Filter>,
        reject: Option<Filter>,
        blacklist: Blacklist,
        max_depth: Option<u16>,
    ) -> Scope {
        let tlds = tlds
            .iter()
            .map(|tld| tld.trim_start_matches(['*', '.']).to_lowercase());
        Scope {
            reach,
            tlds: tlds.filter(|tld| !tld.is_empty()).collect(),
            filter,
            reject,
            blacklist,
            max_depth,
            site_depths: HashMap::default(),
            requisites: false,
            seeds: HashSet::default(),
            sites: HashSet::default(),
            prefixes: HashMap::default(),
            domains: HashSet::new(),
        }
    }

    /// Sets whether the files that pages load (requisites) are in scope on any host and beyond the maximum depth: see
    /// [`Scope::judge_requisite`].
    #[must_use]
    pub fn with_requisites(self, requisites: bool) -> Scope {
        Scope { requisites, ..self }
    }

    /// Whether files that pages load (requisites) are in scope on any host and beyond the maximum depth.
    pub fn takes_requisites(&self) -> bool {
        self.requisites
    }

    /// Adds a seed to the scope.
    pub fn add_seed(&mut self, seed: &CanonUrl) {
        let key = seed.key();
        if !self.seeds.insert(key) {
            return;
        }
        match self.reach {
            Reach::Page | Reach::Any => {}
            Reach::Prefix => self.add_prefix(key.site, directory(seed.path_only())),
            Reach::Host => {
                self.sites.insert(key.site);
            }
            Reach::Domain => {
                self.domains.insert(domain(seed).to_owned());
            }
        }
    }

    /// Sets the maximum depth of a site, which replaces the maximum depth of the crawl.
    pub fn set_site_depth(&mut self, site: SiteKey, limit: u16) {
        self.site_depths.insert(site, limit);
    }

    /// Whether the black list has this URL, its domain, or the IP address that is its host.
    pub fn is_blocked(&self, url: &CanonUrl) -> bool {
        self.blacklist.url(url).is_some()
    }

    /// The entry of the black list that blocks the whole host of the URL.
    pub fn blocking_entry(&self, url: &CanonUrl) -> Option<&str> {
        self.blacklist.site(url)
    }

    /// Adds entries to the black list of an active crawl. If a line is invalid, no entry is added.
    pub fn block(&mut self, lines: &str) -> Result<(), BlacklistError> {
        self.blacklist.extend_lines(lines)
    }

    fn add_prefix(&mut self, site: SiteKey, prefix: &str) {
        let prefixes = self.prefixes.entry(site).or_default();
        if !prefixes
            .iter()
            .any(|known| prefix.starts_with(known.as_str()))
        {
            prefixes.retain(|known| !known.starts_with(prefix));
            prefixes.push(prefix.to_owned());
        }
    }

    /// Whether this URL, found at this depth, belongs to the crawl.
    pub fn judge<'a>(&'a self, url: &'a CanonUrl, depth: u16) -> Judgement<'a> {
        self.judge_page(url, url.key(), depth)
    }

    /// Like [`Scope::judge`], for a caller that already has the key of the URL.
    pub fn judge_page<'a>(&'a self, url: &'a CanonUrl, key: PageKey, depth: u16) -> Judgement<'a> {
        if let Some(entry) = self.blacklist.url(url) {
            return Judgement::outside(ScopeRule::Blacklist(entry));
        }
        if self.seeds.contains(&key) {
            return Judgement::inside(ScopeRule::Seed);
        }
        match (self.site_depths.get(&key.site), self.max_depth) {
            (Some(&limit), _) if depth > limit => {
                return Judgement::outside(ScopeRule::SiteDepth { depth, limit });
            }
            (None, Some(limit)) if depth > limit => {
                return Judgement::outside(ScopeRule::Depth { depth, limit });
            }
            _ => {}
        }
        if let Some(reject) = self
            .reject
            .as_ref()
            .filter(|reject| reject.matches(url, depth))
        {
            return Judgement::outside(ScopeRule::Reject(reject.as_str()));
        }
        if let Some(filter) = self
            .filter
            .as_ref()
            .filter(|filter| !filter.matches(url, depth))
        {
            return Judgement::outside(ScopeRule::Filter(filter.as_str()));
        }
        self.reaches(url, key.site)
    }

    /// Like [`Scope::judge_page`], for a file that a page or another requisite loads. If the scope includes requisites,
    /// only the black list and `reject` exclude the file. The caller limits chains of requisites.
    pub fn judge_requisite<'a>(
        &'a self,
        url: &'a CanonUrl,
        key: PageKey,
        depth: u16,
    ) -> Judgement<'a> {
        let judgement = self.judge_page(url, key, depth);
        if judgement.inside || !self.requisites {
            return judgement;
        }
        match judgement.rule {
            ScopeRule::Blacklist(_) | ScopeRule::Reject(_) => return judgement,
            _ => {}
        }
        if let Some(reject) = self.reject.as_ref().filter(|r| r.matches(url, depth)) {
            return Judgement::outside(ScopeRule::Reject(reject.as_str()));
        }
        Judgement::inside(ScopeRule::Requisite)
    }

    /// Whether the host alone shows that a link is out of reach. This excludes most links to other sites before they
    /// are canonicalised. False if the text of the link is not sufficient to decide.
    pub fn is_beyond(&self, href: &str) -> bool {
        if !matches!(self.reach, Reach::Host | Reach::Domain) {
            return false;
        }
        let rest = href.strip_prefix("http");
        let rest = rest.map(|rest| rest.strip_prefix('s').unwrap_or(rest));
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix("://")) else {
            return false;
        };
        let end = memchr::memchr3(b'/', b'?', b'#', rest.as_bytes());
        let host = &rest[..end.unwrap_or(rest.len())];
        if !origin::is_plain_host(host.as_bytes()) {
            return false;
        }
        let reached = if self.reach == Reach::Host {
            // Both forms are tried, with and without `www.`, because the rules of the canonicaliser decide which of
            // them is the site.
            [host, &host[site::folded(host) as usize..]]
                .iter()
                .any(|site| self.sites.contains(&SiteKey::of(site)))
        } else {
            self.domains
                .contains(site::registrable(host).unwrap_or(host))
        };
        !reached && self.tld(host).is_none()
    }

    fn reaches<'a>(&'a self, url: &'a CanonUrl, site: SiteKey) -> Judgement<'a> {
        let (rule, name) = match self.reach {
            Reach::Any => (Some(ScopeRule::Any), ""),
            Reach::Page => (None, url.as_str()),
            Reach::Prefix => (self.prefix(url, site).map(ScopeRule::Prefix), url.as_str()),
            Reach::Host => (
                self.sites
                    .contains(&site)
                    .then_some(ScopeRule::Host(url.site())),
                url.site(),
            ),
            Reach::Domain => {
                let domain = domain(url);
                (
                    self.domains
                        .contains(domain)
                        .then_some(ScopeRule::Domain(domain)),
                    domain,
                )
            }
        };
        match rule.or_else(|| self.tld(url.host())) {
            Some(rule) => Judgement::inside(rule),
            None => Judgement::outside(ScopeRule::Beyond {
                reach: self.reach,
                name,
            }),
        }
    }

    fn prefix(&self, url: &CanonUrl, site: SiteKey) -> Option<&str> {
        let prefixes = self.prefixes.get(&site)?;
        prefixes
            .iter()
            .find(|prefix| url.path().starts_with(prefix.as_str()))
            .map(String::as_str)
    }

    fn tld(&self, host: &str) -> Option<ScopeRule<'_>> {
        self.tlds
            .iter()
            .find(|tld| filter::is_below(host, tld))
            .map(|tld| ScopeRule::Tld(tld))
    }
}

/// The path up to and including the last `/`.
fn directory(path: &str) -> &str {
    &path[..path.rfind('/').map_or(0, |slash| slash + 1)]
}

/// The registrable domain, or the host itself for addresses and single labels.
fn domain(url: &CanonUrl) -> &str {
    site::registrable(url.host()).unwrap_or(url.host())
}

impl fmt::Display for ScopeRule<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScopeRule::Blacklist(entry) => write!(out, "black list: {entry}"),
            ScopeRule::Seed => out.write_str("it is a seed"),
            ScopeRule::Depth { depth, limit } => {
                write!(out, "depth {depth} is beyond the limit of {limit}")
            }
            ScopeRule::SiteDepth { depth, limit } => {
                write!(
                    out,
                    "depth {depth} is beyond the limit of {limit} that is set for the site's seeds"
                )
            }
            ScopeRule::Reject(filter) => write!(out, "reject: {filter}"),
            ScopeRule::Filter(filter) => write!(out, "does not satisfy filter: {filter}"),
            ScopeRule::Tld(tld) => write!(out, "top-level domain: it is below .{tld}"),
            ScopeRule::Prefix(prefix) => {
                write!(out, "it is below a seed's folder {prefix} (--scope prefix)")
            }
            ScopeRule::Host(site) => write!(out, "{site} is the site of a seed (--scope host)"),
            ScopeRule::Domain(domain) => {
                write!(out, "{domain} is the domain of a seed (--scope domain)")
            }
            ScopeRule::Any => out.write_str("every URL is in scope (--scope any)"),
            ScopeRule::Requisite => out.write_str("page.assets: a page in scope loads it"),
            ScopeRule::Beyond { reach, name } => match reach {
                Reach::Page => out.write_str("it is not a seed (--scope page)"),
                Reach::Prefix => {
                    out.write_str("it is not below the folder of a seed (--scope prefix)")
                }
                Reach::Host => write!(out, "{name} is not the site of a seed (--scope host)"),
                Reach::Domain => write!(out, "{name} is not the domain of a seed (--scope domain)"),
                Reach::Any => out.write_str("--scope any"),
            },
        }
    }
}

#[cfg(test)]
mod tests;
