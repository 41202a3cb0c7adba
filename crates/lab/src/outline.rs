//! The links of a page, as they are written in it.
//!
//! Both the page's HTML (`html`) and the truth (`truth`) are made from this, so they cannot disagree. The
//! breadth of ways to write one link is the point: relative, absolute, with excess dots, upper-case hosts,
//! padded ports, session identifiers, fragments, raw letters that are not ASCII. One link in five leaves the
//! site (81.5% stay inside, Viuva Negra 3.3).

use crate::chance::Chance;
use crate::layout::{Flavour, decode};
use crate::resource::{CHAIN, PRIVATE_PAGES, Resource, path};
use crate::site::{Scheme, Site, Twin};
use crate::web::Web;

/// The element a link is written in.
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
    /// Embedded things that only crawlers of assets ask for.
    pub(crate) fn is_asset(self) -> bool {
        matches!(self, Markup::Image | Markup::Style)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) markup: Markup,
    /// As written, entities not yet escaped.
    pub(crate) href: String,
    /// `rel=nofollow`.
    pub(crate) nofollow: bool,
}

/// What of a page matters to one who follows links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// `base href` as written.
    pub(crate) base: Option<String>,
    /// Robots meta tag `nofollow`.
    pub(crate) nofollow: bool,
    pub(crate) links: Vec<Link>,
}

const OUTLINE: u64 = 20;
/// Links from a home page to the sites below it in the tree that connects all sites.
const BRANCHES: usize = 4;

/// The outline of a resource; empty for what is no page.
pub(crate) fn outline(web: &Web, site: &Site, resource: &Resource) -> Outline {
    match *resource {
        Resource::Page(0) | Resource::Copy(0) => home(web, site),
        Resource::Page(page) | Resource::Copy(page) if site.is_leaf(page) => leaf(web, site, page),
        Resource::Page(page) => section(web, site, page - 1),
        Resource::Print(page) => {
            let mut pen = Pen::new(web, site, &path("print", page));
            pen.inside(Markup::Anchor, &site.page_path(page));
            pen.finish()
        }
        Resource::Private(number) => {
            let mut pen = Pen::new(web, site, &path("private", number));
            pen.inside(Markup::Anchor, "/");
            pen.inside(Markup::Anchor, "/private/open.html");
            pen.finish()
        }
        Resource::Open => back_home(web, site, "/private/open.html"),
        Resource::Hidden(page) => back_home(web, site, &path("hidden", page)),
        Resource::Refresh(page) => {
            let mut pen = Pen::new(web, site, &path("refresh", page));
            pen.inside(Markup::Refresh, &site.page_path(page));
            pen.finish()
        }
        Resource::Frames => several(web, site, Markup::Frame, "/frames.html"),
        Resource::Map => several(web, site, Markup::Area, "/map.html"),
        _ => Outline::default(),
    }
}

fn home(web: &Web, site: &Site) -> Outline {
    let mut pen = Pen::new(web, site, "/");
    pen.rooted = true; // `/index.html` has the same bytes
    pen.asset(Markup::Style, "/style.css");
    pen.asset(Markup::Image, "/logo.png");
    for section in 0..site.sections() {
        pen.inside(Markup::Anchor, &site.page_path(section + 1));
    }
    for number in 0..PRIVATE_PAGES {
        pen.inside(Markup::Anchor, &path("private", number));
    }
    if site.size > 6 {
        pen.inside(Markup::Anchor, "/index.html");
        pen.inside(Markup::Anchor, "/map.html");
        pen.inside(Markup::Anchor, "/frames.html");
    }
    for branch in 1..=BRANCHES {
        if let Some(other) = web.site(site.number * BRANCHES + branch) {
            pen.outside(Markup::Anchor, &other, "/");
        }
    }
    pen.anywhere();
    pen.not_for_us();
    hostile(&mut pen, web, site);
    pen.finish()
}

