//! The links of a page, as written in its HTML.
//!
//! Both the HTML (`html.rs`) and the URLs that a crawl must find (`truth.rs`) are made from the outline, so they agree.
//! Links are written in many forms: relative, absolute, with needless `.` and `..`, with upper-case hosts, with leading
//! zeros in the port, with session identifiers, with fragments, or with unescaped non-ASCII letters. One link in five
//! leads to another site (Viuva Negra 3.3: 81.5% of links stay within their site).

use crate::chance::Chance;
use crate::layout::{LeafFeature, decode};
use crate::resource::{CHAIN_LENGTH, PRIVATE_PAGES, Resource, path};
use crate::site::{SchemeSupport, Site, Twin};
use crate::web::Web;

/// The HTML element of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Markup {
    Anchor,
    Area,
    Frame,
    Inline,
    Refresh,
    Image,
    Style,
}

impl Markup {
    /// Whether the link is to an embedded resource. Only some crawlers fetch embedded resources.
    pub(crate) fn is_asset(self) -> bool {
        matches!(self, Markup::Image | Markup::Style)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutlineLink {
    pub(crate) markup: Markup,
    /// The value of `href`, without HTML escaping.
    pub(crate) href: String,
    /// Whether the link has `rel=nofollow`.
    pub(crate) nofollow: bool,
}

/// The parts of a page that determine which links a crawler follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// `base href` as written.
    pub(crate) base: Option<String>,
    /// Whether the page has the robots meta tag `nofollow`.
    pub(crate) nofollow: bool,
    pub(crate) links: Vec<OutlineLink>,
}

/// Key of the random stream for outlines.
const OUTLINE: u64 = 20;
/// A tree of links connects the home pages of all sites. This is the number of children of a home page.
const BRANCHES: usize = 4;

/// The outline of a resource. Empty if it is not a page.
pub(crate) fn outline(web: &Web, site: &Site, resource: &Resource) -> Outline {
    match *resource {
        Resource::Page(0) | Resource::Copy(0) => home(web, site),
        Resource::Page(page) | Resource::Copy(page) if site.is_leaf(page) => leaf(web, site, page),
        Resource::Page(page) => section(web, site, page - 1),
        Resource::Print(page) => {
            let mut writer = LinkWriter::new(web, site, &path("print", page));
            writer.inside(Markup::Anchor, &site.page_path(page));
            writer.finish()
        }
        Resource::Private(number) => {
            let mut writer = LinkWriter::new(web, site, &path("private", number));
            writer.inside(Markup::Anchor, "/");
            writer.inside(Markup::Anchor, "/private/open.html");
            writer.finish()
        }
        Resource::OpenPrivate => link_to_home(web, site, "/private/open.html"),
        Resource::Hidden(page) => link_to_home(web, site, &path("hidden", page)),
        Resource::Refresh(page) => {
            let mut writer = LinkWriter::new(web, site, &path("refresh", page));
            writer.inside(Markup::Refresh, &site.page_path(page));
            writer.finish()
        }
        Resource::Frames => links_to_sections(web, site, Markup::Frame, "/frames.html"),
        Resource::ImageMap => links_to_sections(web, site, Markup::Area, "/map.html"),
        _ => Outline::default(),
    }
}

fn home(web: &Web, site: &Site) -> Outline {
    let mut writer = LinkWriter::new(web, site, "/");
    writer.rooted = true; // `/index.html` has the same bytes, so no link may depend on the folder
    writer.asset(Markup::Style, "/style.css");
    writer.asset(Markup::Image, "/logo.png");
    for section in 0..site.sections() {
        writer.inside(Markup::Anchor, &site.page_path(section + 1));
    }
    for number in 0..PRIVATE_PAGES {
        writer.inside(Markup::Anchor, &path("private", number));
    }
    if site.size > 6 {
        writer.inside(Markup::Anchor, "/index.html");
        writer.inside(Markup::Anchor, "/map.html");
        writer.inside(Markup::Anchor, "/frames.html");
    }
    for branch in 1..=BRANCHES {
        if let Some(other) = web.site(site.number * BRANCHES + branch) {
            writer.outside(Markup::Anchor, &other, "/");
        }
    }
    writer.anywhere();
    writer.unfetchable();
    links_to_hazards(&mut writer, web, site);
    writer.finish()
}

/// Writes links to hostile sites into the home page of a seed. Each hostile site is linked from one seed, and each seed
/// links to about the same number of hostile sites.
fn links_to_hazards(writer: &mut LinkWriter<'_>, web: &Web, site: &Site) {
    if web.plan().hazards.is_empty() {
        return;
    }
    let seeds: Vec<usize> = web.seed_sites().map(|seed| seed.number).collect();
    let Some(seed) = seeds.iter().position(|number| *number == site.number) else {
        return;
    };
    for position in (seed..web.plan().hazards.len()).step_by(seeds.len()) {
        writer.write(Markup::Anchor, web.hazard_home(position));
    }
}

/// The outline of a section. The section links to its leaves at even positions. Each of these leaves links to the next
/// leaf. But if the links of a leaf must not be followed (`nofollow`), the section itself links to the next leaf. Like
/// nearly every list page of the real web, it has a link to the home page.
fn section(web: &Web, site: &Site, section: usize) -> Outline {
    let mut writer = LinkWriter::new(web, site, &site.page_path(section + 1));
    writer.asset(Markup::Style, "/style.css");
    let mut before = LeafFeature::RelNofollow;
    for (row, leaf) in site.leaves(section).enumerate() {
        let unfollowed = matches!(before, LeafFeature::MetaNofollow | LeafFeature::RelNofollow);
        before = site.feature(leaf);
        if row % 2 == 0 || unfollowed {
            writer.inside(Markup::Anchor, &site.page_path(leaf));
        }
        if before == LeafFeature::Copied {
            writer.inside(Markup::Anchor, &path("copy", leaf));
        }
    }
    let next = (section + 1) % site.sections();
    let bare = format!("/{}", site.section_name(next)); // the server redirects to the path with a final slash
    writer.inside(Markup::Anchor, &bare);
    writer.anywhere();
    // The last link, so that the random choices for the other links do not depend on it.
    writer.inside(Markup::Anchor, "/");
    writer.finish()
}

fn leaf(web: &Web, site: &Site, page: usize) -> Outline {
    let own_path = site.page_path(page);
    let feature = site.feature(page);
    let mut writer = LinkWriter::new(web, site, &own_path);
    writer.rooted = feature == LeafFeature::Copied;
    writer.nofollow = feature == LeafFeature::RelNofollow;
    if feature == LeafFeature::Based {
        writer.base(&site.page_path(1 + page % site.sections()));
    }
    writer.asset(Markup::Style, "/style.css");
    if writer.chance.percent(50) {
        writer.asset(Markup::Image, &path("pictures", page));
    }
    let row = site.row(page).1;
    if row.is_multiple_of(2) && page + site.sections() < site.size {
        writer.inside(Markup::Anchor, &site.page_path(page + site.sections()));
    }
    links_of_feature(&mut writer, site, page, feature);
    for _ in 0..3 + writer.chance.below(6) {
        if writer.chance.percent(20) {
            writer.anywhere();
        } else {
            let other = writer.chance.below(site.size);
            writer.inside(Markup::Anchor, &site.page_path(other));
        }
    }
    let mut outline = writer.finish();
    outline.nofollow = feature == LeafFeature::MetaNofollow;
    outline
}

/// Writes the links that a leaf has because of its feature.
fn links_of_feature(writer: &mut LinkWriter<'_>, site: &Site, page: usize, feature: LeafFeature) {
    let (markup, target) = match feature {
        LeafFeature::Plain | LeafFeature::Copied | LeafFeature::Based => return,
        LeafFeature::MetaNofollow | LeafFeature::RelNofollow => {
            (Markup::Anchor, path("hidden", page))
        }
        LeafFeature::Refresh => (Markup::Anchor, path("refresh", page)),
        LeafFeature::Inline => (
            Markup::Inline,
            site.page_path(writer.chance.below(site.size)),
        ),
        LeafFeature::Chain => (Markup::Anchor, format!("/moved/{CHAIN_LENGTH}-{page}")),
        LeafFeature::Moved => (Markup::Anchor, path("old", page)),
        LeafFeature::Broken => {
            writer.inside(Markup::Anchor, &path("missing", page));
            (Markup::Anchor, path("gone", page))
        }
        LeafFeature::Pictures => (Markup::Anchor, path("pictures", page)),
        LeafFeature::Files => {
            writer.inside(Markup::Anchor, &path("notes", page));
            (Markup::Anchor, path("data", page))
        }
        LeafFeature::Print => (Markup::Anchor, path("print", page)),
    };
    writer.inside(markup, &target);
}

fn link_to_home(web: &Web, site: &Site, own_path: &str) -> Outline {
    let mut writer = LinkWriter::new(web, site, own_path);
    writer.inside(Markup::Anchor, "/");
    writer.finish()
}

/// The outline of a page that links to at most four sections. All links have the same kind of element.
fn links_to_sections(web: &Web, site: &Site, markup: Markup, own_path: &str) -> Outline {
    let mut writer = LinkWriter::new(web, site, own_path);
    for section in 0..site.sections().min(4) {
        writer.inside(markup, &site.page_path(section + 1));
    }
    writer.finish()
}

/// Writes the links of one page.
struct LinkWriter<'a> {
    web: &'a Web,
    site: &'a Site,
    /// Folder of the page or of its `base`, to which relative links refer.
    folder: String,
    /// Whether to write only links that begin with a slash, a host or a scheme. Such links have the same target in
    /// every folder.
    rooted: bool,
    nofollow: bool,
    chance: Chance,
    outline: Outline,
}

