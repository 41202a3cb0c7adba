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
use crate::site::{self, SchemeSupport, Site, Twin};

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
    Hazard(Spot),
}

/// A hostile site's place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) hazard: Hazard,
    /// Where in the plan's list.
    position: usize,
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

    /// The address where a name is served; `None` when there is no such name. Of hostile names the DNS server may
    /// say something else.
    pub fn address(&self, host: &str) -> Option<Ipv4Addr> {
        Some(match self.host(host)? {
            Host::Site(site) | Host::Twin(site) => site.address,
            Host::Hazard(spot) => self.hazard_address(spot.position),
        })
    }

    /// All addresses on which the web is served.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let honest = (0..self.plan.addresses.max(1)).map(site::address);
        let hostile = self.hazards().filter(|(_, hazard)| hazard.listens());
        honest.chain(hostile.map(|(address, _)| address)).collect()
    }

    /// Home pages of all hostile sites, in the order of the plan.
    pub fn hazard_seeds(&self) -> Vec<String> {
        let places = 0..self.plan.hazards.len();
        places.map(|place| self.hazard_home(place)).collect()
    }

    /// Hostile sites with their addresses.
    pub(crate) fn hazards(&self) -> impl Iterator<Item = (Ipv4Addr, Hazard)> {
        let hazards = self.plan.hazards.iter().enumerate();
        hazards.map(|(position, hazard)| (self.hazard_address(position), *hazard))
    }

    fn hazard_address(&self, position: usize) -> Ipv4Addr {
        site::address(self.plan.addresses.max(1) + position)
    }

    /// The URL that leads into the hostile site at a place of the plan.
    pub(crate) fn hazard_home(&self, position: usize) -> String {
        let scheme = self.plan.hazards[position].scheme();
        format!("{scheme}://{}:{}/", self.hazard_host(position), self.port)
    }

    /// The name of the hostile site at a place of the plan.
    pub(crate) fn hazard_host(&self, position: usize) -> String {
        let hazard = self.plan.hazards[position];
        let before = &self.plan.hazards[..position];
        let copy = 1 + before.iter().filter(|other| **other == hazard).count();
        hazard.host_of(copy)
    }

    /// The hostile site of a name.
    pub(crate) fn spot(&self, host: &str) -> Option<Spot> {
        let (hazard, copy) = Hazard::parse(host)?;
        let same = self.plan.hazards.iter().enumerate();
        let position = same.filter(|(_, h)| **h == hazard).nth(copy - 1)?.0;
        Some(Spot { hazard, position })
    }

    /// What an honest site answers to `GET` of a path and query, over plain HTTP if `secure` is false. 404 for names
    /// that are not served here.
    pub(crate) fn answer_over(&self, secure: bool, host: &str, target: &str) -> Answer {
        match self.host(host) {
            Some(Host::Site(site) | Host::Twin(site))
                if !secure && site.scheme == SchemeSupport::Secure =>
            {
                let location = format!("{}{target}", site.origin(self.port));
                Answer::redirect(&site, 301, &location, target)
            }
            _ => self.answer(host, target),
        }
    }

    /// What an honest site answers to `GET` of a path and query, over the scheme that it prefers. 404 for names that
    /// are not served here.
    pub fn answer(&self, host: &str, target: &str) -> Answer {
        match self.host(host) {
            Some(Host::Site(site)) => Answer::of(self, &site, &Resource::at(&site, target), target),
            Some(Host::Twin(site)) => {
                let location = format!("{}{target}", site.origin(self.port));
                Answer::redirect(&site, 301, &location, target)
            }
            _ => Answer::unknown_host(),
        }
    }

    pub(crate) fn host(&self, host: &str) -> Option<Host> {
        let Some((number, www)) = site::parse(host) else {
            return self.spot(host).map(Host::Hazard);
        };
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
            .filter(|site| robots::allowed(site.robots, "aranha", "/"))
            .take(self.plan.seeds)
    }
}
