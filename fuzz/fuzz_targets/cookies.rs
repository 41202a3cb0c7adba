//! Cookies. The jar keeps its limits, a cookie is sent only to its own site, and a stored jar is read as it was.
#![no_main]

use aranha_fetch::{CookieJar, fuzzing::headers};
use aranha_fuzz::url;
use libfuzzer_sys::fuzz_target;

const NOW: i64 = 1_794_764_880_000;

fuzz_target!(|data: &[u8]| {
    let page = url("https://www.example.co.uk/dir/page");
    let lines = data
        .split(|byte| *byte == b'\n')
        .map(|value| (&b"Set-Cookie"[..], value));
    let headers = headers(lines);
    let mut jar = CookieJar::default();
    jar.store(&page, &headers, NOW);
    let before = jar.clone();
    assert!(
        jar.store(&page, &headers, NOW) || jar == before,
        "a changed jar is reported as changed"
    );
    if let Some(header) = jar.header(&page, NOW) {
        assert!(!header.is_empty() && !header.bytes().any(|byte| byte < b' ' && byte != b'\t'));
        assert!(header.len() <= 50 * (4096 + 3));
    }
    for other in [
        "https://co.uk/",
        "https://other.co.uk/dir/page",
        "https://notexample.co.uk/dir/page",
        "https://192.0.2.1/dir/page",
    ] {
        assert_eq!(jar.header(&url(other), NOW), None, "{other}");
    }
    assert!(
        jar.header(&url("http://www.example.co.uk/dir/page"), NOW)
            .is_none_or(|header| !header.starts_with("__Secure-"))
    );
    let text = serde_json::to_string(&jar).expect("a jar can be stored");
    let stored: CookieJar = serde_json::from_str(&text).expect("a stored jar can be read");
    assert_eq!(stored, jar);
});
