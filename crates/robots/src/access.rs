//! What the answer to a request for robots.txt means (RFC 9309, 2.3.1).

/// What to do with the file, judged by the status alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// 2xx: parse the body and obey it.
    Use,
    /// "Unavailable" (2.3.1.3), 4xx and what is no answer to the question: the site may be crawled.
    AllowAll,
    /// "Unreachable" (2.3.1.4), 5xx, no answer at all, and 429: nothing may be crawled now; try again later.
    DenyAll,
}

/// The meaning of a final status (after at most five redirects); `None` when there was no answer at all.
pub fn access(status: Option<u16>) -> Access {
    match status {
        Some(200..=299) => Access::Use,
        Some(429 | 500..) | None => Access::DenyAll,
        Some(_) => Access::AllowAll,
    }
}