impl<'a> LinkWriter<'a> {
    fn new(web: &'a Web, site: &'a Site, own_path: &str) -> LinkWriter<'a> {
        let path_hash = own_path.bytes().fold(OUTLINE, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        LinkWriter {
            web,
            site,
            folder: folder(own_path).to_owned(),
            rooted: false,
            nofollow: false,
            chance: Chance::of(site.seed, &[OUTLINE, site.number as u64, path_hash]),
            outline: Outline::default(),
        }
    }

    fn base(&mut self, base: &str) {
        folder(base).clone_into(&mut self.folder);
        self.outline.base = Some(base.to_owned());
    }

    fn write(&mut self, markup: Markup, href: String) {
        self.outline.links.push(OutlineLink {
            markup,
            href,
            nofollow: self.nofollow,
        });
    }

    fn asset(&mut self, markup: Markup, target: &str) {
        self.outline.links.push(OutlineLink {
            markup,
            href: target.to_owned(),
            nofollow: false,
        });
    }

    /// Writes a link to a path of the same site, in one of many forms.
    fn inside(&mut self, markup: Markup, target: &str) {
        let form = self.chance.below(if self.rooted { 9 } else { 20 });
        let (name, port) = (self.site.name(), self.web.port());
        let href = match form {
            0..4 => target.to_owned(),
            4 => format!("{}{target}", self.site.origin(port)),
            5 => format!("//{name}:{port}{target}"),
            6 => format!("HTTP://{}:{port}{target}#part", name.to_ascii_uppercase()),
            7 => format!("http://{name}:0{port}{target}"),
            8 => self.with_session(target),
            9 => format!(" {}\n", relative(&self.folder, target)),
            10 => format!("./{}", relative(&self.folder, target)),
            11 => format!("here/../{}", relative(&self.folder, target)),
            12 => format!(
                "{}#{}",
                relative(&self.folder, target),
                self.chance.below(9)
            ),
            13 => decode(&relative(&self.folder, target)),
            _ => relative(&self.folder, target),
        };
        self.write(markup, href);
    }

