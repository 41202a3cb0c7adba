//! The domains that link to a site, as one bit each ([`SiteFacts::sources`](crate::SiteFacts::sources)).
//!
//! A site that many domains link to is more likely to be worth its requests. The last two labels of a host name stand
//! for its domain, so that the hosts of one domain count once. All domains below a public suffix such as `co.uk`
//! therefore count as one, so the number of sources can be too low.

/// Beyond this number of bits, further domains are not counted.
const MAX_SOURCES: u32 = 16;

/// Adds the domain of the page `via` to `sources`, unless it is the domain of the site `name` itself.
pub(crate) fn add_source(sources: u64, name: &str, via: &str) -> u64 {
    if sources.count_ones() >= MAX_SOURCES {
        return sources;
    }
    let Some((_, rest)) = via.split_once("://") else {
        return sources;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let domain = domain(&rest[..end]);
    if domain.is_empty() || domain == self::domain(name) {
        return sources;
    }
    sources | 1 << bit(domain)
}

/// The last two labels of a host, without the port.
fn domain(host: &str) -> &str {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let last = host.rfind('.').unwrap_or_default();
    let start = host[..last].rfind('.').map_or(0, |dot| dot + 1);
    &host[start..]
}

/// The bit of a domain: the upper bits of its FNV-1a hash.
fn bit(domain: &str) -> u32 {
    let hash = domain.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_domain_counts_once() {
        let check = |via: &[&str], expected: u32| {
            let sources = via.iter().fold(0, |sources, via| {
                add_source(sources, "maze.example:8080", via)
            });
            assert_eq!(sources.count_ones(), expected, "{via:?}");
        };
        check(&[], 0);
        check(&["", "no url", "http://"], 0);
        check(&["https://a.example/", "http://www.a.example:81/b?c"], 1);
        check(&["https://a.example/", "https://b.example"], 2);
        check(&["https://shop-1.farm.net/", "https://shop-2.farm.net/"], 1);
        check(
            &["http://maze.example/", "http://user@www.maze.example/"],
            0,
        );
        check(&["http://192.0.2.1/", "http://[2001:db8::1]/"], 2);
        check(&["http://localhost/"], 1);
    }

    #[test]
    fn few_domains_are_counted_exactly_enough() {
        let sources = |count: u32| {
            let vias =
                (0..count).map(|number| format!("https://site{number}.example.org{number}/"));
            vias.fold(0, |sources, via| add_source(sources, "x.example", &via))
        };
        assert!((4..=6).contains(&sources(6).count_ones()));
        assert_eq!(sources(1000).count_ones(), MAX_SOURCES);
    }
}
