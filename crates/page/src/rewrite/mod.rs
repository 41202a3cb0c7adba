//! Replaces the links of an HTML page, SVG image, style sheet or script and keeps all other bytes. Used by `aranha export
//! mirror`.
//!
//! [`LinkRewriter::new`] finds the links (`locate` for HTML and SVG, `links/css` for style sheets, `links/script_literal`
//! for scripts). The caller chooses the replacement of each link in [`LinkRewriter::rewrite`]. Replacements are ASCII, so
//! they are valid in every supported character set.
//!
//! **Invariants.** Bytes outside replaced links do not change, except for attributes that would break the replacements:
//! `<base href>`, `integrity` and a content security policy are emptied, and `crossorigin` is renamed. A replacement cannot
//! end the value, element, literal or `url(…)` that contains it. Rewriting never fails and takes linear time.
//!
//! The file is long because about half of it is a list of test cases.

mod locate;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use encoding_rs::Encoding;

use self::locate::{LinkSpan, SpanSyntax};
use crate::format::script_file;
use crate::html_syntax::character_reference::{TextKind, decode};
use crate::links::collector::{clean, is_data_or_script};
use crate::links::script_literal;
use crate::links::{css, meta_refresh, srcset};
use crate::text::builder::into_string;
use crate::{Input, LinkKind, charset, media_type};

/// Returns the new URL of a link, or `None` to keep the link.
type Replace<'r> = dyn FnMut(LinkKind, &str) -> Option<String> + 'r;

/// A document and the positions of its links.
///
/// ```
/// use aranha_page::{Input, LinkRewriter};
///
/// let input = Input {
///     url: "http://example.org/",
///     content_type: Some("text/html"),
///     body: b"<p title='/next'><a href='/next'>next</a>",
///     content_language: None,
/// };
/// let rewriter = LinkRewriter::new(&input).expect("HTML");
/// let copy = rewriter.rewrite(|_kind, url| Some(format!("example.org{url}.html")));
/// assert_eq!(&*copy, b"<p title='/next'><a href='example.org/next.html'>next</a>");
/// ```
#[derive(Debug)]
pub struct LinkRewriter<'a> {
    document: &'a [u8],
    encoding: &'static Encoding,
    spans: Vec<LinkSpan>,
    base: Option<String>,
    is_script: bool,
}

impl<'a> LinkRewriter<'a> {
    /// Finds the links of HTML, an SVG image, a style sheet or a script. `None` for other media types, and for character sets that are not
    /// supersets of ASCII (UTF-16, ISO-2022-JP).
    pub fn new(input: &Input<'a>) -> Option<LinkRewriter<'a>> {
        let document = input.body;
        let mut remarks = Vec::new();
        let media_type = media_type::decide(input.content_type, input.url, document, &mut remarks);
        let whole = match media_type.as_str() {
            "text/css" => Some(SpanSyntax::StyleSheet),
            "image/svg+xml" => None,
            _ if media_type.is_script() => Some(SpanSyntax::Script),
            _ if media_type.is_html() => None,
            _ => return None,
        };
        let charset = charset::decode(
            document,
            input.content_type,
            input.url,
            &media_type,
            &mut remarks,
        )
        .charset;
        let encoding = Encoding::for_label(charset.as_bytes())?;
        if !encoding.is_ascii_compatible() {
            return None;
        }
        Some(match whole {
            Some(syntax) => LinkRewriter {
                document,
                encoding,
                spans: vec![LinkSpan {
                    range: 0..document.len(),
                    syntax,
                }],
                base: None,
                is_script: syntax == SpanSyntax::Script,
            },
            None => LinkRewriter::of_html(document, encoding, media_type.is_xml()),
        })
    }

    fn of_html(document: &'a [u8], encoding: &'static Encoding, xml: bool) -> LinkRewriter<'a> {
        let (spans, base) = locate::find(document, xml);
        let mut rewriter = LinkRewriter {
            document,
            encoding,
            spans,
            base: None,
            is_script: false,
        };
        rewriter.base =
            base.map(|range| clean_link(&rewriter.decode_value(&document[range])).into_owned());
        rewriter
    }

    /// Whether the document is a script. Links of the kind [`LinkKind::ScriptFile`] in a script are relative to the
    /// page that loads the script. All other links are relative to the document itself.
    pub fn is_script(&self) -> bool {
        self.is_script
    }

