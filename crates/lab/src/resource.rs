//! Maps the paths of a site to resources.
//!
//! `layout` defines the tree of pages. This module adds copies, private and hidden pages, redirects, files and deleted
//! pages. Every path has a resource. The resource of an unknown path is [`Resource::Missing`]. Session identifiers are
//! first removed from the path, as servers with session URLs do (U4).

use crate::layout::{LeafFeature, decode, last_number};
use crate::robots;
use crate::site::Site;

/// A resource of a site. The numbers in the variants are page numbers (`layout.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A page of the tree.
    Page(usize),
    /// `/index.html` or `/copy/N.html`: the same bytes as page 0 or N.
    Copy(usize),
    /// The printable version of a leaf: the same text without navigation.
    Print(usize),
    /// A page that most robots.txt files disallow.
    Private(usize),
    /// A page under `/private/` that some robots.txt files allow by an exception.
    OpenPrivate,
    /// A page that is linked only with `rel=nofollow` or from pages with the robots meta tag `nofollow`.
    Hidden(usize),
    /// Redirects to page N by a `meta` refresh.
    Refresh(usize),
    /// A frameset.
    Frames,
    /// A page with an image map.
    ImageMap,
    /// An HTTP redirect with this status to this path.
    Redirect(u16, String),
    /// robots.txt with its text; `None` if the site has no such file.
    Robots(Option<&'static str>),
    Style,
    Logo,
    Picture(usize),
    /// A plain text file.
    TextFile(usize),
    /// A file of unknown type.
    BinaryFile(usize),
    /// Status 410.
    Gone,
    /// Status 404.
    Missing,
}

/// Number of private pages per site.
pub(crate) const PRIVATE_PAGES: usize = 3;
/// Number of redirects in a chain.
pub(crate) const CHAIN_LENGTH: usize = 3;

impl Resource {
    /// The resource at a path and query.
    pub(crate) fn at(site: &Site, target: &str) -> Resource {
        let target = without_session(target);
        if let Some(page) = site.page_at(&target) {
            return Resource::Page(page);
        }
        match target.as_str() {
            "/robots.txt" => return Resource::Robots(robots::text(site.robots)),
            "/index.html" => return Resource::Copy(0),
            "/style.css" => return Resource::Style,
            "/logo.png" => return Resource::Logo,
            "/frames.html" => return Resource::Frames,
            "/map.html" => return Resource::ImageMap,
            "/private/open.html" => return Resource::OpenPrivate,
            _ => {}
        }
        if let Some(section) = site.section_at(&format!("{target}/")) {
            return Resource::Redirect(301, site.page_path(section + 1));
        }
        numbered_resource(site, &decode(&target)).unwrap_or(Resource::Missing)
    }

    /// Status of the response.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Resource::Redirect(status, _) => *status,
            Resource::Gone => 410,
            Resource::Missing | Resource::Robots(None) => 404,
            _ => 200,
        }
    }

    /// Media type of the response, without parameters.
    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Resource::Robots(_) | Resource::TextFile(_) => "text/plain",
            Resource::Style => "text/css",
            Resource::Logo | Resource::Picture(_) => "image/png",
            Resource::BinaryFile(_) => "application/octet-stream",
            _ => "text/html",
        }
    }
}

/// The resource of a path that contains a number. The path must be exactly the result of [`path`] for this number. So
/// `/old/007.html` and `/old/7.html?x` have no resource.
fn numbered_resource(site: &Site, target: &str) -> Option<Resource> {
    let number = last_number(target)?;
    let leaf = site.is_leaf(number);
    let folder = target.split('/').nth(1)?;
    let resource = match folder {
        "private" if number < PRIVATE_PAGES => Resource::Private(number),
        "copy" if leaf && site.feature(number) == LeafFeature::Copied => Resource::Copy(number),
        "hidden" if leaf => Resource::Hidden(number),
        "refresh" if leaf => Resource::Refresh(number),
        "print" if leaf => Resource::Print(number),
        "pictures" if leaf => Resource::Picture(number),
        "notes" if leaf => Resource::TextFile(number),
        "data" if leaf => Resource::BinaryFile(number),
        "gone" => Resource::Gone,
        "old" if leaf => Resource::Redirect(redirect_status(number), site.page_path(number)),
        "moved" => return chain_redirect(site, target, number),
        _ => return None,
    };
    (path(folder, number) == target).then_some(resource)
}

