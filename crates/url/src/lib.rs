//! Canonical URLs, sites, keys, scope and filters: the first step of every page's way through aranha.
//!
//! A link enters as text ([`Canonicaliser::canon`], [`Canonicaliser::join`]) and leaves as a [`CanonUrl`] or as
//! the reason why it is none ([`Rejected`]). The canonical text names the site ([`CanonUrl::site`]), which is the
//! crawl's unit of work, and the two-level key ([`PageKey`]) under which the frontier knows the page. [`Scope`]
//! then says whether the crawl wants it, with the rule that decided.
//!
//! What always holds:
//! - **Pure.** No I/O, no clock, no global state: the same rules and the same text give the same answer.
//! - **Canonical text is a fixed point.** `canon(canon(x)) == canon(x)` under the same [`UrlRules`].
//! - **Twins are one page.** `http`/`https` on their default ports and, where [`UrlRules::fold_www`] applies, `www.`
//!   do not enter the key; the text keeps them, because one of the two names may be the only one that answers.
//!
//! Read first: [`canonicaliser`], then [`scope`].

pub mod base;
pub mod blacklist;
pub mod canonical;
pub mod canonicaliser;
pub mod filter;
mod glob;
mod growth;
pub mod key;
mod listing;
mod origin;
mod percent;
mod plain;
pub mod rejected;
pub mod rules;
pub mod scope;
mod session;
pub mod site;
mod surt;

pub use base::Base;
pub use blacklist::{Blacklist, BlacklistError};
pub use canonical::{CanonUrl, Scheme};
pub use canonicaliser::Canonicaliser;
pub use filter::{Filter, FilterError};
pub use key::{IdentityBuildHasher, PageKey, PathKey, SiteKey};
pub use rejected::Rejected;
pub use rules::UrlRules;
pub use scope::{Judgement, Reach, Scope, ScopeRule};
pub use site::registrable;
pub use surt::surt;
