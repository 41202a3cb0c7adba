//! Properties of hazards outside HTTP: host names, DNS responses, TLS, listening servers, robots.txt.

use std::io;

use super::{DnsResponse, Hazard, HazardRequest, Lookup};
use super::{absent, alias, crooked, descent, fleeting, garbled, insider, mixed, mute, rebind};
use super::{ring, servfail, shifting, tenants, truncated, tunnel};

impl Hazard {
    /// The host name of a copy of this hazard. Copies are numbered from 1.
    pub fn host_of(self, copy: usize) -> String {
        match copy {
            0 | 1 => self.host().to_owned(),
            _ => format!("{}{copy}.lab", self.name()),
        }
    }

    /// The hazard with this host name, and the number of its copy. Some hazards also have all subdomains of their name.
    pub(crate) fn parse(host: &str) -> Option<(Hazard, usize)> {
        let bare = host.strip_suffix(".lab")?;
        let (below, label) = match bare.rsplit_once('.') {
            Some((below, label)) => (Some(below), label),
            None => (None, bare),
        };
        let name = label.trim_end_matches(|c: char| c.is_ascii_digit());
        let copy = match &label[name.len()..] {
            "" => 1,
            digits => digits.parse().ok().filter(|copy| *copy > 1)?,
        };
        let hazard = *Hazard::ALL.iter().find(|hazard| hazard.name() == name)?;
        let known = below.is_none() || hazard.has_subdomains();
        (known && hazard.host_of(copy).strip_suffix(".lab") == Some(label))
            .then_some((hazard, copy))
    }

    /// The scheme of links to this hazard.
    pub(crate) fn scheme(self) -> &'static str {
        if self.is_secure() { "https" } else { "http" }
    }

    /// Whether links to this hazard use https.
    pub(crate) fn is_secure(self) -> bool {
        use Hazard::{Expired, Handshake, OtherName, PlainText, SelfSigned};
        matches!(
            self,
            Expired | SelfSigned | OtherName | PlainText | Handshake
        )
    }

    /// Whether a server listens at the hazard's address.
    pub(crate) fn listens(self) -> bool {
        !matches!(self, Hazard::Down | Hazard::Void)
    }

    fn has_subdomains(self) -> bool {
        use Hazard::{Alias, Descent, Ring, Tenants, Wildcard};
        matches!(self, Wildcard | Tenants | Alias | Ring | Descent)
    }

    /// Whether the hazard answers requests for robots.txt itself.
    fn has_robots(self) -> bool {
        use Hazard::{Carousel, Doorman, Flood, Foreign, Gate, Patterns, Ribbon, Sitemaps};
        matches!(
            self,
            Flood | Ribbon | Patterns | Gate | Doorman | Carousel | Sitemaps | Foreign
        )
    }

    /// Answers one request. Most hazards answer 404 for robots.txt, so that crawlers may fetch all their pages.
    pub(crate) async fn serve(self, mut request: HazardRequest<'_>) -> io::Result<()> {
        if request.target() == "/robots.txt" && !self.has_robots() {
            return request.answer(404, "", "").await;
        }
        self.dispatch(&mut request).await
    }

    /// The DNS response to a query for a name of this hazard.
    pub(crate) fn resolve(self, lookup: &Lookup<'_>) -> DnsResponse {
        match self {
            Hazard::Insider => insider::resolve(lookup),
            Hazard::Rebind => rebind::resolve(lookup),
            Hazard::Mixed => mixed::resolve(lookup),
            Hazard::Tunnel => tunnel::resolve(lookup),
            Hazard::Tenants => tenants::resolve(lookup),
            Hazard::Absent => absent::resolve(lookup),
            Hazard::ServFail => servfail::resolve(lookup),
            Hazard::Mute => mute::resolve(lookup),
            Hazard::Garbled => garbled::resolve(lookup),
            Hazard::Crooked => crooked::resolve(lookup),
            Hazard::Shifting => shifting::resolve(lookup),
            Hazard::Alias => alias::resolve(lookup),
            Hazard::Ring => ring::resolve(lookup),
            Hazard::Descent => descent::resolve(lookup),
            Hazard::Fleeting => fleeting::resolve(lookup),
            Hazard::Truncated => truncated::resolve(lookup),
            _ => lookup.correct_response(),
        }
    }
}
