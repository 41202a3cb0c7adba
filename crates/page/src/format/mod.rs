//! Chooses the reader for a body by its media type. Second step of [`read`](crate::read).
//!
//! Each format is one module with a function `read` that fills the [`Page`]:
//!
//! | format | module | fills |
//! |---|---|---|
//! | HTML, XHTML | `html` | links, metadata, text |
//! | sitemaps, RSS, Atom | `sitemap_feed` | links with their dates, title, language |
//! | plain text | `plain_text` | text |
//! | style sheets | `style_sheet` | links, with `Options::assets` |
//! | scripts | `script_file` | links, with `Options::assets` |
//! | SVG images | `html` | links, with `Options::assets` |
//! | web application manifests | `web_manifest` | links, with `Options::assets` |
//!
//! All other media types give a page without links or text. Documents such as PDF are read by the crate `aranha-read` in processes
//! of their own, because their readers may crash.
//!
//! To add a format: add a module with `read(body: &[u8], options: &Options, page: &mut Page)`,
//! a variant to [`Format`], its media type to `Format::of`, and an arm to the `match` in [`read`]. Like every reader,
//! it must not fail. It reports content that it cannot read as a [`PageRemark`].

mod html;
mod plain_text;
pub(crate) mod script_file;
mod sitemap_feed;
mod style_sheet;
mod web_manifest;

use std::borrow::Cow;

use crate::{Input, MediaType, Options, Page, PageRemark, charset};

/// The formats. Media types of the same format are read in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    /// HTML with XML syntax: `/>` ends any element, CDATA sections are text.
    Xhtml,
    /// Any XML except XHTML. Only sitemaps and feeds are read.
    Xml,
    /// SVG, which may embed other images and style sheets.
    Svg,
    PlainText,
    StyleSheet,
    /// Web application manifest.
    Manifest,
    Script,
    /// Text of which only the character set is determined: JSON that is not a manifest and, without `Options::assets`,
    /// style sheets, scripts and manifests.
    OtherText,
    /// Images, archives, PDF and office documents. They are not read.
    Binary,
}

impl Format {
    fn of(media_type: &MediaType, url: &str, options: &Options) -> Format {
        match (media_type.is_html(), media_type.is_xml()) {
            (true, false) => Format::Html,
            (true, true) => Format::Xhtml,
            (false, true) if options.assets && media_type.as_str() == "image/svg+xml" => {
                Format::Svg
            }
            (false, true) => Format::Xml,
            (false, false) if options.assets && media_type.as_str() == "text/css" => {
                Format::StyleSheet
            }
            (false, false) if options.assets && web_manifest::is_manifest(media_type, url) => {
                Format::Manifest
            }
            (false, false) if options.assets && media_type.is_script() => Format::Script,
            (false, false) if *media_type == MediaType::TEXT => Format::PlainText,
            (false, false) if media_type.is_text() => Format::OtherText,
            (false, false) => Format::Binary,
        }
    }
}

/// Reads the body into `page`, whose media type is already known.
pub(crate) fn read(input: &Input<'_>, options: &Options, page: &mut Page) {
    let body = decompress_sitemap(input, options, page);
    match Format::of(&page.media_type, input.url, options) {
        Format::Html => html::read(&decode(&body, input, page), false, options, page),
        Format::Xhtml => html::read(&decode(&body, input, page), true, options, page),
        Format::Xml => sitemap_feed::read(&decode(&body, input, page), options, page),
        Format::Svg => {
            let text = decode(&body, input, page);
            let without_text = Options {
                text: false,
                ..options.clone()
            };
            html::read(&text, true, &without_text, page);
        }
        Format::StyleSheet => style_sheet::read(&decode(&body, input, page), options, page),
        Format::Manifest => web_manifest::read(&decode(&body, input, page), options, page),
        Format::Script => script_file::read(&decode(&body, input, page), options, page),
        Format::PlainText => plain_text::read(&decode(&body, input, page), options, page),
        Format::OtherText => {
            decode(&body, input, page);
        }
        // Not read. A reader for a binary format would be called here, with `&body` instead of decoded text.
        Format::Binary => {}
    }
}

