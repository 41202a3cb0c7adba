//! Reads style sheets and collects the URLs of the style sheets, fonts and images that they load.

use crate::links::collector::LinkCollector;
use crate::links::css;
use crate::{LinkKind, Options, Page};

/// Reads a style sheet into `page`. A style sheet contains only links to assets, so nothing is read without
/// [`Options::assets`].
pub(super) fn read(sheet: &str, options: &Options, page: &mut Page) {
    if !options.assets {
        return;
    }
    let mut links = LinkCollector::new(options);
    add_links(sheet.as_bytes(), &mut links);
    page.links = links.finish(&mut page.remarks);
}

/// Adds the URLs of a style sheet, of a `style` element or of a `style` attribute.
pub(super) fn add_links(sheet: &[u8], links: &mut LinkCollector) {
    css::urls(sheet, |url| {
        let url = String::from_utf8_lossy(url);
        links.add(css::unescape(&url).as_bytes(), LinkKind::Asset, false);
    });
}
