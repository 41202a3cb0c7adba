//! One agent's rules, compiled for a visit: the part of the crate that every URL goes through.
//!
//! The most specific match wins, by octets; between equals `Allow` (RFC 9309, 2.2.2). Rules are kept in that order,
//! so the first that matches decides.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::pattern::{Pattern, Subject};

/// The rules of one agent: owned and small, whatever else the file holds.
#[derive(Clone, Debug, Default)]
pub struct RobotsRules {
    rules: Vec<Rule>,
    delay: Option<Duration>,
}

/// One `Allow` or `Disallow` line.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) allow: bool,
    pub(crate) line: u32,
    pub(crate) text: Box<str>,
    pub(crate) pattern: Pattern,
}

/// The answer for one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision<'a> {
    /// May it be fetched?
    pub allowed: bool,
    /// The rule that decided; none when no rule matched, which allows.
    pub rule: Option<RuleRef<'a>>,
}

/// A rule as it stands in the file: shows as `line 12: Disallow: /private/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleRef<'a> {
    /// Counted from 1; 0 for the rule that stands for a file that could not be had.
    pub line: u32,
    /// The line as written, without comment.
    pub text: &'a str,
}

impl fmt::Display for RuleRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => out.write_str(self.text),
            line => write!(out, "line {line}: {}", self.text),
        }
    }
}

impl RobotsRules {
    /// The order among equals is that of the file, so that the same file names the same line each time.
    pub(crate) fn new(mut rules: Vec<Rule>, delay: Option<Duration>) -> RobotsRules {
        rules.sort_by_key(|rule| (Reverse(rule.pattern.octets), !rule.allow, rule.line));
        RobotsRules { rules, delay }
    }

    /// May this be fetched? `path` is the path and query of the URL, canonical or not; `/robots.txt` always may
    /// (RFC 9309, 2.2.2).
    pub fn judge(&self, path: &str) -> Decision<'_> {
        if self.rules.is_empty() || path == "/robots.txt" {
            return Decision {
                allowed: true,
                rule: None,
            };
        }
        let path = Subject::new(path);
        match self.rules.iter().find(|rule| rule.pattern.matches(&path)) {
            Some(rule) => Decision {
                allowed: rule.allow,
                rule: Some(RuleRef {
                    line: rule.line,
                    text: &rule.text,
                }),
            },
            None => Decision {
                allowed: true,
                rule: None,
            },
        }
    }

    /// The longest Crawl-delay of the agent's groups; at most a day.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay
    }

    /// How many `Allow` and `Disallow` lines concern this agent.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Nothing is disallowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
