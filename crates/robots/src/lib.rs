//! robots.txt, the robots meta tag and `X-Robots-Tag`. Pure: bytes in, rules out.

pub mod access;
pub mod directives;
pub mod file;
pub mod rules;

pub use access::{Access, access};
pub use directives::Directives;
pub use file::{Remark, Robots};
pub use rules::{Decision, RuleRef, Rules};
