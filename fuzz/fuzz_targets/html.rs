//! HTML. Reading is deterministic, the result keeps its limits, and a rewriter that replaces nothing returns the same
//! bytes. A page that was rewritten has only the new links.
#![no_main]

use aranha_fuzz::with_parameters;
use aranha_page::{Input, LinkRewriter, Options, read};
use libfuzzer_sys::fuzz_target;

const TYPES: [Option<&str>; 6] = [
    None,
    Some("text/html"),
    Some("text/html; charset=utf-8"),
    Some("text/html; charset=windows-1251"),
    Some("application/xhtml+xml"),
    Some("text/html; charset=iso-2022-jp"),
];

fuzz_target!(|data: &[u8]| {
    let (body, [kind]) = with_parameters(data);
    let input = Input {
        url: "http://example.org/dir/page.html",
        content_type: TYPES[usize::from(kind) % TYPES.len()],
        body,
        content_language: None,
    };
    let options = Options {
        assets: true,
        forms: kind & 64 != 0,
        scripts: kind & 128 != 0,
        max_links: 100,
        max_text: 1000,
        ..Options::default()
    };
    let page = read(&input, &options);
    assert!(page.links.len() <= options.max_links && page.text.len() <= options.max_text + 4);
    assert!(
        page.links
            .iter()
            .all(|link| link.href.len() <= options.max_href)
    );
    let again = read(&input, &options);
    assert_eq!(
        (again.links.len(), &again.text),
        (page.links.len(), &page.text)
    );
    if let Some(rewriter) = LinkRewriter::new(&input) {
        let same = rewriter.rewrite(|_, _| None);
        // The rewriter empties the base.
        assert!(
            rewriter.base().is_some() || *same == *body,
            "nothing was replaced"
        );
        let new = rewriter.rewrite(|_, _| Some("x.html".to_owned()));
        let rewritten = Input {
            body: &new,
            ..input
        };
        if let Some(rewriter) = LinkRewriter::new(&rewritten) {
            rewriter.rewrite(|kind, href| {
                assert_eq!(href, "x.html", "{kind:?} was not replaced");
                None
            });
        }
    }
});
