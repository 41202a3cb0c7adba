//! Links to other sites, on their way from check-ins to the inboxes of those sites. They are gathered for the next link
//! run. A link that was sent recently is not sent again.

use aranha_url::PathKey;

use super::gather::Gather;
use super::recent_links::RecentLinks;
use crate::sites::totals::{Count, Totals};
use crate::{External, Hop, Options, Outside, Pending};

/// Gathered links, and the policies that decide which links are gathered.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) gather: Gather,
    pub(crate) recent: RecentLinks,
    pub(crate) policy: External,
    home: PathKey,
}

impl Outbox {
    pub(crate) fn new(options: &Options) -> Outbox {
        Outbox {
            gather: Gather::default(),
            recent: RecentLinks::new(options.recent_links),
            policy: options.external_links,
            home: PathKey::of("/"),
        }
    }

    /// Gather links to other sites, except those sent recently.
    pub(crate) fn send(&mut self, links: &[Outside], totals: &mut Totals) {
        let before = self.gather.links.len();
        for link in links {
            let key = match self.policy {
                External::HomePage => self.home,
                External::DeepLink | External::Combined => link.path_key,
            };
            if self.recent.insert(link.site_key.0, key.0) {
                self.gather.push(link, self.policy, self.home);
            }
        }
        totals.add(Count::Links, links.len() as i64);
        totals.add(Count::Sent, (self.gather.links.len() - before) as i64);
    }

    /// Gather a link without applying the policy for external links and without the test for recent links. Used for
    /// seeds of leased sites and for claims.
    pub(crate) fn send_unfiltered(&mut self, link: &Outside) {
        self.gather.push(link, External::DeepLink, self.home);
    }

    /// The home page of a new site, with the depth of the link to the site.
    pub(crate) fn home_page(&self, depth: u16, hop: Hop, via: &str) -> Pending {
        Pending {
            path: "/".to_owned(),
            key: self.home,
            depth,
            site_depth: 0,
            tries: 0,
            hop,
            via: via.to_owned(),
            past: None,
        }
    }
}
