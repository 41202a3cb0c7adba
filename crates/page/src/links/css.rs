//! Finds URLs in style sheets: `@import`, `url(…)` and the strings of `image-set(…)` (CSS Syntax Module Level 3).
//!
//! [`urls`] makes one pass over the tokens that can contain or hide a URL: names, strings, comments and brackets. URLs
//! are reported as written, so that `rewrite` can replace them; [`unescape`] decodes their escapes. A URL that is cut
//! off by the end of the sheet is dropped, because in a truncated body such a URL is wrong. URLs that are only a
//! fragment (`url(#gradient)`) refer to the document itself and are skipped.

use std::borrow::Cow;

/// Calls `found` with every URL of a style sheet, as written.
pub(crate) fn urls(sheet: &[u8], found: impl FnMut(&[u8])) {
    let scanner = CssScanner {
        sheet,
        at: 0,
        depth: 0,
        image_set: None,
        found,
    };
    scanner.run();
}

/// Decodes CSS escapes (CSS Syntax, 4.3.5 and 4.3.7). A backslash with up to six hexadecimal digits and an optional
/// white space stands for a code point. A backslash before a line end is removed together with the line end. A
/// backslash before any other character stands for that character.
pub(crate) fn unescape(url: &str) -> Cow<'_, str> {
    if !url.contains('\\') {
        return Cow::Borrowed(url);
    }
    let mut text = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let digits = after
            .bytes()
            .take(6)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        if digits > 0 {
            let code = u32::from_str_radix(&after[..digits], 16).unwrap_or_default();
            let character = char::from_u32(code).filter(|c| *c != '\0');
            text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &after[digits..];
            rest = rest
                .strip_prefix("\r\n")
                .or_else(|| rest.strip_prefix([' ', '\t', '\n', '\r', '\x0C']))
                .unwrap_or(rest);
        } else if let Some(line) = after
            .strip_prefix("\r\n")
            .or_else(|| after.strip_prefix(['\n', '\r', '\x0C']))
        {
            rest = line;
        } else {
            let length = after.chars().next().map_or(0, char::len_utf8);
            text.push_str(&after[..length]);
            rest = &after[length..];
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// One pass over a style sheet. Every step moves `at` past the bytes that it has read, so the time is linear.
struct CssScanner<'a, F> {
    sheet: &'a [u8],
    at: usize,
    /// Number of open parentheses.
    depth: u32,
    /// Value of `depth` inside the current `image-set(…)`, where strings are URLs.
    image_set: Option<u32>,
    found: F,
}

