//! Style sheets. A rewriter that replaces nothing returns the same bytes; one that replaces every URL leaves only the new
//! ones, and as many as before. The crawl finds the URLs that the rewriter replaces.
#![no_main]

use aranha_page::{Input, LinkKind, LinkRewriter, Options, read};
use libfuzzer_sys::fuzz_target;

fn input(body: &[u8]) -> Input<'_> {
    Input {
        url: "http://example.org/style.css",
        content_type: Some("text/css; charset=utf-8"),
        body,
        content_language: None,
    }
}

fn urls(body: &[u8]) -> Vec<String> {
    let mut urls = Vec::new();
    if let Some(rewriter) = LinkRewriter::new(&input(body)) {
        let same = rewriter.rewrite(|kind, url| {
            assert_eq!(kind, LinkKind::Asset);
            urls.push(url.to_owned());
            None
        });
        assert_eq!(&*same, body, "nothing was replaced");
    }
    urls
}

fuzz_target!(|data: &[u8]| {
    let found = urls(data);
    let options = Options {
        assets: true,
        ..Options::default()
    };
    let page = read(&input(data), &options);
    assert!(page.links.iter().all(|link| link.kind == LinkKind::Asset));
    if str::from_utf8(data).is_ok() {
        // The crawl drops some fragments.
        let without_fragment = |url: &str| url.split('#').next().map(str::to_owned);
        for url in found.iter().filter(|url| url.len() < 1000) {
            let wanted = without_fragment(url);
            let is_found = page
                .links
                .iter()
                .any(|link| without_fragment(&link.href) == wanted);
            assert!(
                is_found || wanted.is_none_or(|url| url.is_empty()),
                "{url:?} is not in {:?}",
                page.links
            );
        }
    }
    if let Some(rewriter) = LinkRewriter::new(&input(data)) {
        let new = rewriter.rewrite(|_, _| Some("x.png".to_owned()));
        let after = urls(&new);
        assert!(
            after.iter().all(|url| url == "x.png"),
            "{after:?} in {:?}",
            String::from_utf8_lossy(&new)
        );
        assert_eq!(
            after.len(),
            found.len(),
            "{:?}",
            String::from_utf8_lossy(&new)
        );
    }
});
