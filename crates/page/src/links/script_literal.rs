//! Finds the string literals of a script that are URLs of files: modules that it imports, and images, style sheets,
//! scripts, fonts, media and data files, which are recognised by their extension (T2). Scripts are not executed.
//!
//! [`urls`] makes one pass over the tokens that can contain or hide a string: strings, templates, comments and regular
//! expressions (ECMAScript, 12). A URL that a script assembles is not found, because literals beside a `+` and
//! templates with `${` are skipped. Keys of objects are skipped too. If a string is not closed on its line, the pass
//! continues directly after its opening quote. A division that is mistaken for a regular expression (or the reverse)
//! therefore hides at most the rest of its line.

use std::borrow::Cow;

/// Maximum bytes of a URL in a script.
const MAX_URL: usize = 2048;

/// Extensions of files that scripts load.
const EXTENSIONS: &[&[u8]] = &[
    b"js", b"mjs", b"css", b"json", b"wasm", b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp",
    b"avif", b"ico", b"bmp", b"cur", b"woff", b"woff2", b"ttf", b"otf", b"eot", b"mp4", b"m4v",
    b"webm", b"ogv", b"mp3", b"m4a", b"ogg", b"oga", b"wav", b"vtt",
];

/// Functions that take a URL.
const LOADERS: &[&[u8]] = &[b"fetch(", b"Worker("];

/// The base of a relative URL in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelativeTo {
    /// The URL of the script, for an import, the arguments of `importScripts(…)` in a worker, or the first argument of
    /// `new URL(…, import.meta.url)`. An inline script has the URL of the document.
    Script,
    /// The URL of the document that loads the script.
    Document,
}

/// Calls `found` with every literal that is a URL, as written between its quotes, and with the base of the URL.
/// [`unescape`] decodes its escapes.
pub(crate) fn urls<'a>(script: &'a [u8], found: impl FnMut(&'a [u8], RelativeTo)) {
    let scanner = ScriptScanner {
        script,
        at: 0,
        code_end: 0,
        templates: Vec::new(),
        no_expression_before: 0,
        import_scripts_end: 0,
        found,
    };
    scanner.run();
}

/// Decodes the escapes `\/`, `\xNN` and `\uNNNN` of a literal. `None` if the literal has an escape of another form or
/// of a character that is not printable ASCII.
pub(crate) fn unescape(literal: &[u8]) -> Option<Cow<'_, [u8]>> {
    if memchr::memchr(b'\\', literal).is_none() {
        return Some(Cow::Borrowed(literal));
    }
    let mut text = Vec::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(next) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..next]);
        let (character, length) = match rest.get(next + 1)? {
            b'/' => (b'/', 2),
            b'x' => (hexadecimal(rest.get(next + 2..next + 4)?)?, 4),
            b'u' => (hexadecimal(rest.get(next + 2..next + 6)?)?, 6),
            _ => return None,
        };
        text.push(character);
        rest = &rest[next + length..];
    }
    text.extend_from_slice(rest);
    Some(Cow::Owned(text))
}

/// The printable ASCII character with this hexadecimal number.
fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    u8::try_from(number).ok().filter(u8::is_ascii_graphic)
}

/// One pass over a script. Every step moves `at` forward.
struct ScriptScanner<'a, F> {
    script: &'a [u8],
    at: usize,
    /// End of the code read so far, without white space and comments after it.
    code_end: usize,
    /// For each open template that is interrupted by `${`: the number of braces that are open in its expression.
    templates: Vec<u32>,
    /// End of the last line in which a regular expression was not closed. To keep the time linear, the rest of that
    /// line is not searched for other regular expressions.
    no_expression_before: usize,
    /// End of the last literal that is an argument of `importScripts(…)`.
    import_scripts_end: usize,
    found: F,
}

/// Maximum depth of nested templates.
const MAX_TEMPLATES: usize = 64;

