//! Traps: endless sites and domains, recognised by the lack of new text and of links back (D5 to D8).
//!
//! [`novelty`] checks one site by its words ([`words`], [`dedup`], [`vocabulary`]). [`allowance`] limits the pages
//! without new text before the visits of a site are postponed. [`wildcard_domains`] checks all hosts of one domain
//! together, in the same way as the pages of one site. [`tld_wildcards`] finds top-level domains in which every name
//! has an address. [`soft_404`] recognises "not found" pages with status 200. [`site_share`] reports a site that takes
//! at least half of the requests. [`source_accounts`] limits the number of hosts that do not answer to which one site
//! may link.

pub(crate) mod allowance;
pub(crate) mod copied_links;
pub(crate) mod dedup;
pub(crate) mod novelty;
pub(crate) mod replay;
pub(crate) mod site_share;
pub(crate) mod soft_404;
pub(crate) mod source_accounts;
pub(crate) mod tld_wildcards;
pub(crate) mod vocabulary;
pub(crate) mod wildcard_domains;
pub(crate) mod words;
