//! The web without its servers: a pure function from host and path to a response.
//!
//! A [`Web`] is a plan and a port. `server.rs` serves it, `dns.rs` resolves its names, and `truth.rs` computes the
//! pages that a crawl must find. A response is made in these steps: host → `site` (or hazard) → `resource` → `outline`
//! (its links) → `html` → [`Answer`].

use std::net::Ipv4Addr;

use crate::answer::Answer;
use crate::hazard::Hazard;
use crate::plan::Plan;
use crate::resource::Resource;
use crate::robots;
use crate::site::{self, SchemeSupport, Site, Twin};

/// The generated web: a plan, and the port that its absolute links contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Web {
    plan: Plan,
    port: u16,
}

/// The site to which a host name belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Host {
    /// An honest site under its preferred name, or under a twin that serves the same pages.
    Site(Site),
    /// The twin of an honest site, which redirects to the preferred name.
    Twin(Site),
    /// A hostile site.
    Hazard(HazardSite),
}

/// A hostile site of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HazardSite {
    pub(crate) hazard: Hazard,
    /// Index in [`Plan::hazards`].
    position: usize,
}

impl Web {
    /// The web with this plan and this port.
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

    /// URLs of home pages, such as `http://www.site000.lab:PORT/`. They are the home pages of the first [`Plan::seeds`]
    /// sites whose robots.txt allows aranha.
    pub fn seeds(&self) -> Vec<String> {
        self.seed_sites()
            .map(|site| format!("http://{}:{}/", site.name(), self.port))
            .collect()
    }

    /// The address of the server of a host name; `None` if there is no such name. The DNS server may return another
    /// address for the name of a hazard.
    pub fn address(&self, host: &str) -> Option<Ipv4Addr> {
        Some(match self.host(host)? {
            Host::Site(site) | Host::Twin(site) => site.address,
            Host::Hazard(site) => self.hazard_address(site.position),
        })
    }

    /// The addresses of all honest sites, and of all hostile sites that have a server.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let honest = (0..self.plan.addresses.max(1)).map(site::address);
        let hostile = self.hazards().filter(|(_, hazard)| hazard.listens());
        honest.chain(hostile.map(|(address, _)| address)).collect()
    }

    /// URLs of the home pages of all hostile sites, in the order of the plan.
    pub fn hazard_seeds(&self) -> Vec<String> {
        let positions = 0..self.plan.hazards.len();
        positions
            .map(|position| self.hazard_home(position))
            .collect()
    }

    /// The hazards of the plan, each with its address.
    pub(crate) fn hazards(&self) -> impl Iterator<Item = (Ipv4Addr, Hazard)> {
        let hazards = self.plan.hazards.iter().enumerate();
        hazards.map(|(position, hazard)| (self.hazard_address(position), *hazard))
    }

    fn hazard_address(&self, position: usize) -> Ipv4Addr {
        site::address(self.plan.addresses.max(1) + position)
    }

    /// URL of the home page of the hostile site at this index of the plan.
    pub(crate) fn hazard_home(&self, position: usize) -> String {
        let scheme = self.plan.hazards[position].scheme();
        format!("{scheme}://{}:{}/", self.hazard_host(position), self.port)
    }

    /// Host name of the hostile site at this index of the plan.
    pub(crate) fn hazard_host(&self, position: usize) -> String {
        let hazard = self.plan.hazards[position];
        let before = &self.plan.hazards[..position];
        let copy = 1 + before.iter().filter(|other| **other == hazard).count();
        hazard.host_of(copy)
    }

    /// The hostile site of a host name.
    pub(crate) fn hazard_site(&self, host: &str) -> Option<HazardSite> {
        let (hazard, copy) = Hazard::parse(host)?;
        let same = self.plan.hazards.iter().enumerate();
        let position = same.filter(|(_, h)| **h == hazard).nth(copy - 1)?.0;
        Some(HazardSite { hazard, position })
    }

    /// The response of an honest site to a `GET` request, over HTTPS if `secure`, otherwise over HTTP. Unknown names
    /// get 404.
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

    /// The response of an honest site to a `GET` request over its preferred scheme. Unknown names get 404.
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
            return self.hazard_site(host).map(Host::Hazard);
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
