//! Scope (U12): does the crawl want this URL, and which rule says so.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::blacklist::Blacklist;
use crate::canonical::CanonUrl;
use crate::filter::Filter;

/// How far from the seeds the crawl goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The seeds alone.
    Page,
    /// What lies under a seed's directory.
    Prefix,
    /// The seeds' sites, twins folded.
    #[default]
    Host,
    /// The seeds' registrable domains.
    Domain,
    /// Everything.
    Any,
}

/// The crawl's scope.
#[derive(Clone, Debug)]
pub struct Scope {}

/// The answer for one URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement<'a> {
    /// Does the crawl want it?
    pub inside: bool,
    /// Which rule says so; reads as a sentence.
    pub rule: ScopeRule<'a>,
}

/// The rule that decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScopeRule<'a> {
    /// Everything is in scope.
    Any(&'a str),
}

impl fmt::Display for ScopeRule<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("scope any")
    }
}

impl Scope {
    /// A scope without seeds; `tlds` widen it.
    pub fn new(
        _reach: Reach,
        _tlds: &[String],
        _filter: Option<Filter>,
        _reject: Option<Filter>,
        _blacklist: Blacklist,
        _max_depth: Option<u16>,
    ) -> Scope {
        Scope {}
    }

    /// Widen the scope by a seed.
    pub fn add_seed(&mut self, _seed: &CanonUrl) {}

    /// Is this URL, found at this depth, in scope?
    pub fn judge<'a>(&'a self, url: &'a CanonUrl, _depth: u16) -> Judgement<'a> {
        Judgement {
            inside: true,
            rule: ScopeRule::Any(url.as_str()),
        }
    }
}
