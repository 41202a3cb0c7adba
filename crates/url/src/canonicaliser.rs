//! Text in, [`CanonUrl`] or [`Rejected`] out.

use url::Url;

use crate::base::Base;
use crate::canonical::{CanonUrl, Place, Scheme};
use crate::rejected::Rejected;
use crate::rules::Rules;
use crate::site;

/// The compiled [`Rules`].
#[derive(Clone, Debug)]
pub struct Canonicaliser {
    rules: Rules,
}

impl Canonicaliser {
    /// Compile the rules.
    pub fn new(rules: Rules) -> Canonicaliser {
        Canonicaliser { rules }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// An absolute URL as typed, listed or sent in a header.
    pub fn canon(&self, text: &str) -> Result<CanonUrl, Rejected> {
        let url = Url::parse(text).map_err(|error| Rejected::Malformed(error.to_string()))?;
        self.settle(url)
    }

    /// A link as written in a page, against the page's base.
    pub fn join(&self, base: &Base, href: &str) -> Result<CanonUrl, Rejected> {
        let url = base
            .url
            .join(href)
            .map_err(|error| Rejected::Malformed(error.to_string()))?;
        self.settle(url)
    }

    /// Rebuild from a stored origin (`https://www.example.org`) and path (`/a?b`), both already canonical.
    pub fn rebuild(&self, origin: &str, path: &str) -> Result<CanonUrl, Rejected> {
        self.canon(&format!("{origin}{path}"))
    }

    fn settle(&self, mut url: Url) -> Result<CanonUrl, Rejected> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => return Err(Rejected::Scheme(other.to_owned())),
        };
        url.set_fragment(None);
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let host = url.host_str().ok_or(Rejected::NoHost)?;
        let start = scheme.authority_start() as u32;
        let fold = if self.rules.fold_www {
            site::folded(host)
        } else {
            0
        };
        let place = Place {
            scheme,
            port: url.port_or_known_default().unwrap_or(scheme.default_port()),
            site: start + fold,
            host_end: start + host.len() as u32,
            path: url[..url::Position::BeforePath].len() as u32,
        };
        Ok(CanonUrl::assemble(url.into(), place))
    }
}
