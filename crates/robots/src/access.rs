//! What the answer to a request for robots.txt means (RFC 9309, 2.3.1).

/// What to do with the file, judged by the status alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// 2xx: parse the body and obey it.
    Use,
    /// "Unavailable" (2.3.1.3), 4xx, and redirects that led nowhere (2.3.1.2): the site may be crawled.
    AllowAll,
    /// "Unreachable" (2.3.1.4), 5xx or no answer at all: nothing may be crawled now; try again later.
    DenyAll,
}

/// The meaning of a final status (after at most five redirects); `None` when there was no answer at all.
///
/// 429 is the one 4xx that says "later", not "there is none", so it denies: the RFC lets a crawler go on after 4xx,
/// it does not ask it to.
pub fn access(status: Option<u16>) -> Access {
    match status {
        Some(200..=299) => Access::Use,
        Some(429 | 500..) | None => Access::DenyAll,
        Some(_) => Access::AllowAll,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_status() {
        for (status, expected) in [
            (Some(200), Access::Use),
            (Some(206), Access::Use),
            (Some(301), Access::AllowAll),
            (Some(401), Access::AllowAll),
            (Some(403), Access::AllowAll),
            (Some(404), Access::AllowAll),
            (Some(410), Access::AllowAll),
            (Some(429), Access::DenyAll),
            (Some(500), Access::DenyAll),
            (Some(503), Access::DenyAll),
            (Some(999), Access::DenyAll),
            (None, Access::DenyAll),
        ] {
            assert_eq!(access(status), expected, "{status:?}");
        }
    }
}
