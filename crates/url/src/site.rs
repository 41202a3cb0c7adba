//! Site identity (U3): folding of `www.`, and the registrable domain of a host.
//!
//! `www.` is folded only if the rest of the host is a registrable domain by the public suffix list. Folding at the
//! second level (`www.example.org`) avoids 30% of the duplicate hosts; folding at the third level
//! (`www.news.example.org`) would merge different sites (Viuva Negra 4.3.1). For a top-level domain that is not on the
//! list (`.test`, `.lab`), the default rule of the list applies: the last label is the suffix.

/// The registrable domain of a host (`example.co.uk` for `a.b.example.co.uk`); `None` for IP addresses and public
/// suffixes. Private suffixes of the list (`github.io`) count as suffixes, because their subdomains have different
/// owners.
pub fn registrable(host: &str) -> Option<&str> {
    if is_address(host) {
        return None;
    }
    psl::domain_str(host)
}

/// Whether a canonical host is an IP address. The WHATWG parser writes IPv4 addresses as four decimal numbers and IPv6
/// addresses in brackets, so the first and the last byte are sufficient for most hosts.
pub fn is_address(host: &str) -> bool {
    let bytes = host.as_bytes();
    bytes.first() == Some(&b'[')
        || (bytes.last().is_some_and(u8::is_ascii_digit)
            && host.parse::<std::net::Ipv4Addr>().is_ok())
}

/// Length of the folded `www.` at the start of a canonical host: 4 or 0.
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