impl<'a, F: FnMut(&[u8])> CssScanner<'a, F> {
    fn run(mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'/' => self.slash(),
                b'"' | b'\'' => {
                    let string = self.string();
                    if self.image_set == Some(self.depth) {
                        self.report(string);
                    }
                }
                b'@' => {
                    self.at += 1;
                    self.at_rule();
                }
                b'(' => {
                    self.at += 1;
                    self.depth = self.depth.saturating_add(1);
                }
                b')' => {
                    self.at += 1;
                    if self.image_set == Some(self.depth) {
                        self.image_set = None;
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                // A declaration or block ends here. Parentheses that are still open are errors and are ignored.
                b';' | b'{' | b'}' => {
                    self.at += 1;
                    (self.depth, self.image_set) = (0, None);
                }
                byte if is_name_byte(byte) || byte == b'\\' => self.name_or_function(),
                _ => self.at += 1,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.sheet.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        &self.sheet[self.at..]
    }

    fn report(&mut self, url: Option<&[u8]>) {
        if let Some(url) = url.filter(|url| !url.is_empty() && url[0] != b'#') {
            (self.found)(url);
        }
    }

    /// Skips a comment, or a single slash.
    fn slash(&mut self) {
        if self.rest().starts_with(b"/*") {
            let end = memchr::memmem::find(&self.rest()[2..], b"*/");
            self.at = end.map_or(self.sheet.len(), |end| self.at + 2 + end + 2);
        } else {
            self.at += 1;
        }
    }

    fn skip_white_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips white space and comments.
    fn skip_insignificant(&mut self) {
        loop {
            self.skip_white_space();
            if !self.rest().starts_with(b"/*") {
                return;
            }
            self.slash();
        }
    }

    /// Skips a backslash and the character after it.
    fn skip_escape(&mut self) {
        let crlf = self.rest().starts_with(b"\\\r\n");
        self.at = (self.at + if crlf { 3 } else { 2 }).min(self.sheet.len());
    }

    /// Reads a string. Returns its content as written, or `None` if a line end or the end of the sheet cuts it off.
    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = self.peek()?;
        self.at += 1;
        let start = self.at;
        loop {
            let rest = self.rest();
            let stop = memchr::memchr3(quote, b'\\', b'\n', rest);
            let Some(stop) = stop else {
                self.at = self.sheet.len();
                return None;
            };
            self.at += stop;
            match rest[stop] {
                b'\\' => self.skip_escape(),
                b'\n' => return None,
                _ => {
                    let content = &self.sheet[start..self.at];
                    self.at += 1;
                    return Some(content);
                }
            }
        }
    }

    /// Reads a name (identifier) with its escapes as written.
    fn name(&mut self) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b'\\' {
                self.skip_escape();
            } else if is_name_byte(byte) {
                self.at += 1;
            } else {
                break;
            }
        }
        &self.sheet[start..self.at]
    }

    /// Reads a name and, if it is a function whose argument is a URL, the argument.
    fn name_or_function(&mut self) {
        let name = self.name();
        if self.peek() != Some(b'(') {
            return;
        }
        if is_named(name, "url") {
            self.at += 1;
            self.url_argument();
        } else if is_named(name, "image-set") || is_named(name, "-webkit-image-set") {
            self.image_set.get_or_insert(self.depth.saturating_add(1));
        }
    }

    /// Reads the argument of `url(…)`, whose opening parenthesis has been read.
    fn url_argument(&mut self) {
        self.skip_white_space();
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            let string = self.string();
            self.report(string);
            // The closing parenthesis is read by `run`.
            self.depth = self.depth.saturating_add(1);
            return;
        }
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.skip_escape(),
                b'"' | b'\'' | b'(' | b')' => break,
                byte if byte.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
        }
        let url = &self.sheet[start..self.at];
        self.skip_white_space();
        if self.peek() == Some(b')') {
            self.at += 1;
            self.report(Some(url));
        } else {
            self.skip_bad_url();
        }
    }

    /// Skips the rest of a `url(…)` with invalid syntax, up to the next `)`. Browsers load nothing for it, and a quote
    /// inside it does not begin a string (CSS Syntax, 4.3.14).
    fn skip_bad_url(&mut self) {
        loop {
            let Some(stop) = memchr::memchr2(b')', b'\\', self.rest()) else {
                self.at = self.sheet.len();
                return;
            };
            self.at += stop;
            if self.peek() == Some(b')') {
                self.at += 1;
                return;
            }
            self.skip_escape();
        }
    }

    /// Reads the start of an at-rule whose `@` has been read.
    fn at_rule(&mut self) {
        let name = self.name();
        if is_named(name, "import") {
            self.skip_insignificant();
            if matches!(self.peek(), Some(b'"' | b'\'')) {
                let string = self.string();
                self.report(string);
            }
        } else if ["namespace", "document", "-moz-document"]
            .iter()
            .any(|rule| is_named(name, rule))
        {
            // In these rules, a URL is the name of a namespace or a pattern for documents. Browsers do not load it.
            let end = memchr::memchr2(b';', b'{', self.rest());
            self.at = end.map_or(self.sheet.len(), |end| self.at + end);
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte >= 0x80
}

/// Whether `name`, which may contain escapes, equals `expected`, ignoring case.
fn is_named(name: &[u8], expected: &str) -> bool {
    if memchr::memchr(b'\\', name).is_none() {
        return name.eq_ignore_ascii_case(expected.as_bytes());
    }
    // An escaped character takes at most eight bytes: a backslash, six digits and a space.
    name.len() <= expected.len() * 8
        && unescape(&String::from_utf8_lossy(name)).eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sheet: &str, expected: &[&str]) {
        let mut list = Vec::new();
        urls(sheet.as_bytes(), |url| {
            list.push(unescape(&String::from_utf8_lossy(url)).into_owned());
        });
        assert_eq!(list, expected, "{sheet}");
    }

    #[test]
    fn url_functions() {
        check(
            "a{background:URL( 'x.png' ) no-repeat, url(y.png)}",
            &["x.png", "y.png"],
        );
        check(
            "@font-face{src:local(\"A\"),url(a.woff2)format(\"woff2\"),url( \"a.ttf?#iefix\" )}",
            &["a.woff2", "a.ttf?#iefix"],
        );
        check(
            "a{b:url(x.png)}\n.url{c:my-url(no.png)}d{e:url( y.png\n)}",
            &["x.png", "y.png"],
        );
        check(
            "a{fill:url(#gradient);b:url(sprite.svg#c)}",
            &["sprite.svg#c"],
        );
        check(
            "a{b:url(data:image/png;base64,iVBO+/=)}",
            &["data:image/png;base64,iVBO+/="],
        );
        check("a{b:cross-fade(url(x),url(y),50%)}", &["x", "y"]);
        check(":root{--logo:url(logo.svg)}", &["logo.svg"]);
        check("a{b:url()} c{d:url('')}", &[]);
        check("rgba(1,2) @media (x)", &[]);
    }

    #[test]
    fn imports() {
        check(
            "@import \"a.css\"; @import url(b.css);",
            &["a.css", "b.css"],
        );
        check(
            "@IMPORT'a.css'screen;@import/**/url( \"b.css\" )layer(x) supports(display:grid) print;",
            &["a.css", "b.css"],
        );
        check("@import /* x */\n \"a.css\" layer;", &["a.css"]);
        check("@\\69mport \"a.css\";", &["a.css"]);
        check("@important \"a.css\"; @import-x 'b';", &[]);
        check("@charset \"utf-8\";@import 'a.css'", &["a.css"]);
        check(
            "@namespace svg url(http://www.w3.org/2000/svg);@namespace \"x\";a{b:url(c)}",
            &["c"],
        );
        check(
            "@-moz-document url(http://example.org/){a{b:url(c)}}",
            &["c"],
        );
    }

    #[test]
    fn image_sets() {
        check(
            "a{b:image-set(\"x.png\" 1x, url(y.png) 2x, 'z.avif' type(\"image/avif\"))}",
            &["x.png", "y.png", "z.avif"],
        );
        check(
            "a{b:-webkit-image-set(url(x.png) 1x); content:\"text\"}",
            &["x.png"],
        );
        check("a{b:image-set('x' 1x; c:'text'} d{e:'text'}", &["x"]);
    }

    #[test]
    fn comments_and_strings_hide_urls() {
        check("/* url(no.png) @import 'no.css'; */a{b:url(x)}", &["x"]);
        check("a{content:\"url(no.png) /*\";b:url(x)}", &["x"]);
        check("a{content:'don\\'t url(no)';b:url(x)}", &["x"]);
        check(
            "a{b:url(http://example.org//x/*y*/)}",
            &["http://example.org//x/*y*/"],
        );
        check("<!-- @import 'a.css'; --> a{b:url(x)}", &["a.css", "x"]);
        check("a{b:url(x)} /* open url(no)", &["x"]);
    }

    #[test]
    fn escapes() {
        check("a{b:url(a\\(1\\).png)}", &["a(1).png"]);
        check("a{b:url('a\\27 b\\\nc.png')}", &["a'bc.png"]);
        check("a{b:u\\72l(x.png)}", &["x.png"]);
        check("a{b:\\000075RL( x.png )}", &["x.png"]);
        check("a{b:url(\\e9\\0000e9z)}", &["\u{e9}\u{e9}z"]);
        check("a\\@import 'no' b{}", &[]);
        check(".a\\:hover{b:url(x)}", &["x"]);
    }

    #[test]
    fn urls_that_are_cut_off_or_malformed() {
        check("url(", &[]);
        check("url('open", &[]);
        check("url(open", &[]);
        check("url('open\n) url(x)", &["x"]);
        check("url(a b) url(x)", &["x"]);
        check("url(a\"b) url(x)", &["x"]);
        check("a{b:url(data:,don't)} c{d:url(x)} e{f:url(y)}", &["x", "y"]);
        check("url(a b\\) url(no)) url(x)", &["x"]);
        check("url(a b url(no", &[]);
        check("url(\\", &[]);
        check("@import '", &[]);
        check("@import", &[]);
        check("@", &[]);
        check("\\", &[]);
    }
}