/// The path of a numbered resource.
pub(crate) fn path(folder: &str, number: usize) -> String {
    match folder {
        "print" => format!("/print/show.php?print=1&id={number}"),
        "pictures" => format!("/pictures/{number}.png"),
        "notes" => format!("/notes/{number}.txt"),
        "data" => format!("/data/{number}.bin"),
        _ => format!("/{folder}/{number}.html"),
    }
}

/// A redirect of the chain `/moved/3-N` → `/moved/2-N` → … → page N.
fn chain_redirect(site: &Site, target: &str, leaf: usize) -> Option<Resource> {
    let step: usize = target
        .strip_prefix("/moved/")?
        .split('-')
        .next()?
        .parse()
        .ok()?;
    if step > CHAIN_LENGTH || !site.is_leaf(leaf) || target != format!("/moved/{step}-{leaf}") {
        return None;
    }
    let next = match step {
        0 => site.page_path(leaf),
        _ => format!("/moved/{}-{leaf}", step - 1),
    };
    Some(Resource::Redirect(redirect_status(leaf + step), next))
}

fn redirect_status(number: usize) -> u16 {
    [301, 302, 307, 308, 303][number % 5]
}

/// Removes `;jsessionid=…` and the query parameter `PHPSESSID`.
fn without_session(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.split(";jsessionid=").next().unwrap_or(path);
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("PHPSESSID="))
        .collect();
    if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::Plan;
    use crate::web::Web;

    fn site() -> Site {
        Site {
            size: 100,
            ..Site::new(&Plan::small(1), 3)
        }
    }

    #[test]
    fn resources_of_paths() {
        let site = site();
        let check = |target: &str, expected: Resource| {
            assert_eq!(Resource::at(&site, target), expected, "{target}");
        };
        check("/", Resource::Page(0));
        check("/;jsessionid=AB", Resource::Page(0));
        check("/index.html", Resource::Copy(0));
        check("/private/1.html", Resource::Private(1));
        check("/private/3.html", Resource::Missing);
        check("/old/50.html?x", Resource::Missing);
        check("/old/050.html", Resource::Missing);
        check("/old/5.html", Resource::Missing);
        check("/old/50.html", Resource::Redirect(301, site.page_path(50)));
        check(
            "/moved/1-50",
            Resource::Redirect(302, "/moved/0-50".to_owned()),
        );
        check("/moved/9-50", Resource::Missing);
        check("/print/show.php?print=1&id=50", Resource::Print(50));
        check("/gone/1.html", Resource::Gone);
        check("", Resource::Missing);
        let section = site.page_path(2);
        check(
            section.trim_end_matches('/'),
            Resource::Redirect(301, section.clone()),
        );
        check(&format!("{section}?PHPSESSID=1a"), Resource::Page(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_path_has_a_response(
            folder in "/?(noticias|news|old|moved|copy|print|private|gone|day)?[-/;?%]{0,3}",
            number in prop_oneof![Just(u64::MAX), any::<u64>(), 0..200u64],
            rest in "[a-z0-9%;/?=é.-]{0,12}",
        ) {
            let web = Web::new(Plan::small(1), 8000);
            let answer = web.answer("site001.lab", &format!("{folder}{number}{rest}"));
            prop_assert!(!answer.body.is_empty());
            let answer = web.answer("www.site001.lab", &format!("{folder}{number}{rest}"));
            prop_assert!(!answer.body.is_empty());
        }
    }
}
