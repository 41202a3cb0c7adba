//! The syntax of HTML: tokens, names, character references, and a table of the elements that matter to a crawler.
//!
//! Used by three passes over a document: `format/html` reads pages, `rewrite/locate` finds the links to replace, and
//! `charset/prescan` looks for a declared character set. Read `tokenizer` first.

pub(crate) mod character_reference;
#[cfg(test)]
mod conformance;
pub(crate) mod element;
mod entities;
pub(crate) mod keys;
pub(crate) mod name;
pub(crate) mod open_elements;
pub(crate) mod raw_text;
pub(crate) mod tokenizer;
