//! One agent's rules, compiled for a visit.

use std::fmt;
use std::time::Duration;

/// The rules of one agent: owned and small.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    delay: Option<Duration>,
}

/// The answer for one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision<'a> {
    /// May it be fetched?
    pub allowed: bool,
    /// The rule that decided; none when no rule matched.
    pub rule: Option<RuleRef<'a>>,
}

/// A rule as it stands in the file: shows as `line 12: Disallow: /private/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleRef<'a> {
    /// Counted from 1.
    pub line: u32,
    /// As written.
    pub text: &'a str,
}

impl fmt::Display for RuleRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.text)
    }
}

impl Rules {
    /// `path` is the path and query of the URL.
    pub fn judge(&self, _path: &str) -> Decision<'_> {
        Decision {
            allowed: true,
            rule: None,
        }
    }

    /// The longest Crawl-delay of the agent's groups.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay
    }
}