impl<'a, F: FnMut(&'a [u8], RelativeTo)> ScriptScanner<'a, F> {
    fn run(mut self) {
        while let Some(byte) = self.script.get(self.at).copied() {
            match byte {
                b'"' | b'\'' => self.string(byte),
                b'`' => self.template(true),
                b'/' => self.slash(),
                b'{' => {
                    if let Some(open) = self.templates.last_mut() {
                        *open = open.saturating_add(1);
                    }
                    self.code(1);
                }
                b'}' => match self.templates.last_mut() {
                    Some(0) => {
                        self.templates.pop();
                        self.template(false);
                    }
                    open => {
                        if let Some(open) = open {
                            *open -= 1;
                        }
                        self.code(1);
                    }
                },
                // Outside a string, a backslash is an error. The byte after the backslash is skipped, because it may be
                // a quote. If a string were read from each of many escaped quotes, the time would be quadratic.
                b'\\' => self.code(2),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => self.code(1),
            }
        }
    }

    /// Moves past bytes of code.
    fn code(&mut self, length: usize) {
        self.at = (self.at + length).min(self.script.len());
        self.code_end = self.at;
    }

    /// Reads a string.
    fn string(&mut self, quote: u8) {
        let start = self.at + 1;
        let mut at = start;
        while let Some(next) = self.script.get(at) {
            match next {
                b'\\' => at += 2,
                b'\n' => break,
                next if *next == quote => {
                    self.literal(start, at);
                    return self.code(at + 1 - self.at);
                }
                _ => at += 1,
            }
        }
        self.code(1);
    }

    /// Reads a template up to its end or to its next expression. If `whole` is false, the template continues here after
    /// an expression.
    fn template(&mut self, whole: bool) {
        let start = self.at + 1;
        let mut at = start;
        while let Some(next) = self.script.get(at) {
            match next {
                b'\\' => at += 2,
                b'`' => {
                    if whole {
                        self.literal(start, at);
                    }
                    return self.code(at + 1 - self.at);
                }
                b'$' if self.script.get(at + 1) == Some(&b'{') => {
                    if self.templates.len() < MAX_TEMPLATES {
                        self.templates.push(0);
                    }
                    return self.code(at + 2 - self.at);
                }
                _ => at += 1,
            }
        }
        self.at = self.script.len();
    }

    /// Skips a comment, a regular expression or a single slash.
    fn slash(&mut self) {
        let rest = &self.script[self.at..];
        if rest.starts_with(b"//") {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            self.at += end.unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            let end = memchr::memmem::find(&rest[2..], b"*/");
            self.at += end.map_or(rest.len(), |end| end + 4);
        } else if self.at >= self.no_expression_before && self.expects_value() {
            let length = regular_expression(rest).unwrap_or_else(|line| {
                self.no_expression_before = self.at + line;
                1
            });
            self.code(length);
        } else {
            self.code(1);
        }
    }

    /// Whether the code so far ends where a value begins, so that a slash begins a regular expression.
    fn expects_value(&self) -> bool {
        let code = &self.script[..self.code_end];
        match code.last() {
            None => true,
            Some(byte) if is_name_byte(*byte) => [&b"return"[..], b"typeof", b"case", b"in", b"of"]
                .iter()
                .any(|word| ends_with_word(code, word)),
            Some(byte) => !matches!(byte, b')' | b']' | b'}' | b'"' | b'\'' | b'`'),
        }
    }

    /// Reports the literal between two positions if it is a URL.
    fn literal(&mut self, start: usize, end: usize) {
        let literal = &self.script[start..end];
        if literal.is_empty() || literal.len() > MAX_URL {
            return;
        }
        let before = &self.script[..self.code_end];
        let after = self.script[end + 1..].trim_ascii_start();
        if before.last() == Some(&b'+') || after.first() == Some(&b'+') {
            return;
        }
        // The key of an object. Lists of files as keys are common, and their URLs are not relative to the document.
        if after.first() == Some(&b':') && matches!(before.last(), Some(b'{' | b',')) {
            return;
        }
        let Some(url) = unescape(literal) else {
            return;
        };
        if !url.iter().copied().all(is_url_byte) {
            return;
        }
        let is_next_argument = || {
            let last = before.strip_suffix(b",").unwrap_or_default();
            self.import_scripts_end > 0 && last.trim_ascii_end().len() == self.import_scripts_end
        };
        if before.ends_with(b"importScripts(") || is_next_argument() {
            self.import_scripts_end = end + 1;
            (self.found)(literal, RelativeTo::Script);
        } else if let Some(relative_to) = classify(&url, before, after) {
            (self.found)(literal, relative_to);
        }
    }
}

