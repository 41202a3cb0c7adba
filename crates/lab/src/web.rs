//! The web itself, without sockets: a pure function from host and path to an answer.
//!
//! [`Web`] is a plan and a port and nothing more. `server` puts it on sockets, `dns` gives its names
//! addresses, `truth` walks it. A question's way: host → `site` (or hazard) → `resource` → `outline` (its
//! links) → `html` → [`Answer`].

use std::net::Ipv4Addr;

use crate::answer::Answer;
use crate::hazard::Hazard;
use crate::plan::Plan;
use crate::resource::Resource;
use crate::robots;
use crate::site::{self, Site, Twin};

/// A plan and the port that its absolute links name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Web {
    plan: Plan,
    port: u16,
}

/// Who answers to a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Host {
    /// An honest site under its preferred name, or under its twin's when that serves the same.
    Site(Site),
    /// The name of an honest site that redirects to the other.
    Twin(Site),
    /// A hostile site.
    Hazard(Hazard),
}

impl Web {
    /// The web of a plan on a port.
    pub fn new(plan: Plan, port: u16) -> Web {
        Web { plan, port }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The port of all servers.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Home pages of the first sites that let crawlers in: `http://www.site000.lab:PORT/` and so on.
    pub fn seeds(&self) -> Vec<String> {
        self.seed_sites()
            .map(|site| format!("http://{}:{}/", site.name(), self.port))
            .collect()
    }

    /// The address of a name; `None` when there is no such name.
    pub fn address(&self, host: &str) -> Option<Ipv4Addr> {
        Some(match self.host(host)? {
            Host::Site(site) | Host::Twin(site) => site.address,
            Host::Hazard(hazard) => {
                let position = self.plan.hazards.iter().position(|h| *h == hazard)?;
                site::address(self.plan.addresses.max(1) + position)
            }
        })
    }

    /// All addresses on which the web is served.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let count = self.plan.addresses.max(1) + self.plan.hazards.len();
        (0..count).map(site::address).collect()
    }

    /// What an honest site answers to `GET` of a path and query. 404 for names that are not served here.
    pub fn answer(&self, host: &str, target: &str) -> Answer {
        match self.host(host) {
            Some(Host::Site(site)) => Answer::of(self, &site, &Resource::at(&site, target), target),
            Some(Host::Twin(site)) => {
                let location = format!("http://{}:{}{target}", site.name(), self.port);
                Answer::redirect(&site, 301, &location, target)
            }
            _ => Answer::unknown_host(),
        }
    }

    pub(crate) fn host(&self, host: &str) -> Option<Host> {
        if let Some(hazard) = self.plan.hazards.iter().find(|h| h.host() == host) {
            return Some(Host::Hazard(*hazard));
        }
        let (number, www) = site::parse(host)?;
        let site = self.site(number)?;
        match site.twin {
            _ if www == site.www => Some(Host::Site(site)),
            Twin::Same => Some(Host::Site(site)),
            Twin::Redirects => Some(Host::Twin(site)),
            Twin::Absent => None,
        }
    }

    pub(crate) fn site(&self, number: usize) -> Option<Site> {
        (number < self.plan.sites).then(|| Site::new(&self.plan, number))
    }

    pub(crate) fn seed_sites(&self) -> impl Iterator<Item = Site> {
        (0..self.plan.sites)
            .map(|number| Site::new(&self.plan, number))
            .filter(|site| robots::allowed(site.manners, "aranha", "/"))
            .take(self.plan.seeds)
    }
}
