//! Reads the `Link` header of a response (RFC 8288), by which servers ask browsers to load files before the page is read.

use std::collections::HashSet;

use crate::links::collector::LinkCollector;
use crate::links::{rel, srcset};
use crate::{Link, LinkKind, Options, Page};

/// Maximum number of links of one header.
const MAX_LINKS: usize = 200;

/// A link of a header.
#[derive(Debug, Default)]
struct HeaderLink<'a> {
    target: &'a str,
    rel: &'a str,
    imagesrcset: &'a str,
}

impl Page {
    /// With [`Options::assets`], adds the files that a `Link` header asks browsers to load (`preload`, `stylesheet`,
    /// `icon` …). If the page has a `<base href>`, only absolute URLs are added, because the links of a header are
    /// relative to the URL of the page.
    pub fn add_link_header(&mut self, header: &str, options: &Options) {
        if !options.assets {
            return;
        }
        let mut links = LinkCollector::new(options);
        for link in links_of(header).into_iter().take(MAX_LINKS) {
            if rel::link_kind(link.rel.as_bytes(), true) != Some(LinkKind::Asset) {
                continue;
            }
            links.add(link.target.as_bytes(), LinkKind::Asset, false);
            srcset::urls(link.imagesrcset.as_bytes(), |url| {
                links.add(url, LinkKind::Asset, false);
            });
        }
        let mut new = links.finish(&mut self.remarks);
        let is_absolute =
            |link: &Link| link.href.starts_with("http://") || link.href.starts_with("https://");
        new.retain(|link| !link.href.is_empty() && (self.base.is_none() || is_absolute(link)));
        if new.is_empty() {
            return;
        }
        let assets = self
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::Asset);
        let known: HashSet<&str> = assets.map(|link| link.href.as_str()).collect();
        new.retain(|link| !known.contains(link.href.as_str()));
        new.truncate(options.max_links.saturating_sub(self.links.len()));
        self.links.append(&mut new);
    }
}

/// The links of a header. Malformed links are skipped up to the next comma.
fn links_of(header: &str) -> Vec<HeaderLink<'_>> {
    let mut links = Vec::new();
    let mut rest = header;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, parameters)) = after.split_once('>') else {
            return links;
        };
        let mut link = HeaderLink {
            target,
            ..HeaderLink::default()
        };
        rest = parameters;
        while let Some(parameter) = rest.trim_start().strip_prefix(';') {
            let (name, value, after) = parameter_of(parameter);
            let field = match name.to_ascii_lowercase().as_str() {
                "rel" => Some(&mut link.rel),
                "imagesrcset" => Some(&mut link.imagesrcset),
                _ => None,
            };
            if let Some(field) = field.filter(|field| field.is_empty()) {
                *field = value;
            }
            rest = after;
        }
        links.push(link);
    }
    links
}

/// Splits off the first parameter. Returns its name, its value without quotes, and the text after it.
fn parameter_of(text: &str) -> (&str, &str, &str) {
    let name_end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let name = text[..name_end].trim();
    let Some(value) = text[name_end..].strip_prefix('=').map(str::trim_start) else {
        return (name, "", &text[name_end..]);
    };
    if let Some(quoted) = value.strip_prefix('"') {
        let (value, after) = quoted.split_once('"').unwrap_or((quoted, ""));
        (name, value, after)
    } else {
        let end = value.find([';', ',']).unwrap_or(value.len());
        (name, value[..end].trim_end(), &value[end..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assets() -> Options {
        Options {
            assets: true,
            ..Options::default()
        }
    }

    #[track_caller]
    fn check(header: &str, expected: &[&str]) {
        let mut page = Page::default();
        page.add_link_header(header, &assets());
        let hrefs: Vec<_> = page.links.iter().map(|link| link.href.as_str()).collect();
        assert_eq!(hrefs, expected, "{header}");
    }

    #[test]
    fn files_that_a_header_names() {
        check("</a.css>; rel=preload; as=style", &["/a.css"]);
        check(
            "<a.png>;REL=\"preload\" ;as=image, <b,c.woff2>; as=font; rel = \"x preload\"",
            &["a.png", "b,c.woff2"],
        );
        check(
            "<a>; rel=next, <b>; rel=canonical, <c>; rel=preconnect, <d>",
            &[],
        );
        check(
            "<>; rel=preload; as=image; imagesrcset=\"a.png 1x, b.png 2x\"",
            &["a.png", "b.png"],
        );
        check("<a>; rel=preload; rel=next, <a>; rel=icon", &["a"]);
        check("<a>; title=\"x; rel=next, <y>\"; rel=modulepreload", &["a"]);
        check("<a; rel=preload", &[]);
        check("<a> x; rel=preload, <b>; rel=preload", &["b"]);
        check("<a>;", &[]);
        check("", &[]);
    }

    #[test]
    fn links_are_relative_to_the_url_of_the_page() {
        let mut page = Page {
            base: Some("/other/".to_owned()),
            ..Page::default()
        };
        let header = "<a.png>; rel=preload, <http://a.example/b.png>; rel=preload";
        page.add_link_header(header, &Options::default());
        assert!(page.links.is_empty());
        page.add_link_header(header, &assets());
        assert_eq!(page.links.len(), 1);
        assert_eq!(page.links[0].href, "http://a.example/b.png");
    }
}