    /// Name of the character set. A URL parser that resolves links needs it to encode queries.
    pub fn charset(&self) -> &'static str {
        self.encoding.name()
    }

    /// The first `<base href>`. Links are relative to this base, and the base is relative to the URL of the page.
    /// [`LinkRewriter::rewrite`] empties the attribute.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Returns the document with its links replaced. `replace` gets the kind of each link and its URL, decoded and
    /// cleaned. It returns the new URL, in ASCII, or `None` to keep the link as it is. String literals of scripts that look
    /// like the URL of a file have the kind [`LinkKind::ScriptFile`], and imports of modules [`LinkKind::Asset`].
    pub fn rewrite(
        &self,
        mut replace: impl FnMut(LinkKind, &str) -> Option<String>,
    ) -> Cow<'a, [u8]> {
        self.rewrite_with(&mut replace)
    }

    fn rewrite_with(&self, replace: &mut Replace<'_>) -> Cow<'a, [u8]> {
        let mut edits = Vec::new();
        for span in &self.spans {
            if let Some(new) = self.rewrite_span(span, replace) {
                edits.push((span.range.clone(), new));
            }
        }
        if edits.is_empty() {
            return Cow::Borrowed(self.document);
        }
        Cow::Owned(splice(self.document, &edits))
    }

    /// The new content of a span. `None` if the span does not change.
    fn rewrite_span(&self, span: &LinkSpan, replace: &mut Replace<'_>) -> Option<Vec<u8>> {
        let written = &self.document[span.range.clone()];
        let quoted = matches!(
            self.document.get(span.range.start.wrapping_sub(1)),
            Some(b'"' | b'\'')
        );
        let new = match span.syntax {
            SpanSyntax::StyleSheet => {
                return rewrite_style_sheet(written, self.encoding, replace);
            }
            SpanSyntax::Script => return rewrite_script(written, self.encoding, replace),
            SpanSyntax::CrossOrigin => return Some(b"data-crossorigin".to_vec()),
            SpanSyntax::Srcdoc => rewrite_srcdoc(&self.decode_value(written), replace)?,
            SpanSyntax::Clear => return Some(if quoted { Vec::new() } else { b"\"\"".to_vec() }),
            SpanSyntax::Url(kind) => {
                if is_data_or_script(written) {
                    return None;
                }
                replace(kind, &clean_link(&self.decode_value(written)))?
            }
            SpanSyntax::Srcset => rewrite_srcset(&self.decode_value(written), replace)?,
            SpanSyntax::Refresh => rewrite_refresh(&self.decode_value(written), replace)?,
            SpanSyntax::StyleAttribute => {
                let style = self.decode_value(written);
                let new = rewrite_style_sheet(style.as_bytes(), encoding_rs::UTF_8, replace)?;
                String::from_utf8(new).ok()?
            }
        };
        Some(escape_attribute(&new, quoted).into_bytes())
    }

    /// Decodes the character set and the character references of an attribute value.
    fn decode_value(&self, written: &'a [u8]) -> Cow<'a, str> {
        let (text, _) = self.encoding.decode_without_bom_handling(written);
        match decode(text.as_bytes(), TextKind::AttributeValue) {
            Cow::Owned(bytes) => Cow::Owned(into_string(bytes)),
            Cow::Borrowed(_) => text,
        }
    }
}

/// Cleans a link as a browser does: see [`clean`].
fn clean_link(link: &str) -> Cow<'_, str> {
    let mut scratch = Vec::new();
    let cleaned = clean(link.as_bytes(), &mut scratch);
    if cleaned.len() == link.len() {
        return Cow::Borrowed(link);
    }
    Cow::Owned(String::from_utf8_lossy(cleaned).into_owned())
}

/// Replaces parts of `text`. The ranges of `edits` must be in ascending order and must not overlap.
fn splice(text: &[u8], edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let inserted: usize = edits.iter().map(|(_, new)| new.len()).sum();
    let mut result = Vec::with_capacity(text.len() + inserted);
    let mut at = 0;
    for (range, new) in edits {
        result.extend_from_slice(&text[at..range.start]);
        result.extend_from_slice(new);
        at = range.end;
    }
    result.extend_from_slice(&text[at..]);
    result
}

