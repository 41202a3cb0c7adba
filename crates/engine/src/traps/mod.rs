//! Traps: endless sites and domains, recognised by what their pages bring (D5 to D8).
//!
//! [`novelty`] decides about one site, [`wildcard_domains`] about the hosts of one domain; both compare words ([`words`],
//! [`dedup`]). [`soft_404`] recognises "not found" pages with status 200. [`site_share`] reports a site that takes most of the
//! crawl's requests.

pub(crate) mod dedup;
pub(crate) mod novelty;
pub(crate) mod site_share;
pub(crate) mod soft_404;
pub(crate) mod wildcard_domains;
pub(crate) mod words;
