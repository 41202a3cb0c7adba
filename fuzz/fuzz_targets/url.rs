//! URL canonicalisation. The canonical form is a fixed point of `canon` and `join`, and can be rebuilt from its parts. A
//! base that was built from a URL resolves that URL to itself.
#![no_main]

use aranha_url::{Base, Canonicaliser, UrlRules, surt};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (base, href) = text
        .split_once('\n')
        .unwrap_or(("http://example.org/a/b?c", &text));
    for rules in [UrlRules::default(), UrlRules::default().literal()] {
        let canon = Canonicaliser::new(rules);
        let found = canon.canon(href);
        let Ok(page) = canon.canon(base) else {
            continue;
        };
        let document = Base::of(&page);
        for url in [
            found,
            canon.join(&document, href),
            canon.join(&document.with_href(href), "x"),
        ]
        .into_iter()
        .flatten()
        {
            let again = canon.canon(url.as_str()).expect("a canonical URL is valid");
            assert_eq!(again.as_str(), url.as_str(), "canon is idempotent");
            let joined = canon
                .join(&document, url.as_str())
                .expect("an absolute URL is valid");
            assert_eq!(
                joined.as_str(),
                url.as_str(),
                "an absolute URL does not depend on the base"
            );
            let rebuilt = canon
                .rebuild(url.origin(), url.path())
                .expect("the parts are valid");
            assert_eq!(rebuilt.as_str(), url.as_str());
            assert_eq!((rebuilt.site(), rebuilt.key()), (url.site(), url.key()));
            assert!(url.as_str().is_ascii() && !url.as_str().bytes().any(|byte| byte <= b' '));
            assert!(url.path().starts_with('/') && !url.host().is_empty());
            let _ = (surt(url.as_str()), aranha_url::registrable(url.host()));
        }
    }
});
