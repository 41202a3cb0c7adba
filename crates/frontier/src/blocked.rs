//! Why a site is blocked: its pages wait, and no visit is made until it is unblocked.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Start of the stored text of a block by the user; the entry of the black list follows. Never changes.
const STORED_USER_PREFIX: &str = "shut out by the black list: ";

/// What blocked a site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockedBy {
    /// The crawl: the site reached a threshold (D5).
    Trap,
    /// The user: an entry of the black list names the site (D7).
    User,
}

/// A block on a site. Stored as one string: the reason, with a fixed prefix for [`BlockedBy::User`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Blocked {
    /// What blocked the site.
    pub by: BlockedBy,
    /// For a trap, the threshold that was reached. For the user, the entry of the black list.
    pub reason: String,
}

impl Blocked {
    /// A block because the site is a trap.
    pub fn as_trap(reason: impl Into<String>) -> Blocked {
        Blocked {
            by: BlockedBy::Trap,
            reason: reason.into(),
        }
    }

    /// A block by this entry of the black list.
    pub fn by_user(entry: impl Into<String>) -> Blocked {
        Blocked {
            by: BlockedBy::User,
            reason: entry.into(),
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            BlockedBy::Trap => f.write_str(&self.reason),
            BlockedBy::User => write!(f, "shut out by the black list: {}", self.reason),
        }
    }
}

impl From<String> for Blocked {
    fn from(stored: String) -> Blocked {
        match stored.strip_prefix(STORED_USER_PREFIX) {
            Some(entry) => Blocked::by_user(entry),
            None => Blocked::as_trap(stored),
        }
    }
}

impl From<Blocked> for String {
    fn from(blocked: Blocked) -> String {
        match blocked.by {
            BlockedBy::Trap => blocked.reason,
            BlockedBy::User => format!("{STORED_USER_PREFIX}{}", blocked.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_block_is_read_back() {
        for blocked in [
            Blocked::as_trap("50 pages"),
            Blocked::by_user("*.example.org"),
        ] {
            let stored = String::from(blocked.clone());
            assert_eq!(Blocked::from(stored), blocked);
        }
    }
}