    fn with_session(&mut self, target: &str) -> String {
        let id = self.chance.next();
        let (path, query) = target
            .split_once('?')
            .map_or((target, None), |(p, q)| (p, Some(q)));
        match query {
            Some(query) => format!("{path}?PHPSESSID={id:016x}&{query}"),
            None if path.ends_with('/') => format!("{path}?PHPSESSID={id:016x}"),
            None => format!("{path};jsessionid={id:016X}"),
        }
    }

    /// Writes a link to another site, under its preferred name or its twin.
    fn outside(&mut self, markup: Markup, site: &Site, target: &str) {
        let twin = site.twin != Twin::Absent && self.chance.percent(25);
        let name = site.named(site.www != twin);
        let secure = site.scheme != SchemeSupport::Plain && self.chance.percent(50);
        let scheme = if secure { "https" } else { "http" };
        let port = self.web.port();
        self.write(markup, format!("{scheme}://{name}:{port}{target}"));
    }

    /// Writes a link to a random site. Sites with low numbers are more likely, so that some sites have many incoming
    /// links.
    fn anywhere(&mut self) {
        let sites = self.web.plan().sites;
        let number = self.chance.below(sites).min(self.chance.below(sites));
        let Some(site) = self.web.site(number) else {
            return;
        };
        let page = if self.chance.percent(60) {
            0
        } else {
            self.chance.below(site.size)
        };
        self.outside(Markup::Anchor, &site, &site.page_path(page));
    }