/// Seeds share the links to hostile sites among them.
fn hostile(pen: &mut Pen<'_>, web: &Web, site: &Site) {
    if web.plan().hazards.is_empty() {
        return;
    }
    let seeds: Vec<usize> = web.seed_sites().map(|seed| seed.number).collect();
    let Some(place) = seeds.iter().position(|number| *number == site.number) else {
        return;
    };
    for position in (place..web.plan().hazards.len()).step_by(seeds.len()) {
        pen.write(Markup::Anchor, web.hazard_home(position));
    }
}

/// A section links to its leaves of even row; those of odd row are linked from the leaf before them, unless
/// nobody would follow its links.
fn section(web: &Web, site: &Site, section: usize) -> Outline {
    let mut pen = Pen::new(web, site, &site.page_path(section + 1));
    pen.asset(Markup::Style, "/style.css");
    let mut before = Flavour::RelNofollow;
    for (row, leaf) in site.leaves(section).enumerate() {
        let unfollowed = matches!(before, Flavour::MetaNofollow | Flavour::RelNofollow);
        before = site.flavour(leaf);
        if row % 2 == 0 || unfollowed {
            pen.inside(Markup::Anchor, &site.page_path(leaf));
        }
        if before == Flavour::Copied {
            pen.inside(Markup::Anchor, &path("copy", leaf));
        }
    }
    let next = (section + 1) % site.sections();
    let bare = format!("/{}", site.section_name(next)); // answered by a redirect to the slash
    pen.inside(Markup::Anchor, &bare);
    pen.anywhere();
    pen.finish()
}

fn leaf(web: &Web, site: &Site, page: usize) -> Outline {
    let own_path = site.page_path(page);
    let flavour = site.flavour(page);
    let mut pen = Pen::new(web, site, &own_path);
    pen.rooted = flavour == Flavour::Copied;
    pen.nofollow = flavour == Flavour::RelNofollow;
    if flavour == Flavour::Based {
        pen.base(&site.page_path(1 + page % site.sections()));
    }
    pen.asset(Markup::Style, "/style.css");
    if pen.chance.percent(50) {
        pen.asset(Markup::Image, &path("pictures", page));
    }
    let row = site.row(page).1;
    if row.is_multiple_of(2) && page + site.sections() < site.size {
        pen.inside(Markup::Anchor, &site.page_path(page + site.sections()));
    }
    flavoured(&mut pen, site, page, flavour);
    for _ in 0..3 + pen.chance.below(6) {
        if pen.chance.percent(20) {
            pen.anywhere();
        } else {
            let other = pen.chance.below(site.size);
            pen.inside(Markup::Anchor, &site.page_path(other));
        }
    }
    let mut outline = pen.finish();
    outline.nofollow = flavour == Flavour::MetaNofollow;
    outline
}

/// The links that only leaves of a flavour have.
fn flavoured(pen: &mut Pen<'_>, site: &Site, page: usize, flavour: Flavour) {
    let (markup, target) = match flavour {
        Flavour::Plain | Flavour::Copied | Flavour::Based => return,
        Flavour::MetaNofollow | Flavour::RelNofollow => (Markup::Anchor, path("hidden", page)),
        Flavour::Refresh => (Markup::Anchor, path("refresh", page)),
        Flavour::Inline => (Markup::Inline, site.page_path(pen.chance.below(site.size))),
        Flavour::Chain => (Markup::Anchor, format!("/moved/{CHAIN}-{page}")),
        Flavour::Moved => (Markup::Anchor, path("old", page)),
        Flavour::Broken => {
            pen.inside(Markup::Anchor, &path("missing", page));
            (Markup::Anchor, path("gone", page))
        }
        Flavour::Pictures => (Markup::Anchor, path("pictures", page)),
        Flavour::Files => {
            pen.inside(Markup::Anchor, &path("notes", page));
            (Markup::Anchor, path("data", page))
        }
        Flavour::Print => (Markup::Anchor, path("print", page)),
    };
    pen.inside(markup, &target);
}

fn back_home(web: &Web, site: &Site, own_path: &str) -> Outline {
    let mut pen = Pen::new(web, site, own_path);
    pen.inside(Markup::Anchor, "/");
    pen.finish()
}