/// Decides whether a literal is a URL. `before` is the code before it, `after` the code after it.
fn classify(url: &[u8], before: &[u8], after: &[u8]) -> Option<RelativeTo> {
    let path = without_origin(url);
    let is_relative_path = url.starts_with(b"./") || url.starts_with(b"../");
    let is_import = ends_with_word(before, b"from")
        || ends_with_word(before, b"import")
        || before.ends_with(b"import(");
    if is_import {
        return (path.is_some() || is_relative_path).then_some(RelativeTo::Script);
    }
    let in_module = after
        .strip_prefix(b",")
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"import.meta.url"));
    if in_module && before.ends_with(b"URL(") {
        return Some(RelativeTo::Script);
    }
    if !has_extension(path.unwrap_or(url)) {
        return None;
    }
    let is_name = memchr::memchr(b'/', url).is_none();
    (!is_name || loads(before)).then_some(RelativeTo::Document)
}

/// The path of an absolute URL, including its first slash. A path that begins with a slash is returned unchanged.
/// `None` for relative paths.
fn without_origin(url: &[u8]) -> Option<&[u8]> {
    let scheme = [&b"https://"[..], b"http://", b"//"]
        .into_iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    match scheme {
        Some(rest) => {
            let host = memchr::memchr(b'/', rest)?;
            let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(byte);
            (host > 0 && rest[..host].iter().all(is_host)).then(|| &rest[host..])
        }
        None => url.starts_with(b"/").then_some(url),
    }
}

/// Whether the last segment of a path has the extension of a file that scripts load.
fn has_extension(path: &[u8]) -> bool {
    let path = path
        .split(|byte| matches!(byte, b'?' | b'#'))
        .next()
        .unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let Some(dot) = memchr::memrchr(b'.', name) else {
        return false;
    };
    let extension = &name[dot + 1..];
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%/+@,!".contains(byte);
    dot > 0
        && path.iter().all(plain)
        && EXTENSIONS
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
}

/// Whether the code ends with a function or property that takes a URL. A file name directly after such code is a URL
/// even if it contains no slash.
fn loads(before: &[u8]) -> bool {
    match before.strip_suffix(b"=") {
        Some(name) => {
            let name = name.trim_ascii_end();
            name.ends_with(b".src") || name.ends_with(b".href")
        }
        None => LOADERS.iter().any(|loader| before.ends_with(loader)),
    }
}

/// The length of the regular expression that `rest` begins with. If the regular expression is not closed on its line,
/// the error is the length of the rest of the line.
fn regular_expression(rest: &[u8]) -> Result<usize, usize> {
    let mut in_class = false;
    let mut at = 1;
    loop {
        match rest.get(at) {
            None | Some(b'\n') => return Err(at),
            Some(b'\\') => at += 1,
            Some(b'[') => in_class = true,
            Some(b']') => in_class = false,
            Some(b'/') if !in_class => return Ok(at + 1),
            Some(_) => {}
        }
        at += 1;
    }
}

fn ends_with_word(code: &[u8], word: &[u8]) -> bool {
    code.strip_suffix(word)
        .is_some_and(|rest| !rest.last().is_some_and(|byte| is_name_byte(*byte)))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.') || byte >= 0x80
}

