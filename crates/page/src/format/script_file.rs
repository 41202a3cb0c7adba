//! Reads scripts. Collects the URLs of imported modules, and of files that are named in strings.

use crate::links::collector::LinkCollector;
use crate::links::script_literal::{self, RelativeTo};
use crate::{LinkKind, Options, Page, media_type};

/// Reads a script into `page`. A script contains only links to files, so nothing is read without [`Options::assets`].
pub(super) fn read(script: &str, options: &Options, page: &mut Page) {
    if !options.assets {
        return;
    }
    let mut links = LinkCollector::new(options);
    add_links(script.as_bytes(), &mut links);
    page.links = links.finish(&mut page.remarks);
}

/// Adds the URLs of a script.
pub(super) fn add_links(script: &[u8], links: &mut LinkCollector) {
    script_literal::urls(script, |literal, relative_to| {
        if let Some(url) = script_literal::unescape(literal) {
            links.add(&url, kind(relative_to), false);
        }
    });
}

/// The kind of a URL in a script.
pub(crate) fn kind(relative_to: RelativeTo) -> LinkKind {
    match relative_to {
        RelativeTo::Script => LinkKind::Asset,
        RelativeTo::Document => LinkKind::ScriptFile,
    }
}

/// Whether a `script` element with this type contains a script or an import map. Other types are data (WHATWG HTML,
/// 4.12.1).
pub(crate) fn is_script_type(written: &[u8]) -> bool {
    let name = String::from_utf8_lossy(written.trim_ascii()).to_ascii_lowercase();
    matches!(name.as_str(), "" | "module" | "importmap") || media_type::is_script(&name)
}