/// Up to four sections in one kind of element.
fn several(web: &Web, site: &Site, markup: Markup, own_path: &str) -> Outline {
    let mut pen = Pen::new(web, site, own_path);
    for section in 0..site.sections().min(4) {
        pen.inside(markup, &site.page_path(section + 1));
    }
    pen.finish()
}

/// Writes the links of one page.
struct Pen<'a> {
    web: &'a Web,
    site: &'a Site,
    /// Folder that relative links start from.
    folder: String,
    /// Only links that mean the same from every folder.
    rooted: bool,
    nofollow: bool,
    chance: Chance,
    outline: Outline,
}

impl<'a> Pen<'a> {
    fn new(web: &'a Web, site: &'a Site, own_path: &str) -> Pen<'a> {
        let place = own_path.bytes().fold(OUTLINE, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Pen {
            web,
            site,
            folder: folder(own_path).to_owned(),
            rooted: false,
            nofollow: false,
            chance: Chance::of(site.seed, &[OUTLINE, site.number as u64, place]),
            outline: Outline::default(),
        }
    }

    fn base(&mut self, base: &str) {
        folder(base).clone_into(&mut self.folder);
        self.outline.base = Some(base.to_owned());
    }

    fn write(&mut self, markup: Markup, href: String) {
        self.outline.links.push(Link {
            markup,
            href,
            nofollow: self.nofollow,
        });
    }

    fn asset(&mut self, markup: Markup, target: &str) {
        self.outline.links.push(Link {
            markup,
            href: target.to_owned(),
            nofollow: false,
        });
    }

    /// A link to a path of the same site, written in one of many ways.
    fn inside(&mut self, markup: Markup, target: &str) {
        let way = self.chance.below(if self.rooted { 9 } else { 20 });
        let (name, port) = (self.site.name(), self.web.port());
        let href = match way {
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

    /// A link to another site, under either of its names.
    fn outside(&mut self, markup: Markup, site: &Site, target: &str) {
        let twin = site.twin != Twin::Absent && self.chance.percent(25);
        let name = site.named(site.www != twin);
        let secure = site.scheme != Scheme::Plain && self.chance.percent(50);
        let scheme = if secure { "https" } else { "http" };
        let port = self.web.port();
        self.write(markup, format!("{scheme}://{name}:{port}{target}"));
    }

    /// A link to some site: more likely one of a low number, so that some sites are well known.
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

    /// What no crawler of the web can fetch: other schemes, malformed links, a name without an address.
    fn not_for_us(&mut self) {
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

/// The path up to its last slash, query left out.
fn folder(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or(path);
    &path[..path.rfind('/').map_or(0, |at| at + 1)]
}

/// The reference that leads from a folder to a target, both beginning with `/`.
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
    fn references_are_relative() {
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

    const MARKS: [&str; 11] = [
        "HTTP:", "//", "/", "../", "./", "here/", ":08000", "#", "jsess", "PHPS", " ",
    ];

    /// Whatever way a link is written, it leads where it was meant to.
    #[test]
    fn all_ways_of_writing_lead_to_the_target() {
        let web = Web::new(Plan::demo(), 8000);
        let canonicaliser = Canonicaliser::new(UrlRules::default());
        let mut ways: HashSet<&str> = HashSet::new();
        let mut foreign = false;
        for number in 0..24 {
            let site = Site::new(web.plan(), number);
            for (page, target) in (0..site.size).zip((0..site.size).rev()) {
                let own_path = site.page_path(page);
                let url = format!("http://{}:8000{own_path}", site.name());
                let base = Base::of(&canonicaliser.canon(&url).expect("ours"));
                let mut pen = Pen::new(&web, &site, &own_path);
                let expected = site.page_path(target);
                pen.inside(Markup::Anchor, &expected);
                let href = &pen.finish().links[0].href;
                let found = canonicaliser.join(&base, href).expect("ours");
                assert_eq!(found.path(), expected, "{href:?} on {url}");
                assert_eq!((found.host(), found.port()), (site.name().as_str(), 8000));
                ways.extend(MARKS.iter().filter(|mark| href.contains(**mark)));
                foreign |= !href.is_ascii();
            }
        }
        assert_eq!(ways.len(), MARKS.len(), "{ways:?}");
        assert!(foreign);
    }
}