    /// Writes three random links that lead to no other page. Their scheme is not HTTP, their URL is malformed, empty or
    /// only a fragment, or their host name has no address.
    fn unfetchable(&mut self) {
        let absent = format!(
            "http://absent{:03}.lab:{}/",
            self.site.number,
            self.web.port()
        );
        let hrefs = [
            "mailto:webmaster@site.lab",
            "javascript:void(0)",
            "tel:+351210000000",
            "data:text/plain,lab",
            "http://[broken/",
            "http://",
            "#top",
            "",
            &absent,
        ];
        for _ in 0..3 {
            let href = self.chance.pick(&hrefs).to_owned();
            self.write(Markup::Anchor, href);
        }
    }

    fn finish(self) -> Outline {
        self.outline
    }
}

/// The path up to its last slash, without the query.
fn folder(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or(path);
    &path[..path.rfind('/').map_or(0, |at| at + 1)]
}

/// The relative reference from a folder to a target. Both begin with `/`.
fn relative(from: &str, target: &str) -> String {
    let common = from
        .bytes()
        .zip(folder(target).bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let shared = from[..common].rfind('/').map_or(0, |at| at + 1);
    let ups = from[shared..].matches('/').count();
    let rest = &target[shared..];
    match (ups, rest) {
        (0, "") => "./".to_owned(),
        (0, rest) if rest.starts_with('?') => format!("./{rest}"),
        _ => format!("{}{rest}", "../".repeat(ups)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use aranha_url::{Base, Canonicaliser, UrlRules};

    use super::*;
    use crate::plan::Plan;

    #[test]
    fn references_are_as_short_as_possible() {
        let check = |from, target, expected| {
            assert_eq!(relative(from, target), expected, "{from} to {target}");
        };
        check("/", "/", "./");
        check("/", "/a/b.html", "a/b.html");
        check("/a/", "/a/", "./");
        check("/a/", "/a/b?c", "b?c");
        check("/a/b/", "/a/c/d", "../c/d");
        check("/abc/", "/abd/x", "../abd/x");
        check("/a/b/", "/", "../../");
        check("/a/", "/a", "../a");
        check("/a/", "/a/show.php?id=1/2", "show.php?id=1/2");
    }

    /// A typical substring for each form of a link. The test checks that each substring occurs in some link.
    const MARKS: [&str; 11] = [
        "HTTP:", "//", "/", "../", "./", "here/", ":08000", "#", "jsess", "PHPS", " ",
    ];

    /// `aranha-url` resolves every form of a link to the path from which the form was made.
    #[test]
    fn all_forms_of_links_resolve_to_the_target() {
        let web = Web::new(Plan::demo(), 8000);
        let canonicaliser = Canonicaliser::new(UrlRules::default());
        let mut forms: HashSet<&str> = HashSet::new();
        let mut non_ascii = false;
        for number in 0..24 {
            let site = Site::new(web.plan(), number);
            for (page, target) in (0..site.size).zip((0..site.size).rev()) {
                let own_path = site.page_path(page);
                let url = format!("http://{}:8000{own_path}", site.name());
                let base = Base::of(
                    &canonicaliser
                        .canon(&url)
                        .expect("links of the lab are valid URLs"),
                );
                let mut writer = LinkWriter::new(&web, &site, &own_path);
                let expected = site.page_path(target);
                writer.inside(Markup::Anchor, &expected);
                let href = &writer.finish().links[0].href;
                let found = canonicaliser
                    .join(&base, href)
                    .expect("links of the lab are valid URLs");
                assert_eq!(found.path(), expected, "{href:?} on {url}");
                assert_eq!((found.host(), found.port()), (site.name().as_str(), 8000));
                forms.extend(MARKS.iter().filter(|mark| href.contains(**mark)));
                non_ascii |= !href.is_ascii();
            }
        }
        assert_eq!(forms.len(), MARKS.len(), "{forms:?}");
        assert!(non_ascii);
    }
}
