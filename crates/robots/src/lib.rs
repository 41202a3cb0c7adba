//! robots.txt, the robots meta tag and `X-Robots-Tag` (R1, R2). Pure: no I/O.
//!
//! A visit fetches `/robots.txt` first. [`access()`] interprets the status, [`Robots::parse`] reads the body,
//! [`Robots::agent`] compiles the rules of one agent, and [`RobotsRules::judge`] decides for every URL of the visit and
//! names the deciding line. [`Directives`] are the requests of a single page to crawlers (`noindex`, `nofollow`).
//!
//! Invariants:
//! - **Parsing never fails.** 64% of the files on the web violate the syntax (Viuva Negra 5.4). A faulty line is obeyed
//!   if its meaning is clear and ignored otherwise; in both cases it leaves a [`RobotsRemark`].
//! - **Matching is linear** in the length of the path for every pattern.
//! - **Ambiguities are resolved in the site's favour.** If a faulty line has two possible meanings, the stricter one is
//!   used.
//!
//! The rules are those of RFC 9309. Where the RFC has no rule, Google's published behaviour is followed. Read first:
//! [`mod@file`], then `pattern.rs`.
//!
//! ```
//! use aranha_robots::Robots;
//!
//! let robots = Robots::parse(b"User-agent: *\nDisallow: /private/\n");
//! let rules = robots.agent("aranha");
//! assert!(rules.judge("/index.html").allowed);
//! let decision = rules.judge("/private/letter.html");
//! assert!(!decision.allowed);
//! assert_eq!(decision.rule.unwrap().to_string(), "line 2: Disallow: /private/");
//! ```

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

/// The product token at the start of an agent name: `aranha` in `aranha/0.1 (+https://…)`. RFC 9309 (2.2.1) allows
/// letters, `-` and `_`; digits are accepted too, because some existing robots have digits in their names.
pub(crate) fn product_token(name: &str) -> &str {
    let name = name.trim_start();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    &name[..end.unwrap_or(name.len())]
}
