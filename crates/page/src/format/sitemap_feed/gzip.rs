//! Decompresses sitemaps that are stored as gzip files: `sitemap.xml.gz`.
//!
//! Here gzip is the file format, not a content coding, so no header announces it. A body is decompressed once, and only if
//! its URL ends in `.xml.gz` and it has the gzip signature. The first bytes are decompressed first; if they are not XML,
//! the rest is left alone. The output is bounded.

use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

use crate::media_type::{self, MediaType, sniff};

/// What was inside.
pub(crate) struct UnpackedSitemap {
    pub(crate) media_type: MediaType,
    pub(crate) body: Vec<u8>,
    /// There was more.
    pub(crate) cut: bool,
}

/// Unpacks a body that is an XML file in gzip, up to `most` bytes. A file that breaks off or is damaged gives what came
/// before.
pub(crate) fn unpack(url: &str, body: &[u8], most: usize) -> Option<UnpackedSitemap> {
    if !body.starts_with(b"\x1F\x8B\x08") || !is_packed_xml(url) {
        return None;
    }
    let mut packed = MultiGzDecoder::new(body);
    let mut inside = Vec::new();
    // An error ends the reading; what was read stays.
    let _ = packed
        .by_ref()
        .take(sniff::HEADER as u64)
        .read_to_end(&mut inside);
    let media_type = media_type::inside(&inside)?;
    let room = most.saturating_sub(inside.len()) as u64;
    let _ = packed.take(room.saturating_add(1)).read_to_end(&mut inside);
    let cut = inside.len() > most;
    inside.truncate(most);
    Some(UnpackedSitemap {
        media_type,
        body: inside,
        cut,
    })
}

fn is_packed_xml(url: &str) -> bool {
    const ENDING: &[u8] = b".xml.gz";
    let path = url.split(['?', '#']).next().unwrap_or_default().as_bytes();
    let start = path.len().checked_sub(ENDING.len());
    start.is_some_and(|start| path[start..].eq_ignore_ascii_case(ENDING))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::{Input, MediaType, Options, Page, PageRemark, read};

    fn packed(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    fn page(url: &str, body: &[u8]) -> Page {
        let content_type = Some("application/x-gzip");
        let input = Input {
            url,
            content_type,
            body,
            content_language: None,
        };
        read(&input, &Options::default())
    }

    #[test]
    fn sitemaps_in_gzip_files() {
        let sitemap = b"<?xml version='1.0'?><urlset><url><loc>http://a/b</loc></url></urlset>";
        let body = packed(sitemap);
        let found = page("http://a/sitemap.XML.gz?x=1", &body);
        assert_eq!(found.media_type, MediaType::SITEMAP);
        assert_eq!(found.declared_type.as_deref(), Some("application/x-gzip"));
        assert_eq!((found.links.len(), found.remarks.len()), (1, 0));
        // Broken off: what came before counts.
        assert_eq!(
            page("http://a/sitemap.xml.gz", &body[..body.len() - 9])
                .links
                .len(),
            1
        );
        // Named otherwise, or with something else inside, or packed twice: a gzip file like any other.
        for (url, body) in [
            ("http://a/data.gz", body.clone()),
            ("http://a/page.xml.gz", packed(b"<!doctype html><a href=x>")),
            ("http://a/twice.xml.gz", packed(&body)),
        ] {
            let found = page(url, &body);
            assert_eq!(found.media_type.as_str(), "application/x-gzip", "{url}");
            assert_eq!(found.links, []);
        }
    }

    #[test]
    fn bombs_are_cut() {
        let mut bomb = b"<?xml version='1.0'?><urlset><url><loc>/a</loc></url>".to_vec();
        bomb.resize(60 << 20, b' ');
        let bomb = packed(&bomb);
        let found = page("/bomb.xml.gz", &bomb);
        assert_eq!(found.links.len(), 1);
        assert_eq!(found.remarks, [PageRemark::SitemapTruncated]);
    }

    #[test]
    fn the_bound_can_be_lower() {
        let mut sitemap = b"<?xml version='1.0'?><urlset>".to_vec();
        while sitemap.len() < 20_000 {
            sitemap.extend_from_slice(b"<url><loc>http://a/b</loc></url>");
        }
        let body = packed(&sitemap);
        for (most, cut) in [(100, true), (5000, true), (sitemap.len(), false)] {
            let unpacked = super::unpack("/a.xml.gz", &body, most).expect("XML");
            assert_eq!(unpacked.body, sitemap[..most]);
            assert_eq!(unpacked.cut, cut, "{most}");
        }
        assert!(super::unpack("/a.xml.gz", &packed(&vec![0; 20_000]), 20_000).is_none());
    }
}
