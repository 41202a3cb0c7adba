//! Links of a page: the [`Link`] record, the `collector` that removes duplicates, and one module for each syntax that
//! contains URLs (`srcset`, style sheets, scripts, `meta` refresh, `Link` headers, `xml-stylesheet`).

pub(crate) mod collector;
pub(crate) mod css;
pub(crate) mod link_header;
pub(crate) mod meta_refresh;
pub(crate) mod rel;
pub(crate) mod script;
pub(crate) mod script_literal;
pub(crate) mod srcset;
pub(crate) mod xml_stylesheet;

use std::fmt;

use serde::{Deserialize, Serialize};

/// A link from a page to another resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// The URL as written, with character references decoded, outer white space and control characters trimmed, and
    /// tabs and line ends removed (WHATWG URL, 4.4, steps 1 to 3). It may be relative to
    /// [`Page::base`](crate::Page::base).
    pub href: String,
    /// The element or syntax that contains the link.
    pub kind: LinkKind,
    /// Whether every occurrence of this link in the page has `nofollow`, `ugc` or `sponsored` in its `rel`.
    pub nofollow: bool,
}

/// The element or syntax in which a link was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>` of an image map.
    Area,
    /// `<frame src>`, `<iframe src>`.
    Frame,
    /// `<form action>` with GET. Only with `Options::forms`.
    Form,
    /// `<meta http-equiv=refresh>`: a redirect that the page itself contains.
    Refresh,
    /// `<link rel=canonical>`.
    Canonical,
    /// `<link rel=alternate>`: other languages, feeds.
    Alternate,
    /// Any other `<link>` that leads to a page (next, prev, help …).
    Link,
    /// A file needed to display the page: image, style sheet, script, media. Only with `Options::assets`.
    Asset,
    /// A file that a script names in a string literal. Only with `Options::assets`. The URL is relative to the page
    /// that loads the script, even if the script is a file of its own.
    ScriptFile,
    /// A guess: a string in a script or event handler that looks like a URL. Only with `Options::scripts`.
    Script,
    /// An entry of a sitemap or sitemap index.
    Sitemap,
    /// An entry of a feed.
    Feed,
}

impl LinkKind {
    /// The name in output and in filters.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Anchor => "anchor",
            LinkKind::Area => "area",
            LinkKind::Frame => "frame",
            LinkKind::Form => "form",
            LinkKind::Refresh => "refresh",
            LinkKind::Canonical => "canonical",
            LinkKind::Alternate => "alternate",
            LinkKind::Link => "link",
            LinkKind::Asset => "asset",
            LinkKind::ScriptFile => "scriptfile",
            LinkKind::Script => "script",
            LinkKind::Sitemap => "sitemap",
            LinkKind::Feed => "feed",
        }
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
