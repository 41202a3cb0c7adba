//! Robots meta tag and `X-Robots-Tag` (R2).

use std::ops::{BitOr, BitOrAssign};

/// What a page asks of robots; the default asks for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Directives {
    /// Do not index: recorded.
    pub noindex: bool,
    /// Do not follow links: obeyed.
    pub nofollow: bool,
    /// Do not show a stored copy: recorded.
    pub noarchive: bool,
}

impl Directives {
    /// `<meta name=… content=…>`; names other than `robots` and the product's own give none.
    pub fn meta(_name: &str, _content: &str, _product: &str) -> Directives {
        Directives::default()
    }

    /// One `X-Robots-Tag` value.
    pub fn header(_value: &str, _product: &str) -> Directives {
        Directives::default()
    }
}

impl BitOr for Directives {
    type Output = Directives;

    fn bitor(self, other: Directives) -> Directives {
        Directives {
            noindex: self.noindex | other.noindex,
            nofollow: self.nofollow | other.nofollow,
            noarchive: self.noarchive | other.noarchive,
        }
    }
}

impl BitOrAssign for Directives {
    fn bitor_assign(&mut self, other: Directives) {
        *self = *self | other;
    }
}
