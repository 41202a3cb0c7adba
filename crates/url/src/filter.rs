//! Filter expressions (U10).

use std::fmt;

use crate::canonical::CanonUrl;

/// A parsed filter expression.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
}

/// Where and why an expression does not parse.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("filter, column {column}: {problem}")]
pub struct FilterError {
    /// Byte offset of the fault, counted from 0.
    pub position: usize,
    /// The same as people count: characters from 1.
    pub column: usize,
    /// One sentence.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

impl Filter {
    /// Parse an expression such as `domain:example.org and not (path:/private/* or ext:zip) and depth<5`.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter {
            text: text.to_owned(),
        })
    }

    /// Does the URL, found at this depth, satisfy the expression?
    pub fn matches(&self, _url: &CanonUrl, _depth: u16) -> bool {
        true
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
