//! Meaning of the HTTP status of robots.txt (RFC 9309, 2.3.1).

/// The permission that follows from the HTTP status of robots.txt alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// 2xx: parse the body and obey its rules.
    Use,
    /// "Unavailable" (2.3.1.3), 4xx, or a redirect chain that was too long (2.3.1.2): everything may be crawled.
    AllowAll,
    /// "Unreachable" (2.3.1.4), 5xx or no response: nothing may be crawled until robots.txt is fetched again.
    DenyAll,
}

/// Interprets the status of robots.txt after at most five redirects. `None` means that there was no response.
///
/// 429 is a 4xx status, but it denies everything, because it means "try later" and not "there is no file". After a 4xx
/// status, the RFC permits a crawler to access the site but does not require it.
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
    fn access_by_status() {
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
