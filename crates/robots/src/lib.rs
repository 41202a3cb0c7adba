//! robots.txt, the robots meta tag and `X-Robots-Tag`. Pure: bytes in, rules out (R1, R2).
//!
//! A visit asks for `/robots.txt` first; [`access()`] says what the status means, [`Robots::parse`] reads the body,
//! [`Robots::agent`] compiles the rules for our product token once, and [`RobotsRules::judge`] answers for every URL of the
//! visit, with the line that decided. What pages say of themselves is [`Directives`].
//!
//! What always holds:
//! - **Parsing never fails.** 64% of the files in the wild break the syntax (V 5.4); what can be understood is
//!   obeyed, what cannot is passed over, and both leave a [`RobotsRemark`].
//! - **Matching is linear** in the length of the path, whatever pattern a site writes.
//! - **In doubt the site wins**: a fault that could be read two ways is read as the stricter one.
//!
//! RFC 9309 throughout; where it is silent, what Google publishes about its own reader.
//! Read first: [`mod@file`], then `pattern.rs`.

pub mod access;
pub mod directives;
pub mod file;
mod line;
mod pattern;
pub mod rules;

pub use access::{Access, access};
pub use directives::Directives;
pub use file::{Robots, RobotsRemark};
pub use rules::{Decision, RobotsRules, RuleRef};

/// The product token at the start of an agent's name: `aranha` of `aranha/0.1 (+https://…)`. RFC 9309 (2.2.1) knows
/// letters, `-` and `_`; digits are taken too, because robots are called so.
pub(crate) fn product_token(name: &str) -> &str {
    let name = name.trim_start();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    &name[..end.unwrap_or(name.len())]
}
