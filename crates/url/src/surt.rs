//! SURT: the sort-friendly form of a URL that CDX indexes use as key.

/// SURT form for CDXJ keys: `org,example)/a?b=c`.
pub fn surt(url: &str) -> String {
    url.to_owned()
}
