//! Filters and black lists. A filter that can be parsed can be parsed again from its text, and its negation is its
//! opposite. A black list of two parts blocks what either part blocks.
#![no_main]

use aranha_fuzz::url;
use aranha_url::{Blacklist, Filter};
use libfuzzer_sys::fuzz_target;

const URLS: [&str; 5] = [
    "http://example.org/",
    "https://www.example.co.uk:8443/a/b/c.zip?id=1&x",
    "http://192.0.2.7/private/",
    "http://[2001:db8::1]/index.html",
    "http://xn--mnchen-3ya.example/%C3%A9?q=%20",
];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(filter) = Filter::parse(&text) {
        let again = Filter::parse(filter.as_str()).expect("a filter can be parsed again");
        let negated = Filter::parse(&format!("not ({text})"));
        for address in URLS {
            let url = url(address);
            for depth in [0, 3] {
                let matches = filter.matches(&url, depth);
                assert_eq!(again.matches(&url, depth), matches);
                if let Ok(negated) = &negated {
                    assert_eq!(negated.matches(&url, depth), !matches);
                }
            }
        }
    }
    let (first, second) = text.split_once("\n\n").unwrap_or((&text, ""));
    if let (Ok(one), Ok(two)) = (
        Blacklist::parse_lines(first),
        Blacklist::parse_lines(second),
    ) {
        let mut both = Blacklist::parse_lines(first).expect("was parsed before");
        both.extend_lines(second).expect("was parsed before");
        for address in URLS {
            let url = url(address);
            let either = one.url(&url).is_some() || two.url(&url).is_some();
            assert_eq!(both.url(&url).is_some(), either);
            let either = one.site(&url).is_some() || two.site(&url).is_some();
            assert_eq!(both.site(&url).is_some(), either);
        }
    }
});
