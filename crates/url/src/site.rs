//! Site identity (U3): which hosts are one site, and which registrable domain a host belongs to.
//!
//! `www.` is folded only where what remains is itself a registrable domain by the public suffix list: 30% of
//! duplicate hosts were avoided at the second level, and folding at the third did harm (V 4.3.1). Under a top-level
//! domain that the list does not know (`.test`, `.lab`) its default rule `*` holds: the last label is the suffix.

/// The registrable domain of a host (`example.co.uk` of `a.b.example.co.uk`); none for addresses and for public
/// suffixes themselves. Private suffixes of the list (`github.io`) count: their tenants are strangers.
pub fn registrable(host: &str) -> Option<&str> {
    if is_address(host) {
        return None;
    }
    psl::domain_str(host)
}

/// Is this canonical host an IP address? WHATWG parsing has turned every spelling of an IPv4 address into four
/// decimal numbers and every IPv6 address into brackets, so the last byte of the host decides.
pub fn is_address(host: &str) -> bool {
    let bytes = host.as_bytes();
    bytes.first() == Some(&b'[')
        || (bytes.last().is_some_and(u8::is_ascii_digit)
            && host.parse::<std::net::Ipv4Addr>().is_ok())
}

/// How many bytes at the start of a canonical host are a `www.` that does not count: 4 or 0.
pub(crate) fn folded(host: &str) -> u32 {
    match host.strip_prefix("www.") {
        Some(rest) if registrable(rest) == Some(rest) => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fold(host: &str, folds: bool) {
        assert_eq!(folded(host), if folds { 4 } else { 0 }, "{host}");
    }

    #[test]
    fn www_folds_on_registrable_domains_only() {
        check_fold("www.example.org", true);
        check_fold("www.example.co.uk", true);
        check_fold("www.site.test", true);
        check_fold("www.site.lab", true);
        check_fold("www.someone.github.io", true);
        check_fold("www.news.example.org", false);
        check_fold("www.co.uk", false);
        check_fold("www.github.io", false);
        check_fold("www.org", false);
        check_fold("www.test", false);
        check_fold("example.org", false);
        check_fold("wwww.example.org", false);
        check_fold("www.www.example.org", false);
        check_fold("www.10.0.0.1", false);
    }

    #[test]
    fn registrable_domains() {
        assert_eq!(registrable("a.b.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable("a.b.lab"), Some("b.lab"));
        assert_eq!(registrable("com"), None);
        assert_eq!(registrable("localhost"), None);
        assert_eq!(registrable("127.0.0.1"), None);
        assert_eq!(registrable("[::1]"), None);
    }
}
