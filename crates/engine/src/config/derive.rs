//! Values that are derived from other values unless a layer sets them: `fetch.user_agent` and `fetch.from` from product and
//! contact (N9), the product from `fetch.user_agent`, `fetch.accept` from the accepted media types (N8), and
//! `page.identify_language` from the filters in `crawl.keep` (U12).

use aranha_url::Filter;

use super::{Config, Origin, Origins};

const ACCEPT: &str = "fetch.accept";
const CONTACT: &str = "crawl.contact";
const PRODUCT: &str = "crawl.product";
const USER_AGENT: &str = "fetch.user_agent";

/// Sets `fetch.user_agent` and `fetch.from` unless a layer has set them. If a layer has set `fetch.user_agent` but not
/// `crawl.product`, sets the product from it, so that the rules of robots.txt for the sent name are obeyed.
pub(super) fn identity(config: &mut Config, origins: &mut Origins) {
    let contact = config
        .crawl
        .contact
        .trim_start_matches("mailto:")
        .to_owned();
    if origins.of(USER_AGENT) == Origin::Default {
        let composed = user_agent(&config.crawl.product, &contact);
        if composed != config.fetch.user_agent {
            let from = if contact.is_empty() { PRODUCT } else { CONTACT };
            origins.set(USER_AGENT, Origin::Derived(from));
            config.fetch.user_agent = composed;
        }
    } else if origins.of(PRODUCT) == Origin::Default
        && let Some(product) = product_of(&config.fetch.user_agent, &config.crawl.product)
    {
        origins.set(PRODUCT, Origin::Derived(USER_AGENT));
        product.clone_into(&mut config.crawl.product);
    }
    let mail = contact.contains('@') && !contact.contains("://");
    if mail && config.fetch.from.is_none() {
        origins.set("fetch.from", Origin::Derived(CONTACT));
        config.fetch.from = Some(contact);
    }
}

/// Sets `fetch.accept` from `fetch.media_types` unless a layer has set `fetch.accept`.
pub(super) fn accept(config: &mut Config, origins: &mut Origins) {
    let fetch = &mut config.fetch;
    if origins.of(ACCEPT) == Origin::Default && !fetch.media_types.is_empty() {
        // Other types are accepted with a low weight, so that a server still sends robots.txt.
        fetch.accept = format!("{},*/*;q=0.1", fetch.media_types.join(","));
        origins.set(ACCEPT, Origin::Derived("fetch.media_types"));
    }
}

/// Sets `page.identify_language` if `crawl.keep` tests the language, unless a layer has set `page.identify_language`.
pub(super) fn language(config: &mut Config, origins: &mut Origins) {
    const KEY: &str = "page.identify_language";
    let tests_language = |text: &String| {
        // An error in a filter is reported by the check of `crawl.keep`.
        Filter::parse(text).is_ok_and(|filter| filter.tests_language())
    };
    if origins.of(KEY) == Origin::Default && config.crawl.keep.iter().any(tests_language) {
        config.page.identify_language = true;
        origins.set(KEY, Origin::Derived("crawl.keep"));
    }
}

/// Whether a User-Agent header contains the product token. Case is ignored.
pub(super) fn has_product(user_agent: &str, product: &str) -> bool {
    tokens(user_agent).any(|token| token.eq_ignore_ascii_case(product))
}

/// The first product token in a User-Agent header. `None` if the header contains the token `default`, or no token at
/// all. If the header names a browser first, the name of the crawler follows `compatible;`.
fn product_of<'a>(user_agent: &'a str, default: &str) -> Option<&'a str> {
    if has_product(user_agent, default) {
        return None;
    }
    let name = user_agent.split_once("compatible;");
    tokens(name.map_or(user_agent, |(_, name)| name)).next()
}

/// The words of a User-Agent header that can be product tokens: letters, `-` and `_` (RFC 9309, 2.2.1).
fn tokens(user_agent: &str) -> impl Iterator<Item = &str> {
    let ends_token = |c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_');
    user_agent
        .split(ends_token)
        .filter(|token| !token.is_empty())
}

/// `aranha/0.1.0 (+https://example.org/crawler)`. By convention, a plus sign marks a page about the crawler.
fn user_agent(product: &str, contact: &str) -> String {
    let name = format!("{product}/{}", env!("CARGO_PKG_VERSION"));
    match contact {
        "" => name,
        page if page.contains("://") => format!("{name} (+{page})"),
        mail => format!("{name} ({mail})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{product_of, user_agent};

    #[track_caller]
    fn check(contact: &str, expected: &str) {
        assert_eq!(
            user_agent("aranha", contact),
            expected.replace("VERSION", env!("CARGO_PKG_VERSION"))
        );
    }

    #[test]
    fn products() {
        for (user_agent, expected) in [
            ("MyBot/1.0 (+https://example.org/bot)", Some("MyBot")),
            ("my-bot", Some("my-bot")),
            (
                "Mozilla/5.0 (compatible; OtherBot/2.1; +https://example.org)",
                Some("OtherBot"),
            ),
            ("Mozilla/5.0 (compatible; Aranha/1.0)", None),
            ("aranha crawl 3.", None),
            ("NotAranha/1.0", Some("NotAranha")),
            ("1.0", None),
        ] {
            assert_eq!(product_of(user_agent, "aranha"), expected, "{user_agent}");
        }
    }

    #[test]
    fn user_agents() {
        check("", "aranha/VERSION");
        check(
            "https://example.org/bot",
            "aranha/VERSION (+https://example.org/bot)",
        );
        check("bot@example.org", "aranha/VERSION (bot@example.org)");
    }
}
