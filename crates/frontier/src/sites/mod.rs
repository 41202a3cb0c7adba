//! What the Global Frontier does with a site, independent of the storage engine.
//!
//! A site is one row ([`site_row`]) and blocks of its pages: records, keys, window, queue, waiting pages. Each file has
//! the operations on one kind of block. [`core`] joins them: check-out, check-in, seeds, claims, orders. The storage
//! engine implements [`tables::Tables`], which stores rows and blocks, and [`tables::Inbox`], which carries links to
//! other sites. It also begins and commits the transactions in which the code here runs.
//!
//! Read first: [`site_row`], [`tables`], then [`checkout`] and [`checkin`].

mod admission;
pub(crate) mod block_fuzzing;
mod blocking;
pub(crate) mod checkin;
pub(crate) mod checkout;
mod claims;
pub(crate) mod core;
mod explain;
mod facts;
mod keys;
pub(crate) mod later;
pub(crate) mod listing;
mod make_due;
mod new_site;
pub(crate) mod page_block;
pub(crate) mod pages;
mod problems;
mod queue;
mod rediscover;
mod repair;
mod seeds;
pub(crate) mod site_row;
mod sources;
pub(crate) mod store;
pub(crate) mod tables;
pub(crate) mod totals;
pub(crate) mod unique;
mod window;
