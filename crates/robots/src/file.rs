//! A robots.txt file, read line by line.

use std::fmt;

use crate::rules::Rules;

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    sitemaps: Vec<String>,
    remarks: Vec<Remark>,
}

/// A fault in the file that was tolerated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Counted from 1.
    pub line: u32,
    /// What was wrong and what was made of it.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.text)
    }
}

impl Robots {
    /// Never fails; at most the first 500 KiB are read.
    pub fn parse(_bytes: &[u8]) -> Robots {
        Robots::default()
    }

    /// Everything may be crawled: the file is unavailable.
    pub fn allow_all() -> Robots {
        Robots::default()
    }

    /// Nothing may be crawled: the file is unreachable.
    pub fn deny_all() -> Robots {
        Robots::default()
    }

    /// The rules for one product token (`aranha`), all its groups merged; those of `*` when none names it.
    pub fn agent(&self, _product: &str) -> Rules {
        Rules::default()
    }

    /// Sitemap lines, as written.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Faults that were tolerated.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }
}
