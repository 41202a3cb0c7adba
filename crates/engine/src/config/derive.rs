//! `fetch.user_agent` and `fetch.from`, derived from product and contact (N9).

use super::{Config, Origin, Origins};

const CONTACT: &str = "crawl.contact";

/// Sets `fetch.user_agent` and `fetch.from` unless a layer set them.
pub(super) fn identity(config: &mut Config, origins: &mut Origins) {
    let contact = config
        .crawl
        .contact
        .trim_start_matches("mailto:")
        .to_owned();
    if origins.of("fetch.user_agent") == Origin::Default {
        let composed = user_agent(&config.crawl.product, &contact);
        if composed != config.fetch.user_agent {
            let from = if contact.is_empty() {
                "crawl.product"
            } else {
                CONTACT
            };
            origins.set("fetch.user_agent", Origin::Derived(from));
            config.fetch.user_agent = composed;
        }
    }
    let mail = contact.contains('@') && !contact.contains("://");
    if mail && config.fetch.from.is_none() {
        origins.set("fetch.from", Origin::Derived(CONTACT));
        config.fetch.from = Some(contact);
    }
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
    use super::user_agent;

    #[track_caller]
    fn check(contact: &str, expected: &str) {
        assert_eq!(
            user_agent("aranha", contact),
            expected.replace("VERSION", env!("CARGO_PKG_VERSION"))
        );
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