/// The range of `part`, which is a slice of `text`.
fn range_in(text: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// Replaces the URLs of a `srcset`. Commas in new URLs are escaped, because a comma at the start or end of a URL would
/// separate candidates.
fn rewrite_srcset(text: &str, replace: &mut Replace<'_>) -> Option<String> {
    let mut edits = Vec::new();
    srcset::urls(text.as_bytes(), |url| {
        let range = range_in(text.as_bytes(), url);
        if !is_data_or_script(url)
            && let Some(new) = replace(LinkKind::Asset, &text[range.clone()])
        {
            edits.push((range, new.replace(',', "%2C").into_bytes()));
        }
    });
    (!edits.is_empty()).then(|| into_string(splice(text.as_bytes(), &edits)))
}

/// Replaces the URL of a `meta` refresh.
fn rewrite_refresh(text: &str, replace: &mut Replace<'_>) -> Option<String> {
    let url = meta_refresh::target(text.as_bytes())?;
    let range = range_in(text.as_bytes(), url);
    let new = replace(LinkKind::Refresh, &clean_link(&text[range.clone()]))?;
    let new = new.replace('\'', "%27").replace('"', "%22");
    Some(into_string(splice(
        text.as_bytes(),
        &[(range, new.into_bytes())],
    )))
}

/// Replaces the URLs of a style sheet. `None` if nothing changes.
fn rewrite_style_sheet(
    text: &[u8],
    encoding: &'static Encoding,
    replace: &mut Replace<'_>,
) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    css::urls(text, |url| {
        if is_data_or_script(url) {
            return;
        }
        let (decoded, _) = encoding.decode_without_bom_handling(url);
        if let Some(new) = replace(LinkKind::Asset, &clean_link(&css::unescape(&decoded))) {
            edits.push((range_in(text, url), escape_css(&new).into_bytes()));
        }
    });
    (!edits.is_empty()).then(|| splice(text, &edits))
}

/// Replaces the links of the page in a `srcdoc`. `None` if nothing changes. The page is not changed if it has its own
/// `base`. A `srcdoc` inside the `srcdoc` is not changed either.
fn rewrite_srcdoc(html: &str, replace: &mut Replace<'_>) -> Option<String> {
    let mut framed = LinkRewriter::of_html(html.as_bytes(), encoding_rs::UTF_8, false);
    if framed.base.is_some() {
        return None;
    }
    framed
        .spans
        .retain(|span| span.syntax != SpanSyntax::Srcdoc);
    match framed.rewrite_with(replace) {
        Cow::Borrowed(_) => None,
        Cow::Owned(new) => String::from_utf8(new).ok(),
    }
}

/// Replaces the string literals of a script that are URLs. `None` if nothing changes. New relative URLs begin with a
/// dot, because without the dot an import would name a module, not a file.
fn rewrite_script(
    text: &[u8],
    encoding: &'static Encoding,
    replace: &mut Replace<'_>,
) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    script_literal::urls(text, |literal, relative_to| {
        let Some(url) = script_literal::unescape(literal) else {
            return;
        };
        let (url, _) = encoding.decode_without_bom_handling(&url);
        if let Some(new) = replace(script_file::kind(relative_to), &url) {
            let is_path = !new.contains(':') && !new.starts_with(['.', '/']);
            let new = if is_path { format!("./{new}") } else { new };
            edits.push((range_in(text, literal), escape_literal(&new).into_bytes()));
        }
    });
    (!edits.is_empty()).then(|| splice(text, &edits))
}

/// Percent-encodes the characters that could end a literal, a template or a `script` element.
fn escape_literal(url: &str) -> String {
    escape(url, |c| {
        matches!(c, '"' | '\'' | '`' | '\\' | '<' | '>' | '$' | '{' | '}')
    })
}

/// Percent-encodes the characters that could end a string, `url(…)` or a `style` element.
fn escape_css(url: &str) -> String {
    escape(url, |c| {
        matches!(c, '"' | '\'' | '(' | ')' | '\\' | '<' | '>')
    })
}

