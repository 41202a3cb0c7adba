//! A block on a site: the site is not visited until it is unblocked. Its queue and its stored pages are kept.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A block by the user is stored as this prefix followed by the black list entry. The prefix is part of the stored
/// format.
const STORED_USER_PREFIX: &str = "shut out by the black list: ";

/// The cause of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockedBy {
    /// The site reached a threshold (D5).
    Trap,
    /// An entry of the black list matches the site (D7).
    User,
}

/// A block on a site. It is stored as one string: the reason, with a fixed prefix if the cause is [`BlockedBy::User`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Blocked {
    /// The cause.
    pub by: BlockedBy,
    /// The threshold that was reached, or the black list entry.
    pub reason: String,
}

impl Blocked {
    /// A block on a site that was recognised as a trap.
    pub fn as_trap(reason: impl Into<String>) -> Blocked {
        Blocked {
            by: BlockedBy::Trap,
            reason: reason.into(),
        }
    }

    /// A block by a black list entry.
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
            BlockedBy::User => write!(f, "black list entry {}", self.reason),
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