fn is_url_byte(byte: u8) -> bool {
    byte > b' '
        && !matches!(
            byte,
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b'^' | b'{' | b'}' | b'\\' | b'*' | 0x7F
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &[(&str, RelativeTo)]) {
        let mut list = Vec::new();
        urls(script.as_bytes(), |literal, relative_to| {
            let url = unescape(literal).expect("it was decoded before");
            list.push((String::from_utf8_lossy(&url).into_owned(), relative_to));
        });
        let expected: Vec<_> = expected
            .iter()
            .map(|(url, relative_to)| ((*url).to_owned(), *relative_to))
            .collect();
        assert_eq!(list, expected, "{script}");
    }

    use RelativeTo::{Document, Script};

    #[test]
    fn imports() {
        check("import { a } from './a.js'", &[("./a.js", Script)]);
        check(
            "import\"../b\";export*from'/c'",
            &[("../b", Script), ("/c", Script)],
        );
        check(
            "const c = await import(/* chunk: \"x.js\" */ `./d.mjs`)",
            &[("./d.mjs", Script)],
        );
        check(
            "import x from 'https://a.example/lib'",
            &[("https://a.example/lib", Script)],
        );
        check("import react from 'react'; importer('./x')", &[]);
        check("import('./' + name + '.js'); import(`./${name}.js`)", &[]);
        check(
            "new URL('../img/a', import.meta.url); new URL('/b.html', location)",
            &[("../img/a", Script)],
        );
        check(
            "importScripts('a.js', \"/b\",'c.js'); f('d.js', '/e.js'); importScripts(g, 'h.js')",
            &[
                ("a.js", Script),
                ("/b", Script),
                ("c.js", Script),
                ("/e.js", Document),
            ],
        );
    }

    #[test]
    fn files() {
        check("image.src = '/img/a.png'", &[("/img/a.png", Document)]);
        check(
            "load(\"http:\\/\\/a.example\\/b.js?v=1\")",
            &[("http://a.example/b.js?v=1", Document)],
        );
        check("x = '\\u002fa\\x2ecss'", &[("/a.css", Document)]);
        check(
            "show('//a.example/b.svg#c')",
            &[("//a.example/b.svg#c", Document)],
        );
        check("get('data/words.json')", &[("data/words.json", Document)]);
        check(
            "a.src='b.js'; a.src = 'c.js'; fetch(\"d.json\"); new Worker('e.js'); f('g.js')",
            &[
                ("b.js", Document),
                ("c.js", Document),
                ("d.json", Document),
                ("e.js", Document),
            ],
        );
        check("a = `/b.png`", &[("/b.png", Document)]);
    }

    #[test]
    fn other_strings_are_skipped() {
        check(
            "'/img/' + name + '.png'; base + '/a.png'; '/a.png' + query",
            &[],
        );
        check(
            "`/img/${name}.png`; '/a*.png'; '/.png'; 'image/png'; 'a.b.json'",
            &[],
        );
        check("'/page.html'; '/api/items'; '//'; 'http://a.example'", &[]);
        check("'/a b.png'; '/\\n.png'; '/a<b>.png'", &[]);
    }

    #[test]
    fn keys_of_objects_are_skipped() {
        check(
            r#"settings({"js":{"misc\/jquery.js":1,"misc\/once.js":1},"css":{"modules\/system\/base.css":1}})"#,
            &[],
        );
        check(
            "var map={ \"./af\": 1, \"./af.js\" : 1, /* b */ './ar.js':2 }",
            &[],
        );
        check(
            "x = a ? '/a.png' : '/b.png'; y = {icon:'/c.png', '/d.png': '/e.png'}",
            &[
                ("/a.png", Document),
                ("/b.png", Document),
                ("/c.png", Document),
                ("/e.png", Document),
            ],
        );
    }

    #[test]
    fn comments_templates_and_regular_expressions_hide_strings() {
        check(
            "// don't\nf('/a.png') /* it's */ + g('/b.png')",
            &[("/a.png", Document), ("/b.png", Document)],
        );
        check("// '/no.png'\n/* '/no.png' */", &[]);
        check(
            "x = /[\"'/]/.test(y) ? '/a.png' : z",
            &[("/a.png", Document)],
        );
        check("return /'/; f('/a.png')", &[("/a.png", Document)]);
        check("x = a / b; y = '/a.png' / 2", &[("/a.png", Document)]);
        check("\"use strict\";a=\"x\";b=\"/y.js\"", &[("/y.js", Document)]);
        check(
            "`a ${f({b: '/c.png'})} '/no.png' ${d}`; '/e.png'",
            &[("/c.png", Document), ("/e.png", Document)],
        );
        check(
            "{ a } '/b.png' } '/c.png'",
            &[("/b.png", Document), ("/c.png", Document)],
        );
    }

    #[test]
    fn strings_that_are_not_closed_hide_little() {
        check("'open\n'/a.png'", &[("/a.png", Document)]);
        check("x = 'open \"/a.png\"", &[("/a.png", Document)]);
        check("`open '/a.png'", &[]);
        check("'", &[]);
        check("/", &[]);
        check("/*", &[]);
        check("\\", &[]);
        check("'\\", &[]);
        check("`${", &[]);
    }

    #[test]
    fn time_is_linear() {
        for piece in [
            "'", "\"'", "\\\"", "'\\\"", "/", "`${", "}", "x='a'/", "/[", "//", "from '",
        ] {
            urls(&piece.as_bytes().repeat(1 << 18), |_, _| {});
        }
    }
}
