//! Reads web application manifests (W3C Web Application Manifest) and collects the URLs of their icons and screenshots.
//!
//! Links to pages (`start_url`, `shortcuts`) are not collected, because a manifest is fetched as an asset of a page and
//! not to find pages.

use serde_json::Value;

use crate::links::collector::LinkCollector;
use crate::{LinkKind, MediaType, Options, Page};

/// Maximum bytes of a manifest. A longer manifest is not read, because its parsed form may take many times as much
/// memory.
const MAX_BYTES: usize = 1 << 20;

/// Whether JSON with this media type and URL is a manifest. Many servers send manifests as plain JSON.
pub(super) fn is_manifest(media_type: &MediaType, url: &str) -> bool {
    match media_type.as_str() {
        "application/manifest+json" => true,
        "application/json" | "text/json" | "text/plain" => {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            name.ends_with(".webmanifest") || name == "manifest.json"
        }
        _ => false,
    }
}

/// Reads a manifest into `page`.
pub(super) fn read(document: &str, options: &Options, page: &mut Page) {
    if !options.assets || document.len() > MAX_BYTES {
        return;
    }
    let Ok(manifest) = serde_json::from_str::<Value>(document) else {
        return;
    };
    let mut links = LinkCollector::new(options);
    add_images(&manifest["icons"], &mut links);
    add_images(&manifest["screenshots"], &mut links);
    for shortcut in manifest["shortcuts"].as_array().into_iter().flatten() {
        add_images(&shortcut["icons"], &mut links);
    }
    page.links = links.finish(&mut page.remarks);
}

/// Adds the `src` of every image resource in a list.
fn add_images(list: &Value, links: &mut LinkCollector) {
    for image in list.as_array().into_iter().flatten() {
        if let Some(src) = image["src"].as_str().filter(|src| !src.trim().is_empty()) {
            links.add(src.as_bytes(), LinkKind::Asset, false);
        }
    }
}
