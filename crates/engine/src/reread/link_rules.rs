//! The link rules: the part of the configuration that decides which links of a page are followed.
//!
//! The file `link-rules.toml` in the collection contains the rules of the last crawl. If the rules of the next crawl
//! are wider, the links of the stored pages are read again (`reread/mod.rs`). `aranha why` judges a URL by the rules in
//! this file, because the rules of the last crawl may differ from `aranha.toml`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use aranha_frontier::{External, SiteSettings};
use aranha_url::{Reach, SiteKey, UrlRules};
use serde::{Deserialize, Serialize};

use crate::collection::files;
use crate::config::{Config, ConfigError, DuplicateLinks, limit};

/// The values of the configuration that decide which links are followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkRules {
    scope: Reach,
    tlds: Vec<String>,
    #[serde(with = "limit::count")]
    depth: Option<u16>,
    #[serde(with = "limit::count")]
    threshold_depth: Option<u16>,
    #[serde(with = "limit::count")]
    threshold_urls: Option<u64>,
    #[serde(with = "limit::count")]
    threshold_duplicates: Option<u64>,
    accept: Vec<String>,
    reject: Vec<String>,
    /// The entries of all black lists.
    blacklist: BTreeSet<String>,
    #[serde(with = "limit::count")]
    pages_per_site: Option<u64>,
    follow_nofollow: bool,
    duplicate_links: DuplicateLinks,
    external_links: External,
    page: aranha_page::Options,
    url: UrlRules,
    /// The depths that the user has set for seeds. The keys of the map are site keys in hexadecimal digits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    seed_depths: BTreeMap<String, u16>,
    /// Number of seeds. `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<u64>,
}

/// First line of the file.
const NOTE: &str =
    "# The rules for links of the last crawl, written by aranha. Change aranha.toml instead.\n";

impl LinkRules {
    /// The rules of a configuration. `blocked` is the text of the collection's own black list.
    pub fn of(config: &Config, blocked: &str) -> Result<Self, ConfigError> {
        let crawl = &config.crawl;
        let lists = config.blacklist_text()?;
        let entries = lists.lines().chain(blocked.lines()).map(str::trim);
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        Ok(Self {
            scope: crawl.scope,
            tlds: crawl.tlds.clone(),
            depth: crawl.depth,
            threshold_depth: config.thresholds.depth,
            threshold_urls: config.thresholds.urls,
            threshold_duplicates: config.thresholds.duplicates,
            accept: crawl.accept.clone(),
            reject: crawl.reject.clone(),
            blacklist: entries.filter(is_entry).map(str::to_owned).collect(),
            pages_per_site: crawl.pages_per_site,
            follow_nofollow: crawl.follow_nofollow,
            duplicate_links: crawl.duplicate_links,
            external_links: config.frontier.external_links,
            page: config.page.clone(),
            url: config.url.clone(),
            seed_depths: BTreeMap::new(),
            seeds: None,
        })
    }

    /// The rules with the number of seeds.
    pub(super) fn with_seeds(self, seeds: u64) -> Self {
        Self {
            seeds: Some(seeds),
            ..self
        }
    }

