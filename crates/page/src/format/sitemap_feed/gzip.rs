//! Decompresses sitemaps that are stored as gzip files: `sitemap.xml.gz`.
//!
//! Here gzip is the format of the file and not a content coding, so no header announces it. A body is decompressed only
//! if its URL ends in `.xml.gz` and it has the gzip signature. The beginning is decompressed first. If it is not XML,
//! for example because the file was compressed twice, the rest is not decompressed. The output is at most `max` bytes
//! long.

use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

use crate::media_type::{self, MediaType, sniff};

/// The XML inside a gzip file.
pub(crate) struct DecompressedSitemap {
    pub(crate) media_type: MediaType,
    pub(crate) body: Vec<u8>,
    /// Whether bytes beyond the limit were dropped.
    pub(crate) truncated: bool,
}

/// Decompresses an XML file in gzip, up to `max` bytes. Returns `None` if the body is not such a file. A truncated or
/// damaged file gives the bytes before the damage.
pub(crate) fn decompress(url: &str, body: &[u8], max: usize) -> Option<DecompressedSitemap> {
    if !body.starts_with(b"\x1F\x8B\x08") || !has_xml_gz_extension(url) {
        return None;
    }
    let mut decoder = MultiGzDecoder::new(body);
    let mut xml = Vec::new();
    // Errors are ignored, and the bytes that were decompressed before the error are used.
    let _ = decoder
        .by_ref()
        .take(sniff::HEADER_BYTES as u64)
        .read_to_end(&mut xml);
    let media_type = media_type::of_xml(&xml)?;
    let remaining = max.saturating_sub(xml.len()) as u64;
    let _ = decoder
        .take(remaining.saturating_add(1))
        .read_to_end(&mut xml);
    let truncated = xml.len() > max;
    xml.truncate(max);
    Some(DecompressedSitemap {
        media_type,
        body: xml,
        truncated,
    })
}

fn has_xml_gz_extension(url: &str) -> bool {
    const EXTENSION: &[u8] = b".xml.gz";
    let path = url.split(['?', '#']).next().unwrap_or_default().as_bytes();
    let start = path.len().checked_sub(EXTENSION.len());
    start.is_some_and(|start| path[start..].eq_ignore_ascii_case(EXTENSION))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::{Input, Options, Page, PageRemark, read};

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("write to a vector");
        encoder.finish().expect("write to a vector")
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
        let body = gzip(sitemap);
        let found = page("http://a/sitemap.XML.gz?x=1", &body);
        assert_eq!(found.media_type.as_str(), "application/sitemap+xml");
        assert_eq!((found.links.len(), found.remarks.len()), (1, 0));
        // A truncated file gives the entries before the point at which it was cut off.
        assert_eq!(
            page("http://a/sitemap.xml.gz", &body[..body.len() - 9])
                .links
                .len(),
            1
        );
        // Files with another extension, without XML inside, or compressed twice are not read.
        for (url, body) in [
            ("http://a/data.gz", body.clone()),
            ("http://a/page.xml.gz", gzip(b"<!doctype html><a href=x>")),
            ("http://a/twice.xml.gz", gzip(&body)),
        ] {
            let found = page(url, &body);
            assert_eq!(found.media_type.as_str(), "application/x-gzip", "{url}");
            assert_eq!(found.links, []);
        }
    }

    #[test]
    fn decompression_bombs_are_truncated() {
        let mut bomb = b"<?xml version='1.0'?><urlset><url><loc>/a</loc></url>".to_vec();
        bomb.resize(60 << 20, b' ');
        let bomb = gzip(&bomb);
        let found = page("/bomb.xml.gz", &bomb);
        assert_eq!(found.links.len(), 1);
        assert_eq!(found.remarks, [PageRemark::SitemapTruncated]);
    }

    #[test]
    fn output_is_truncated_at_the_limit() {
        let mut sitemap = b"<?xml version='1.0'?><urlset>".to_vec();
        while sitemap.len() < 20_000 {
            sitemap.extend_from_slice(b"<url><loc>http://a/b</loc></url>");
        }
        let body = gzip(&sitemap);
        for (max, truncated) in [(100, true), (5000, true), (sitemap.len(), false)] {
            let found = super::decompress("/a.xml.gz", &body, max).expect("XML");
            assert_eq!(found.body, sitemap[..max]);
            assert_eq!(found.truncated, truncated, "{max}");
        }
        assert!(super::decompress("/a.xml.gz", &gzip(&vec![0; 20_000]), 20_000).is_none());
    }
}