/// Percent-encodes spaces, control characters, and those for which `special` is true.
fn escape(url: &str, special: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(url.len());
    for c in url.chars() {
        if c.is_ascii_control() || c == ' ' || special(c) {
            let _ = write!(text, "%{:02X}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    text
}

/// Escapes an attribute value for HTML. Spaces are escaped too if the value is written without quotes.
fn escape_attribute(value: &str, quoted: bool) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '"' => text.push_str("&quot;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            ' ' if quoted => text.push(' '),
            '!'..='~' if !matches!(c, '\'' | '`') => text.push(c),
            _ => {
                let _ = write!(text, "&#{};", u32::from(c));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Options, read};

    fn input<'a>(content_type: &'a str, body: &'a [u8]) -> Input<'a> {
        Input {
            url: "http://example.org/",
            content_type: Some(content_type),
            body,
            content_language: None,
        }
    }

    /// Replaces a link by `kind:link`, with spaces and characters outside ASCII escaped. Keeps links that begin with
    /// `#`.
    fn mark(kind: LinkKind, link: &str) -> Option<String> {
        let escaped = link.chars().map(|c| match c {
            ' ' => "+".to_owned(),
            '!'..='~' => c.to_string(),
            _ => format!("%{:X}", u32::from(c)),
        });
        (!link.starts_with('#')).then(|| format!("{kind}:{}", escaped.collect::<String>()))
    }

    #[track_caller]
    fn check_as(content_type: &str, body: &[u8], expected: &[u8]) {
        let rewriter =
            LinkRewriter::new(&input(content_type, body)).expect("HTML or a style sheet");
        let found = rewriter.rewrite(mark);
        assert_eq!(
            String::from_utf8_lossy(&found),
            String::from_utf8_lossy(expected)
        );
    }

    #[track_caller]
    fn check(body: &str, expected: &str) {
        check_as(
            "text/html; charset=utf-8",
            body.as_bytes(),
            expected.as_bytes(),
        );
    }

    #[test]
    fn links_in_attributes() {
        check(
            "<A HREF=\"a&amp;b\" title='a'>x</a><a href=' c '>",
            "<A HREF=\"anchor:a&amp;b\" title='a'>x</a><a href='anchor:c'>",
        );
        check("<a href=x/>y", "<a href=anchor:x/>y");
        check("<a href>x<a href=\"\">", "<a href>x<a href=\"\">");
        check("<a href=#top>x", "<a href=#top>x");
        check("<a href='javascript:x()'>", "<a href='javascript:x()'>");
        check(
            "<img src=i.png srcset='a.png 1x, b.png 2x' data-src=z>",
            "<img src=asset:i.png srcset='asset:a.png 1x, asset:b.png 2x' data-src=asset:z>",
        );
        check(
            "<form action=/go><button formaction=x>",
            "<form action=form:/go><button formaction=form:x>",
        );
        check(
            "<iframe src=f></iframe><video poster=p><source src=s>",
            "<iframe src=frame:f></iframe><video poster=asset:p><source src=asset:s>",
        );
        check(
            "<p><svg><use xlink:href=s.svg#x /><image href=i></svg><object data=o>",
            "<p><svg><use xlink:href=asset:s.svg#x /><image href=asset:i></svg><object data=asset:o>",
        );
        check("<a\nhref\n=\n'x\ny'>", "<a\nhref\n=\n'anchor:xy'>");
    }

    #[test]
    fn links_that_depend_on_several_attributes() {
        check(
            "<link style='x:url(y)' href=a.css rel=stylesheet integrity=sha256-x>",
            "<link style='x:url(asset:y)' href=asset:a.css rel=stylesheet integrity=\"\">",
        );
        check(
            "<link href=a rel=canonical>",
            "<link href=canonical:a rel=canonical>",
        );
        check(
            "<meta content='0; url=a b' http-equiv=Refresh><meta name=x content='0;url=y'>",
            "<meta content='0; url=refresh:a+b' http-equiv=Refresh><meta name=x content='0;url=y'>",
        );
        check(
            "<meta http-equiv=content-security-policy content=\"default-src 'self'\">",
            "<meta http-equiv=content-security-policy content=\"\">",
        );
    }

    #[test]
    fn base_is_returned_and_removed() {
        let body = b"<base href='/b&amp;c/'><base href=d target=e><a href=x>";
        let rewriter = LinkRewriter::new(&input("text/html", body)).expect("HTML");
        assert_eq!(rewriter.base(), Some("/b&c/"));
        check(
            "<base href='/b&amp;c/'><base href=d target=e><a href=x>",
            "<base href=''><base href=\"\" target=e><a href=anchor:x>",
        );
    }

    #[test]
    fn links_in_style_sheets() {
        check(
            "<style>@import 'a.css'; b{background:url( c.png )}</style><p style=\"x:url(&quot;d&quot;)\">",
            "<style>@import 'asset:a.css'; b{background:url( asset:c.png )}</style><p style=\"x:url(&quot;asset:d&quot;)\">",
        );
        check("<p style=x:url(d)>", "<p style=x:url(asset:d)>");
        check_as(
            "text/css",
            b"@import url(a.css);b{c:url('d (1)\\27.png')}e{f:url(data:x)}",
            b"@import url(asset:a.css);b{c:url('asset:d+%281%29%27.png')}e{f:url(data:x)}",
        );
        // Comments and text are not searched. Scripts are searched only for string literals.
        let other =
            "<script>url(x); f('x')</script><!-- <a href=y> --><title><a href=z></title>url(x)";
        check(other, other);
    }

    #[test]
    fn links_in_scripts() {
        check(
            "<script>f('/a.png'); import('./b.js')</script><script type=text/x>'/c.png'</script>",
            "<script>f('scriptfile:/a.png'); import('asset:./b.js')</script><script type=text/x>'/c.png'</script>",
        );
        let script = b"import a from './\xE1.js'; x.src = \"http:\\/\\/b.example\\/c.css\"; y = `/d.png`; '/e'";
        let input = input("text/javascript; charset=iso-8859-1", script);
        let rewriter = LinkRewriter::new(&input).expect("a script");
        assert!(rewriter.is_script());
        let new = rewriter.rewrite(|kind, link| match (kind, link) {
            (LinkKind::Asset, "./\u{e1}.js") => Some("a b.js".to_owned()),
            (LinkKind::ScriptFile, "http://b.example/c.css") => Some("../c'\"${}.css".to_owned()),
            (LinkKind::ScriptFile, "/d.png") => None,
            other => panic!("{other:?}"),
        });
        assert_eq!(
            String::from_utf8_lossy(&new),
            "import a from './a%20b.js'; x.src = \"../c%27%22%24%7B%7D.css\"; y = `/d.png`; '/e'"
        );
    }

    #[test]
    fn links_in_srcdoc() {
        check(
            "<iframe srcdoc=\"<img src='a.png'><p style=&quot;x:url(b)&quot;>\u{e9}\"></iframe>",
            "<iframe srcdoc=\"&lt;img src=&#39;asset:a.png&#39;&gt;&lt;p style=&quot;x:url(asset:b)&quot;&gt;&#233;\"></iframe>",
        );
        for kept in [
            "<iframe srcdoc='<p>'></iframe>",
            "<iframe srcdoc='<base href=x><img src=a.png>'></iframe>",
            "<iframe srcdoc='<iframe srcdoc=\"<img src=a>\">'></iframe>",
        ] {
            check(kept, kept);
        }
    }

    #[test]
    fn links_in_svg_images() {
        check_as(
            "image/svg+xml",
            b"<?xml-stylesheet href='a.css'?><svg><style><![CDATA[@import 'b.css';]]></style><image xlink:href='c'/><a href='d'/><use href='#e'/></svg>",
            b"<?xml-stylesheet href='asset:a.css'?><svg><style><![CDATA[@import 'asset:b.css';]]></style><image xlink:href='asset:c'/><a href='anchor:d'/><use href='#e'/></svg>",
        );
        check(
            "<?xml-stylesheet href='a.css'?>",
            "<?xml-stylesheet href='a.css'?>",
        );
    }

    #[test]
    fn crossorigin_is_renamed() {
        check(
            "<img CrossOrigin src=a><link crossorigin='anonymous' rel=prefetch href=b>",
            "<img data-crossorigin src=asset:a><link data-crossorigin='anonymous' rel=prefetch href=asset:b>",
        );
    }

    #[test]
    fn elements_left_open_in_a_noscript_end_with_it() {
        check(
            "<noscript><iframe src=a /></noscript><a href=b><noscript><!-- </NOSCRIPT><a href=c>",
            "<noscript><iframe src=frame:a /></noscript><a href=anchor:b><noscript><!-- </NOSCRIPT><a href=anchor:c>",
        );
    }

    #[test]
    fn bytes_of_other_character_sets_are_kept() {
        check_as(
            "text/html; charset=iso-8859-1",
            b"<p>\xE1<a title='\xE9' href='/\xE1&eacute;'>\xE9</a>",
            b"<p>\xE1<a title='\xE9' href='anchor:/%E1%E9'>\xE9</a>",
        );
        // The second byte of a Shift_JIS character may be a backslash, as in katakana SO.
        check_as(
            "text/html; charset=shift_jis",
            b"<a alt='\x83\x5C' href='\x83\x5C'>\x83\x5C",
            b"<a alt='\x83\x5C' href='anchor:%30BD'>\x83\x5C",
        );
        check_as(
            "text/html",
            b"\xEF\xBB\xBF<a href=x>",
            b"\xEF\xBB\xBF<a href=anchor:x>",
        );
        // This style attribute contains a reference to a character that is not in the character set.
        check_as(
            "text/html; charset=iso-8859-1",
            b"<p style='content:\"&euro;\xE1\";x:url(y)'>",
            b"<p style='content:&quot;&#8364;&#225;&quot;;x:url(asset:y)'>",
        );
    }

    #[test]
    fn other_types_and_charsets_are_refused() {
        for (content_type, body) in [
            ("text/html", &b"\xFF\xFE<\0a\0 \0h\0r\0e\0f\0=\0x\0>\0"[..]),
            ("text/html; charset=iso-2022-jp", b"<a href=x>"),
            ("image/png", b"\x89PNG\r\n\x1a\n"),
            ("text/plain", b"url(x)"),
            ("application/json", b"{}"),
        ] {
            assert!(
                LinkRewriter::new(&input(content_type, body)).is_none(),
                "{content_type}"
            );
        }
    }

    const PIECES: &[&str] = &[
        "<a href=",
        "<link rel=stylesheet href=",
        "<img src=",
        "<base href=",
        "<style>",
        "</style>",
        "<svg>",
        "</svg>",
        "<title>",
        "</title>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "\"",
        "'",
        ">",
        " ",
        "/",
        "=",
        "x",
        "y.png",
        "&amp;",
        "&#39;",
        "url(",
        ")",
        "style=",
        "srcset=",
        "a 1x, b 2x",
        "\u{e9}",
        "<meta http-equiv=refresh content=",
        "0;url=z",
        "\n",
        "<script>",
        "</script>",
        "@import ",
        "<iframe src=",
        "srcdoc=",
        "crossorigin",
        "'/z.js'",
        "import ",
        "\\",
        "javascript:",
        "#",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Replacements do not affect the text around them: the rewritten document has the same number of links, all of
        /// them replaced, and the same text.
        #[test]
        fn rewritten_documents_contain_the_new_links(
            choice in prop::collection::vec(0..PIECES.len(), 0..40)
        ) {
            let body: String = choice.iter().map(|index| PIECES[*index]).collect();
            let Some(rewriter) = LinkRewriter::new(&input("text/html; charset=utf-8", body.as_bytes())) else {
                return Ok(());
            };
            let unchanged = rewriter.rewrite(|_, _| None);
            let removed = [SpanSyntax::Clear, SpanSyntax::CrossOrigin];
            let cleared = rewriter.spans.iter().any(|span| removed.contains(&span.syntax));
            prop_assert!(cleared || *unchanged == *body.as_bytes());
            let mut count = 0;
            let new = rewriter.rewrite(|_, _| {
                count += 1;
                Some(format!("http://new/{count}/%22.png?a&b=\"'<>)"))
            });
            let again = LinkRewriter::new(&input("text/html; charset=utf-8", &new)).expect("rewritten document is HTML");
            let mut found = 0;
            again.rewrite(|_, link| {
                found += 1;
                assert!(link.starts_with("http://new/"), "{link:?} in {:?} from {body:?}", String::from_utf8_lossy(&new));
                None
            });
            prop_assert_eq!(found, count, "{} from {}", String::from_utf8_lossy(&new), body);
            let page = |body: &[u8]| read(&input("text/html; charset=utf-8", body), &Options::default()).text;
            prop_assert_eq!(page(&new), page(body.as_bytes()));
        }

        #[test]
        fn random_bytes_do_not_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(rewriter) = LinkRewriter::new(&input("text/html", &body)) {
                rewriter.rewrite(mark);
            }
            if let Some(rewriter) = LinkRewriter::new(&input("text/css", &body)) {
                rewriter.rewrite(mark);
            }
        }
    }
}