    /// Splits all seeds, in the order in which they were added, into those that the crawl with these rules had, and those
    /// that were added since.
    pub(super) fn split_seeds<'a>(&self, seeds: &'a [String]) -> (&'a [String], &'a [String]) {
        let known = self.seeds.and_then(|count| usize::try_from(count).ok());
        seeds.split_at(known.map_or(seeds.len(), |count| count.min(seeds.len())))
    }

    /// The rules with the depths that the user has set for seeds.
    pub(super) fn with_seed_depths(self, settings: &[SiteSettings]) -> Self {
        let depth = |(site, settings): &SiteSettings| Some((seed_key(*site), settings.depth?));
        Self {
            seed_depths: settings.iter().filter_map(depth).collect(),
            ..self
        }
    }

    /// The sites with a higher depth than before. Only sites are considered whose seeds have, or had, a depth of their
    /// own.
    pub(super) fn deeper_sites(&self, before: &Self) -> HashSet<SiteKey> {
        let limit = |rules: &Self, site| rules.seed_depths.get(site).copied().or(rules.depth);
        let sites = self.seed_depths.keys().chain(before.seed_depths.keys());
        sites
            .filter(|site| is_higher(limit(self, *site), limit(before, *site)))
            .filter_map(|site| u64::from_str_radix(site, 16).ok().map(SiteKey))
            .collect()
    }

    /// Whether more pages per site may be fetched than before (`crawl.pages_per_site`).
    pub(super) fn raises_quota(&self, before: &Self) -> bool {
        is_higher(self.pages_per_site, before.pages_per_site)
    }

    /// The rules in a file; `None` if the file does not exist or cannot be read.
    pub fn load(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    /// The rules in the text of such a file.
    pub fn parse(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    /// The text of the file.
    pub(super) fn text(&self) -> io::Result<String> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        Ok(format!("{NOTE}{text}"))
    }

    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        files::replace(path, &self.text()?)
    }

    /// Replaces the rules of a configuration by these rules. The black lists are not replaced, because changes to them
    /// apply at once. The rules for the canonical form of URLs are not replaced either.
    pub fn apply(self, config: &mut Config) {
        let crawl = &mut config.crawl;
        crawl.scope = self.scope;
        crawl.tlds = self.tlds;
        crawl.depth = self.depth;
        crawl.accept = self.accept;
        crawl.reject = self.reject;
        crawl.pages_per_site = self.pages_per_site;
        crawl.follow_nofollow = self.follow_nofollow;
        crawl.duplicate_links = self.duplicate_links;
        config.thresholds.depth = self.threshold_depth;
        config.thresholds.urls = self.threshold_urls;
        config.thresholds.duplicates = self.threshold_duplicates;
        config.frontier.external_links = self.external_links;
        config.page = self.page;
    }

    /// The keys whose values allow links that the rules `before` did not allow.
    pub(super) fn widened(&self, before: &Self) -> Vec<&'static str> {
        let accepts_all = |rules: &Self| rules.accept.is_empty();
        let (page, page_before) = (&self.page, &before.page);
        let changes = [
            ("crawl.scope", rank(self.scope) > rank(before.scope)),
            ("crawl.tlds", has_more(&self.tlds, &before.tlds)),
            ("crawl.depth", is_higher(self.depth, before.depth)),
            (
                "crawl.accept",
                !accepts_all(before)
                    && (accepts_all(self) || has_more(&self.accept, &before.accept)),
            ),
            ("crawl.reject", has_more(&before.reject, &self.reject)),
            ("black list", !before.blacklist.is_subset(&self.blacklist)),
            (
                "crawl.follow_nofollow",
                self.follow_nofollow && !before.follow_nofollow,
            ),
            (
                "crawl.duplicate_links",
                self.duplicate_links == DuplicateLinks::Follow
                    && before.duplicate_links != DuplicateLinks::Follow,
            ),
            (
                "thresholds.depth",
                is_higher(self.threshold_depth, before.threshold_depth),
            ),
            (
                "thresholds.urls",
                is_higher(self.threshold_urls, before.threshold_urls),
            ),
            (
                "thresholds.duplicates",
                is_higher(self.threshold_duplicates, before.threshold_duplicates),
            ),
            (
                "frontier.external_links",
                self.external_links != before.external_links,
            ),
            ("page.assets", page.assets && !page_before.assets),
            ("page.forms", page.forms && !page_before.forms),
            ("page.scripts", page.scripts && !page_before.scripts),
            ("page.max_links", page.max_links > page_before.max_links),
            ("page.max_href", page.max_href > page_before.max_href),
            ("url", self.url != before.url),
        ];
        let widened = changes.into_iter().filter(|(_, is_wider)| *is_wider);
        widened.map(|(key, _)| key).collect()
    }
}

fn seed_key(site: SiteKey) -> String {
    format!("{:016x}", site.0)
}

/// The rank of a reach. A reach contains every reach with a lower rank.
fn rank(reach: Reach) -> u8 {
    match reach {
        Reach::Page => 0,
        Reach::Prefix => 1,
        Reach::Host => 2,
        Reach::Domain => 3,
        Reach::Any => 4,
    }
}

fn has_more(list: &[String], other: &[String]) -> bool {
    list.iter().any(|entry| !other.contains(entry))
}

/// Whether a limit is higher than before, or no longer exists.
fn is_higher<T: PartialOrd>(limit: Option<T>, before: Option<T>) -> bool {
    before.is_some_and(|before| limit.is_none_or(|limit| limit > before))
}

#[cfg(test)]
mod tests {
    use aranha_frontier::SeedSettings;

    use super::*;

    fn rules(change: impl FnOnce(&mut Config)) -> LinkRules {
        let mut config = Config::default();
        change(&mut config);
        LinkRules::of(&config, "# note\nshut.example\n").unwrap()
    }

