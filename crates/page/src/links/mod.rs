//! Links of a page: the [`Link`] record, the collector without duplicates, and a module for each place that holds URLs.

pub(crate) mod collector;
pub(crate) mod css;
pub(crate) mod meta_refresh;
pub(crate) mod rel;
pub(crate) mod script;
pub(crate) mod srcset;

use std::fmt;

use serde::{Deserialize, Serialize};

/// One reference from a page to somewhere else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// As written, with character references decoded, outer white space and control characters trimmed, and tabs
    /// and line ends removed (WHATWG URL, section 4.4, steps 1 to 3). Relative to [`Page::base`](crate::Page::base).
    pub href: String,
    /// The kind of element that contains it.
    pub kind: LinkKind,
    /// The author asks not to follow or not to vouch (`rel` holds nofollow, ugc or sponsored) wherever the page
    /// has this link.
    pub nofollow: bool,
}

/// The kind of place a link was found in.
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
    /// `<meta http-equiv=refresh>`: a redirect in the page.
    Refresh,
    /// `<link rel=canonical>`.
    Canonical,
    /// `<link rel=alternate>`: other languages, feeds.
    Alternate,
    /// Any other `<link>` that leads to a page (next, prev, help …).
    Link,
    /// A file needed to display the page: image, style sheet, script, media. Only with `Options::assets`.
    Asset,
    /// A guess: found by pattern in a script or event handler. Only with `Options::scripts`.
    Script,
    /// An address in a sitemap, or in an index of sitemaps.
    Sitemap,
    /// An entry of a feed.
    Feed,
}

impl LinkKind {
    /// The name people read and filters use.
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
