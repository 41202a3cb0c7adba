//! Writes the HTML of a page: title, paragraphs of text and, between the paragraphs, the links of the outline.
//!
//! The markup varies as on the real web: attributes with single, double or no quotes, tags in upper or lower case, and
//! ampersands with or without escaping. The body also has a comment with a link, which a crawler must not follow.

use std::fmt::Write as _;

use crate::chance::Chance;
use crate::outline::{Markup, Outline, OutlineLink};
use crate::resource::Resource;
use crate::site::Site;

/// Key of the random stream for texts.
const TEXT: u64 = 30;

/// The HTML of a resource. Resources with the same [`text_key`] have the same text.
pub(crate) fn page(site: &Site, resource: &Resource, outline: &Outline) -> String {
    let (kind, number) = text_key(resource);
    let mut writer = HtmlWriter {
        out: String::with_capacity(6000),
        site,
        chance: Chance::of(site.seed, &[TEXT, site.number as u64, kind, number as u64]),
    };
    writer.head(outline);
    if *resource == Resource::Frames {
        writer.frames(outline);
    } else {
        writer.body(resource, outline);
    }
    writer.out
}

/// The page for an error or a redirect. It contains the requested path, so that all these pages differ.
pub(crate) fn notice(heading: &str, requested: &str, location: Option<&str>) -> String {
    let mut out =
        format!("<html><head><title>{heading}</title></head>\n<body><h1>{heading}</h1>\n<p>");
    escape(&mut out, requested);
    if let Some(location) = location {
        out.push_str(" &rarr; ");
        escape(&mut out, location);
    }
    out.push_str("</p></body></html>\n");
    out
}

/// The content of a plain text file.
pub(crate) fn plain(site: &Site, number: usize) -> String {
    let mut chance = Chance::of(site.seed, &[TEXT, site.number as u64, 9, number as u64]);
    let mut out = site.language.title(&mut chance);
    out.push_str("\n\n");
    site.language.paragraph(&mut out, &mut chance);
    out.push('\n');
    out
}

/// Key of the random stream for the text of a resource. A page, its copy and its print version have the same key.
fn text_key(resource: &Resource) -> (u64, usize) {
    match *resource {
        Resource::Page(page) | Resource::Copy(page) | Resource::Print(page) => (0, page),
        Resource::Private(number) => (1, number),
        Resource::Hidden(page) => (2, page),
        Resource::Refresh(page) => (3, page),
        Resource::Frames => (4, 0),
        Resource::ImageMap => (5, 0),
        _ => (6, 0),
    }
}

struct HtmlWriter<'a> {
    out: String,
    site: &'a Site,
    chance: Chance,
}

impl HtmlWriter<'_> {
    fn head(&mut self, outline: &Outline) {
        let language = self.site.language;
        let title = language.title(&mut self.chance);
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<title>{title}</title>\n",
            language.code
        );
        if !self.site.latin_1 {
            self.out.push_str("<meta charset=\"utf-8\">\n");
        }
        let _ = writeln!(self.out, "<meta name=\"description\" content=\"{title}\">");
        if outline.nofollow {
            self.out
                .push_str("<META NAME=\"ROBOTS\" CONTENT=\"index, NoFollow\">\n");
        }
        if let Some(base) = &outline.base {
            let _ = writeln!(self.out, "<base href=\"{base}\">");
        }
        for link in &outline.links {
            match link.markup {
                Markup::Style => {
                    let _ = writeln!(self.out, "<link rel=stylesheet href=\"{}\">", link.href);
                }
                Markup::Refresh => {
                    self.out
                        .push_str("<meta http-equiv=\"Refresh\" content=\"0; URL=");
                    escape(&mut self.out, link.href.trim());
                    self.out.push_str("\">\n");
                }
                _ => {}
            }
        }
        self.out.push_str("</head>\n");
    }

    fn body(&mut self, resource: &Resource, outline: &Outline) {
        let title = self.site.language.title(&mut self.chance);
        let _ = write!(self.out, "<body>\n<h1>{title}</h1>\n");
        self.out
            .push_str("<!-- <a href=\"/missing/comment.html\">old link</a> -->\n");
        if !matches!(resource, Resource::Print(_)) {
            let _ = writeln!(
                self.out,
                "<script type=\"text/javascript\">var here = \"{}\";</script>",
                self.site.bare()
            );
        }
        let in_body = |link: &&OutlineLink| !matches!(link.markup, Markup::Style | Markup::Refresh);
        let mut links = outline.links.iter().filter(in_body).peekable();
        let mut paragraphs = 3 + self.chance.below(5);
        while paragraphs > 0 || links.peek().is_some() {
            if paragraphs > 0 {
                self.out.push_str("<p>");
                self.site
                    .language
                    .paragraph(&mut self.out, &mut self.chance);
                self.out.push_str("</p>\n");
                paragraphs -= 1;
            }
            for link in links.by_ref().take(4) {
                self.element(link);
            }
        }
        self.out.push_str("</body>\n</html>\n");
    }

    fn frames(&mut self, outline: &Outline) {
        self.out.push_str("<frameset cols=\"30%,*\">\n");
        for link in &outline.links {
            self.out.push_str("<frame src=");
            self.attribute(&link.href);
            self.out.push_str(">\n");
        }
        self.out.push_str("</frameset>\n</html>\n");
    }

    fn element(&mut self, link: &OutlineLink) {
        let upper = self.chance.percent(15);
        self.out.push_str(match link.markup {
            Markup::Area => "<map name=m><area shape=rect coords=\"0,0,9,9\" alt=\"\" href=",
            Markup::Inline => "<iframe src=",
            Markup::Image => "<img alt=\"\" src=",
            _ if upper => "<A HREF=",
            _ => "<a href=",
        });
        self.attribute(&link.href);
        if link.nofollow {
            self.out.push_str(" rel=\"nofollow\"");
        }
        match link.markup {
            Markup::Area => self.out.push_str("></map>\n"),
            Markup::Inline => self.out.push_str("></iframe>\n"),
            Markup::Image => self.out.push_str(">\n"),
            _ => {
                let title = self.site.language.title(&mut self.chance);
                let _ = writeln!(self.out, ">{title}</{}>", if upper { "A" } else { "a" });
            }
        }
    }

    /// Appends an attribute value, quoted in one of several styles.
    fn attribute(&mut self, value: &str) {
        let simple = value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/.:-_?=%;#".contains(&b));
        let style = self.chance.below(6);
        match style {
            0 if simple && !value.is_empty() && !value.ends_with('/') => self.out.push_str(value),
            1 => {
                self.out.push('\'');
                escape(&mut self.out, value);
                self.out.push('\'');
            }
            2 => {
                // Ampersands are not escaped, as on most pages of the web. No link of the lab contains text that looks
                // like an entity.
                let _ = write!(self.out, "\"{value}\"");
            }
            _ => {
                self.out.push('"');
                escape(&mut self.out, value);
                self.out.push('"');
            }
        }
    }
}

pub(crate) fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
}
