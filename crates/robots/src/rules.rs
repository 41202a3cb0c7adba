//! The compiled rules of one agent. Every URL of a visit is checked here.
//!
//! The longest matching pattern decides. If an `Allow` and a `Disallow` pattern have the same length, `Allow` decides
//! (RFC 9309, 2.2.2). Rules are sorted in that order, so the first match decides.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::pattern::{Pattern, Subject};

/// The rules of one agent, independent of the parsed file.
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

/// The decision for one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision<'a> {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// The deciding rule; `None` if no rule matched, which allows the path.
    pub rule: Option<RuleRef<'a>>,
}

/// A rule as written in the file, displayed as `line 12: Disallow: /private/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleRef<'a> {
    /// Line number from 1; 0 for the rule of [`Robots::deny_all`](crate::Robots::deny_all).
    pub line: u32,
    /// The line without its comment.
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
    /// Sorts the rules. Equal rules keep the order of the file, so that a decision always names the same line.
    pub(crate) fn new(mut rules: Vec<Rule>, delay: Option<Duration>) -> RobotsRules {
        rules.sort_by_key(|rule| (Reverse(rule.pattern.octets), !rule.allow, rule.line));
        RobotsRules { rules, delay }
    }

    /// Decides whether a URL may be fetched. `path` is its path and query, canonical or not. `/robots.txt` is always
    /// allowed (RFC 9309, 2.2.2).
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

    /// The longest Crawl-delay of the agent's groups, at most one day.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Number of `Allow` and `Disallow` lines for this agent.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether the agent has no rules, so that everything is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
