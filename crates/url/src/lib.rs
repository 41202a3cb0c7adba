//! Canonical URLs, sites, keys, scope and filters. Every link that is found passes through this crate first.
//!
//! [`Canonicaliser::canon`] and [`Canonicaliser::join`] turn text into a [`CanonUrl`], or return the reason why it is
//! not crawled ([`Rejected`]). The canonical URL determines the site ([`CanonUrl::site`]), the unit of work of the
//! crawl, and the two-level key ([`PageKey`]) of the page in the frontier. [`Scope`] then decides whether the URL
//! belongs to the crawl and names the deciding rule.
//!
//! Invariants:
//! - **Pure.** No I/O, no clock, no global state.
//! - **Canonical text is a fixed point.** `canon(canon(x)) == canon(x)` under the same [`UrlRules`].
//! - **Twins are one page.** The scheme (on default ports) and a folded `www.` ([`UrlRules::fold_www`]) are not part of
//!   the key. The text keeps them, because only one of the twins may respond.
//!
//! Read first: [`canonicaliser`], then [`scope`].
//!
//! ```
//! use aranha_url::{Base, Canonicaliser};
//!
//! let canonicaliser = Canonicaliser::default();
//! let page = canonicaliser.canon("HTTP://Example.ORG:80/docs/%7euser/index.html#top")?;
//! assert_eq!(page.as_str(), "http://example.org/docs/~user/index.html");
//!
//! let link = canonicaliser.join(&Base::of(&page), "../b?id=1")?;
//! assert_eq!(link.as_str(), "http://example.org/docs/b?id=1");
//! assert_eq!(link.site(), "example.org");
//! # Ok::<(), aranha_url::Rejected>(())
//! ```

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
mod parameters;
mod percent;
mod plain;
pub mod rejected;
pub mod rules;
pub mod scope;
pub mod site;
mod surt;

pub use base::Base;
pub use blacklist::{Blacklist, BlacklistError};
pub use canonical::{CanonUrl, Scheme};
pub use canonicaliser::Canonicaliser;
pub use filter::{Filter, FilterError, Response};
pub use key::{IdentityBuildHasher, PageKey, PathKey, SiteKey};
pub use rejected::Rejected;
pub use rules::UrlRules;
pub use scope::{Judgement, Reach, Scope, ScopeRule};
pub use site::{is_address, registrable};
pub use surt::surt;