    /// If a change widens the rules, the opposite change does not.
    #[test]
    fn wider_rules_are_recognised() {
        let list = |entry: &str| vec![entry.to_owned()];
        let check = |key: &str, narrow: &dyn Fn(&mut Config), wide: &dyn Fn(&mut Config)| {
            let (narrow, wide) = (rules(narrow), rules(wide));
            assert_eq!(wide.widened(&narrow), [key]);
            assert_eq!(narrow.widened(&wide), Vec::<&str>::new(), "{key}");
            assert_eq!(wide.widened(&wide), Vec::<&str>::new(), "{key}");
        };
        check("crawl.depth", &|c| c.crawl.depth = Some(1), &|_| {});
        check("crawl.depth", &|c| c.crawl.depth = Some(1), &|c| {
            c.crawl.depth = Some(3);
        });
        check("crawl.scope", &|_| {}, &|c| c.crawl.scope = Reach::Domain);
        check("crawl.tlds", &|_| {}, &|c| c.crawl.tlds = list("pt"));
        check("crawl.accept", &|c| c.crawl.accept = list("ext:a"), &|_| {});
        check("crawl.reject", &|c| c.crawl.reject = list("ext:a"), &|_| {});
        check(
            "black list",
            &|c| c.crawl.blacklist = list("b.example"),
            &|_| {},
        );
        check("page.assets", &|_| {}, &|c| c.page.assets = true);
        check(
            "thresholds.depth",
            &|c| c.thresholds.depth = Some(5),
            &|_| {},
        );
        check("thresholds.urls", &|c| c.thresholds.urls = Some(5), &|c| {
            c.thresholds.urls = Some(6);
        });
        check("crawl.duplicate_links", &|_| {}, &|c| {
            c.crawl.duplicate_links = DuplicateLinks::Follow;
        });
        check("crawl.follow_nofollow", &|_| {}, &|c| {
            c.crawl.follow_nofollow = true;
        });
    }

    #[test]
    fn a_higher_depth_of_a_seed_is_recognised() {
        let (a, b) = (SiteKey::of("a.test"), SiteKey::of("b.test"));
        let with = |depth: Option<u16>, seeds: &[(SiteKey, u16)]| {
            let settings = seeds.iter().map(|(site, depth)| {
                let depth = Some(*depth);
                (
                    *site,
                    SeedSettings {
                        depth,
                        ..SeedSettings::default()
                    },
                )
            });
            let settings: Vec<_> = settings.collect();
            rules(|config| config.crawl.depth = depth).with_seed_depths(&settings)
        };
        let check = |now: &LinkRules, before: &LinkRules, expected: &[SiteKey]| {
            assert_eq!(now.deeper_sites(before), expected.iter().copied().collect());
        };
        check(
            &with(None, &[(a, 3), (b, 2)]),
            &with(None, &[(a, 2), (b, 2)]),
            &[a],
        );
        check(&with(None, &[(a, 2)]), &with(None, &[(a, 3)]), &[]);
        // If a site has no depth of its own, the depth of the crawl applies.
        check(&with(Some(2), &[(a, 3), (b, 1)]), &with(Some(2), &[]), &[a]);
        check(&with(Some(4), &[]), &with(Some(4), &[(a, 3), (b, 5)]), &[a]);
        check(&with(None, &[(a, 3)]), &with(None, &[]), &[]);
    }

    #[test]
    fn a_raised_quota_is_recognised() {
        let with = |quota| rules(|config| config.crawl.pages_per_site = quota);
        let check = |now, before, expected| {
            assert_eq!(
                with(now).raises_quota(&with(before)),
                expected,
                "{now:?} {before:?}"
            );
        };
        check(Some(3), Some(2), true);
        check(None, Some(2), true);
        check(Some(2), Some(2), false);
        check(Some(1), Some(2), false);
        check(Some(1), None, false);
    }

    #[test]
    fn rules_are_stored_and_applied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link-rules.toml");
        assert_eq!(LinkRules::load(&path), None);
        let stored = rules(|config| {
            config.crawl.depth = Some(3);
            config.crawl.pages_per_site = Some(9);
            config.crawl.reject = vec!["path:'/a b/*'".to_owned()];
            config.page.assets = true;
        });
        stored.save(&path).unwrap();
        assert_eq!(LinkRules::load(&path).as_ref(), Some(&stored));
        let mut config = Config::default();
        stored.clone().apply(&mut config);
        assert_eq!(
            LinkRules::of(&config, "shut.example").unwrap(),
            stored,
            "all rules are applied"
        );
        fs::write(&path, "depth = [").unwrap();
        assert_eq!(LinkRules::load(&path), None);
    }
}