/// Decodes the body of a text format to UTF-8 and stores the name of its character set.
fn decode<'a>(body: &'a [u8], input: &Input<'_>, page: &mut Page) -> Cow<'a, str> {
    let decoded = charset::decode(
        body,
        input.content_type,
        input.url,
        &page.media_type,
        &mut page.remarks,
    );
    page.charset = decoded.charset;
    decoded.text
}

/// Returns the body to read. If it is a sitemap in a gzip file, the result is the decompressed XML, and `page` gets the
/// media type of the XML.
fn decompress_sitemap<'a>(input: &Input<'a>, options: &Options, page: &mut Page) -> Cow<'a, [u8]> {
    let Some(sitemap) = sitemap_feed::gzip::decompress(input.url, input.body, options.max_unpacked)
    else {
        return Cow::Borrowed(input.body);
    };
    page.media_type = sitemap.media_type;
    if sitemap.truncated {
        page.remarks.push(PageRemark::SitemapTruncated);
    }
    Cow::Owned(sitemap.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkKind, read};

    #[test]
    fn format_by_media_type() {
        for (media_type, expected, with_assets) in [
            ("text/html", Format::Html, Format::Html),
            ("application/xhtml+xml", Format::Xhtml, Format::Xhtml),
            ("application/sitemap+xml", Format::Xml, Format::Xml),
            ("application/rss+xml", Format::Xml, Format::Xml),
            ("text/xml", Format::Xml, Format::Xml),
            ("image/svg+xml", Format::Xml, Format::Svg),
            ("text/plain", Format::PlainText, Format::PlainText),
            ("text/css", Format::OtherText, Format::StyleSheet),
            ("text/javascript", Format::OtherText, Format::Script),
            ("application/json", Format::OtherText, Format::OtherText),
            (
                "application/manifest+json",
                Format::OtherText,
                Format::Manifest,
            ),
            ("application/pdf", Format::Binary, Format::Binary),
            ("image/png", Format::Binary, Format::Binary),
        ] {
            let of = |options: &Options| Format::of(&media_type.into(), "http://a/", options);
            assert_eq!(of(&Options::default()), expected, "{media_type}");
            assert_eq!(of(&assets()), with_assets, "{media_type}");
        }
    }

    fn assets() -> Options {
        Options {
            assets: true,
            ..Options::default()
        }
    }

    /// Checks which assets are collected from a body at `/dir/NAME`, and that without [`Options::assets`] no asset is
    /// collected.
    #[track_caller]
    fn check_assets(name: &str, content_type: &str, body: &[u8], expected: &[&str]) {
        let input = Input {
            url: &format!("http://example.org/dir/{name}"),
            content_type: Some(content_type),
            body,
            content_language: None,
        };
        let hrefs = |options: &Options| -> Vec<String> {
            let links = read(&input, options).links.into_iter();
            links
                .filter(|link| matches!(link.kind, LinkKind::Asset | LinkKind::ScriptFile))
                .map(|link| link.href)
                .collect()
        };
        let text = String::from_utf8_lossy(body);
        assert_eq!(hrefs(&assets()), expected, "{name} {content_type}: {text}");
        assert!(hrefs(&Options::default()).is_empty(), "{text}");
    }

    #[test]
    fn assets_of_html_elements() {
        let check = |html: &str, expected: &[&str]| {
            check_assets("a.html", "text/html", html.as_bytes(), expected);
        };
        check(
            "<img src=a.png srcset='b.png 1x, c.png 2x'>",
            &["a.png", "b.png", "c.png"],
        );
        check(
            "<img data-src=a.png data-srcset='b.png 640w'>",
            &["a.png", "b.png"],
        );
        check("<image src=a.png>", &["a.png"]);
        check(
            "<picture><source srcset='a.avif, b.avif 2x' type=image/avif><img src=c.png></picture>",
            &["a.avif", "b.avif", "c.png"],
        );
        check(
            "<video src=a.mp4 poster=b.jpg><source src=c.webm><track src=d.vtt></video>",
            &["a.mp4", "b.jpg", "c.webm", "d.vtt"],
        );
        check(
            "<audio src=a.ogg><source src=b.mp3></audio>",
            &["a.ogg", "b.mp3"],
        );
        check("<input type=image src=a.png>", &["a.png"]);
        check(
            "<object data=a.svg><embed src=b.swf></object>",
            &["a.svg", "b.swf"],
        );
        check(
            "<script src=a.js></script><script type=module src=b.mjs></script>",
            &["a.js", "b.mjs"],
        );
        check(
            "<body background=a.gif><td background=b.gif>",
            &["a.gif", "b.gif"],
        );
        check(
            "<p style='background: url(a.png), image-set(\"b.png\" 2x)'>",
            &["a.png", "b.png"],
        );
        check(
            "<style>@import 'a.css'; @font-face { src: url(b.woff2) }</style>",
            &["a.css", "b.woff2"],
        );
        check(
            "<svg><image href=a.png /><use xlink:href='b.svg#i'/><feImage href=c.png /></svg>",
            &["a.png", "b.svg#i", "c.png"],
        );
        check(
            "<svg><image xlink:href=a.png /><use href='#local'/><script href=b.js /></svg>",
            &["a.png", "b.js"],
        );
        check(
            "<iframe srcdoc=\"<img src='a.png'><link rel=stylesheet href=&quot;b.css&quot;><iframe srcdoc='<img src=no.png>'>\">",
            &["a.png", "b.css"],
        );
        check("<iframe srcdoc='<base href=/x/><img src=no.png>'>", &[]);
        check(
            "<img src=''><img src=' '><img src=data:image/gif;base64,R0>",
            &[],
        );
        check("<noscript><img src=a.png></noscript>", &["a.png"]);
    }

    #[test]
    fn assets_of_link_elements() {
        for relation in [
            "stylesheet",
            "alternate stylesheet",
            "icon",
            "shortcut icon",
            "apple-touch-icon",
            "apple-touch-icon-precomposed",
            "apple-touch-startup-image",
            "mask-icon",
            "fluid-icon",
            "image_src",
            "manifest",
            "preload",
            "modulepreload",
            "prefetch",
        ] {
            let html = format!("<link rel='{relation}' href=a>");
            check_assets("a.html", "text/html", html.as_bytes(), &["a"]);
        }
        check_assets(
            "a.html",
            "text/html",
            b"<link rel=preload as=image imagesrcset='a.png 1x, b.png 2x'><link rel=preload href=c imagesrcset=d>",
            &["a.png", "b.png", "c", "d"],
        );
        for relation in [
            "canonical",
            "next",
            "dns-prefetch",
            "preconnect",
            "alternate",
        ] {
            let html = format!("<link rel='{relation}' href=a>");
            check_assets("a.html", "text/html", html.as_bytes(), &[]);
        }
    }

    #[test]
    fn assets_of_style_sheets() {
        let sheet = b"/* url(no.png) */@import 'a.css';@font-face{src:url(b.woff2)}c{d:url(e\\(1\\).png),url(data:x),url(a.css)}";
        let expected = ["a.css", "b.woff2", "e(1).png"];
        check_assets("s.css", "text/css", sheet, &expected);
        check_assets("s", "text/css; charset=utf-8", sheet, &expected);
        check_assets("s.css", "application/octet-stream", sheet, &expected);
        check_assets("s.json", "application/json", sheet, &[]);
    }

    #[test]
    fn character_sets_of_style_sheets() {
        let bom = b"\xEF\xBB\xBFa{b:url(\xC3\xA9)}";
        check_assets("s.css", "text/css", bom, &["\u{e9}"]);
        let utf16: Vec<u8> = "\u{feff}a{b:url(\u{e9})}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        check_assets("s.css", "text/css", &utf16, &["\u{e9}"]);
        // The detector never returns this character set, so it must come from the `@charset` rule.
        let rule = b"@charset \"macintosh\";a{b:url(\x8E.png)}";
        check_assets("s.css", "text/css", rule, &["\u{e9}.png"]);
        check_assets(
            "s.css",
            "text/css; charset=iso-8859-2",
            b"@charset \"macintosh\";a{b:url(\xB1)}",
            &["\u{105}"],
        );
        // A rule in any other form is ignored, such as this one with single quotes.
        let other = b"@charset 'macintosh';a{b:url(\xC3\xA9)}";
        check_assets("s.css", "text/css", other, &["\u{e9}"]);
        let wide = b"@charset \"utf-16\";a{b:url(\xC3\xA9)}";
        check_assets("s.css", "text/css", wide, &["\u{e9}"]);
    }

    #[test]
    fn assets_of_svg_images() {
        check_assets(
            "a.svg",
            "image/svg+xml",
            b"<?xml version='1.0'?><?xml-stylesheet href='&#x30;.css'?><svg xmlns='http://www.w3.org/2000/svg'><style>@import 'a.css';</style><image href='b.png'/><use xlink:href='c.svg#x'/></svg>",
            &["0.css", "a.css", "b.png", "c.svg#x"],
        );
        // In HTML, the instruction is a comment.
        let html = b"<?xml-stylesheet href='no.css'?><p>";
        check_assets("a.html", "text/html", html, &[]);
    }

    #[test]
    fn assets_of_scripts() {
        let script = b"import './a.js'; f('/b.png', 'c/d.png')";
        let expected = ["./a.js", "/b.png", "c/d.png"];
        check_assets("s.js", "text/javascript", script, &expected);
        check_assets("s.mjs", "application/javascript", script, &expected);
        let check = |html: &str, expected: &[&str]| {
            check_assets("a.html", "text/html", html.as_bytes(), expected);
        };
        check("<script>f('c/d.png')</script>", &["c/d.png"]);
        check(
            "<script type=' Module '>import './a.js'</script>",
            &["./a.js"],
        );
        check(
            "<script type=importmap>{\"imports\": {\"a\": \"/a.js\"}}</script>",
            &["/a.js"],
        );
        check(
            "<script type=application/ld+json>{\"x\": \"/a.png\"}</script>",
            &[],
        );
        check("<img onmouseover=\"this.src='/a.png'\">", &["/a.png"]);
        check("<a href=\"javascript:show('/a.png')\">", &["/a.png"]);
    }

    #[test]
    fn icons_of_pages() {
        let has_icon = |html: &str| {
            let input = Input {
                body: html.as_bytes(),
                content_type: Some("text/html"),
                ..Input::default()
            };
            read(&input, &Options::default()).has_icon
        };
        assert!(has_icon("<link rel='shortcut icon' href=a.ico>"));
        assert!(!has_icon("<link rel=stylesheet href=a.css>"));
    }

    #[test]
    fn icons_of_manifests() {
        let manifest = br#"{"name": "x", "start_url": "/", "icons": [{"src": "a.png"}, {"src": 1}, 2, {"src": "/b.png"}],
            "screenshots": [{"src": "c.png"}], "shortcuts": [{"url": "/d", "icons": [{"src": "e.png"}]}]}"#;
        let expected = ["a.png", "/b.png", "c.png", "e.png"];
        check_assets("m", "application/manifest+json", manifest, &expected);
        check_assets("site.webmanifest", "application/json", manifest, &expected);
        check_assets("manifest.json?v=2", "application/json", manifest, &expected);
        check_assets("other.json", "application/json", manifest, &[]);
        check_assets(
            "m",
            "application/manifest+json",
            b"{\"icons\": \"a.png\"}",
            &[],
        );
        check_assets("m", "application/manifest+json", b"[1, 2", &[]);
    }
}
