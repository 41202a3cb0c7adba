//! The file name of a page in a mirror: the host, then the path of the URL (Bouras 2). The name is relative to the
//! folder that the export creates. This folder is named after the exported date.
//!
//! `http://www.mysite.com/d1/d2` becomes `www.mysite.com/d1/d2/index.html`. `/d1/d2/` would become the same file;
//! `plan` gives one of the two pages another name. Names keep the text of the URL as far as all file systems allow it.
//! If a part of the path has to be changed, `~` and a hash of the original part are appended to the changed part.
//!
//! **Always holds**, for any URL: no component of a name is empty, `.` or `..`. Each component has at most 255 bytes,
//! and contains no separators or control characters. If the name is joined to a folder, the result is below that
//! folder.

use aranha_url::PathKey;

use crate::terminal_escape::needs_escape;

/// Maximum bytes of a component before the ending is added. File systems allow 255.
const MAX_COMPONENT: usize = 200;
/// Maximum number of folders in a name. If the path of a page has more folders or is longer than [`MAX_FOLDER_PATH`],
/// the page goes into the folder `_deep` of its host, and its file name is a hash.
const MAX_FOLDERS: usize = 40;
const MAX_FOLDER_PATH: usize = 1000;

/// Folder, stem and ending of a file. The ending includes the dot, or is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    /// Folder names separated by `/`; ends with `/`.
    pub(crate) folder: String,
    stem: String,
    ending: String,
}

impl FileName {
    /// The file name of a page. `authority` is host and port, `target` is path and query, both as in the URL.
    pub(crate) fn of(authority: &str, target: &str, media_type: &str) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let host = authority.replacen(':', "_", 1);
        let mut folders = vec![match component(&host) {
            // A host may be called `index.html`, but the list of sites already has this file name.
            name if name.eq_ignore_ascii_case("index.html") => format!("_{name}"),
            name => name,
        }];
        let path = path.strip_prefix('/').unwrap_or(path);
        let (above, last) = path.rsplit_once('/').map_or(("", path), |(a, l)| (a, l));
        if path.contains('/') {
            folders.extend(above.split('/').map(component));
        }
        let (mut stem, ending) = file(last, media_type, &mut folders);
        if let Some(query) = query {
            stem = format!("{stem}@{}", component(query));
        }
        let deep = folders.len() > MAX_FOLDERS;
        let name = Self {
            folder: format!("{}/", folders.join("/")),
            stem: bounded(stem, target),
            ending,
        };
        if deep || name.folder.len() > MAX_FOLDER_PATH {
            return Self {
                folder: format!("{}/_deep/", folders[0]),
                stem: hash(target),
                ..name
            };
        }
        name
    }

    /// The whole path, separated by `/`.
    pub(crate) fn path(&self) -> String {
        format!("{}{}{}", self.folder, self.stem, self.ending)
    }

    /// The path with a hash of `url` appended, for a name that is already taken.
    pub(crate) fn with_hash(&self, url: &str) -> String {
        format!("{}{}~{}{}", self.folder, self.stem, hash(url), self.ending)
    }
}

/// Stem and ending of the file. An HTML page without an ending becomes `index.html` in a folder with the name of the
/// page, because the site may have pages below this page.
fn file(last: &str, media_type: &str, folders: &mut Vec<String>) -> (String, String) {
    let (usual, endings) = endings(media_type);
    let usual = usual.map_or_else(String::new, |ending| format!(".{ending}"));
    if last.is_empty() {
        return ("index".to_owned(), usual);
    }
    let name = component(last);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_good(ending, endings) => {
            (stem.to_owned(), format!(".{ending}"))
        }
        None if usual == ".html" => {
            folders.push(name);
            ("index".to_owned(), usual)
        }
        _ => (name, usual),
    }
}

/// The usual file ending for a media type, and the endings that are kept if the URL has one of them. If the list is
/// empty, any ending of the URL is kept.
fn endings(media_type: &str) -> (Option<&'static str>, &'static [&'static str]) {
    match media_type {
        "text/html" => (Some("html"), &["html", "htm"]),
        "application/xhtml+xml" => (Some("xhtml"), &["xhtml", "html", "htm"]),
        "text/css" => (Some("css"), &["css"]),
        "text/javascript" | "application/javascript" | "application/x-javascript" => {
            (Some("js"), &["js", "mjs"])
        }
        "application/json" => (Some("json"), &["json"]),
        "text/plain" => (Some("txt"), &[]),
        "application/pdf" => (Some("pdf"), &["pdf"]),
        "image/png" => (Some("png"), &["png"]),
        "image/jpeg" => (Some("jpg"), &["jpg", "jpeg"]),
        "image/gif" => (Some("gif"), &["gif"]),
        "image/webp" => (Some("webp"), &["webp"]),
        "image/svg+xml" => (Some("svg"), &["svg"]),
        "application/xml" | "text/xml" | "application/sitemap+xml" => (Some("xml"), &["xml"]),
        _ => (None, &[]),
    }
}

fn is_good(ending: &str, endings: &[&str]) -> bool {
    let short = (1..=8).contains(&ending.len());
    let known = endings.iter().any(|good| good.eq_ignore_ascii_case(ending));
    short && (endings.is_empty() || known)
}

/// Converts a part of a URL to a name that all file systems allow.
fn component(part: &str) -> String {
    let decoded = decoded(part);
    let mut changed = false;
    let mut name: String = decoded
        .chars()
        .map(|c| {
            let bad = needs_escape(c)
                || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
            changed |= bad;
            if bad { '_' } else { c }
        })
        .collect();
    // Windows removes dots and spaces at the end of a name, so they are replaced by `_`. `.`, `..` and the empty name
    // become `_`.
    let kept = name.trim_end_matches(['.', ' ']).len();
    if kept < name.len() || name.is_empty() {
        name.truncate(kept);
        name.push('_');
        changed = true;
    }
    if is_device(&name) || name.starts_with(".aranha") {
        name.insert(0, '_');
    }
    if changed {
        name = format!("{name}~{}", hash(part));
    }
    bounded(name, part)
}

/// Undoes percent-encoding. If the result is not UTF-8, the part is returned unchanged.
fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |ahead: usize| char::from(*bytes.get(at + ahead)?).to_digit(16);
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (digit(1), digit(2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| part.to_owned())
}

/// Whether Windows reserves the name for a device, with or without an ending.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" => true,
        _ => stem
            .strip_prefix("com")
            .or(stem.strip_prefix("lpt"))
            .is_some_and(|number| {
                let mut digits = number.chars();
                let first = digits.next();
                digits.next().is_none()
                    && first.is_some_and(|c| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'))
            }),
    }
}

/// Shortens a name that is longer than [`MAX_COMPONENT`], and appends a hash of `original`.
fn bounded(name: String, original: &str) -> String {
    if name.len() <= MAX_COMPONENT {
        return name;
    }
    let mut end = MAX_COMPONENT - 20;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let kept = name[..end].trim_end_matches(['.', ' ']);
    format!("{kept}~{}", hash(original))
}

fn hash(text: &str) -> String {
    format!("{:016x}", PathKey::of(text).0)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(target: &str, media_type: &str, expected: &str) {
        let path = FileName::of("a.org", target, media_type).path();
        // `~` and a hash are shown as `#`.
        let mut shown = String::new();
        let mut rest = path.as_str();
        while let Some((before, after)) = rest.split_once('~') {
            let is_hash = after.len() >= 16 && after[..16].bytes().all(|b| b.is_ascii_hexdigit());
            shown.push_str(before);
            shown.push_str(if is_hash { "#" } else { "~" });
            rest = if is_hash { &after[16..] } else { after };
        }
        shown.push_str(rest);
        assert_eq!(shown, format!("a.org/{expected}"));
    }

    const HTML: &str = "text/html";

    #[test]
    fn host_and_path_become_folders() {
        check("/", HTML, "index.html");
        check("/d1/d2", HTML, "d1/d2/index.html");
        check("/d1/d2/", HTML, "d1/d2/index.html");
        check("/a.html", HTML, "a.html");
        check("/a.HTM", HTML, "a.HTM");
        check("/a.php", HTML, "a.php.html");
        check("/a.php?x=1&y=%C3%A9", HTML, "a.php@x=1&y=é.html");
        check("/a?x", HTML, "a/index@x.html");
        check("/?x=/..", HTML, "index@x=__#.html");
        check("/i.png", "image/png", "i.png");
        check("/i", "image/png", "i.png");
        check("/s.css?v=2", "text/css", "s@v=2.css");
        check("/README", "text/plain", "README.txt");
        check("/a.tar.gz", "application/gzip", "a.tar.gz");
        check("/%E2%82%AC/x y", HTML, "€/x y/index.html");
        assert_eq!(
            FileName::of("a.org:8080", "/", HTML).path(),
            "a.org_8080/index.html"
        );
    }

    #[test]
    fn unsafe_names_are_changed() {
        check("/../../etc/passwd", HTML, "_#/_#/etc/passwd/index.html");
        check("/%2e%2e/%2E%2E%2fx", HTML, "_#/.._x#.html");
        check("//x//", HTML, "_#/x/_#/index.html");
        check("/a%00b\\c", "text/plain", "a_b_c#.txt");
        check("/c:%5Cwindows", "text/plain", "c__windows#.txt");
        check(
            "/nul/COM1.txt/lpt9",
            "text/plain",
            "_nul/_COM1.txt/_lpt9.txt",
        );
        check("/a./b%20/...", "text/plain", "a_#/b_#/_#.txt");
        check("/%FF", "text/plain", "%FF.txt");
        check("/.aranha.part", "", "_.aranha.part");
        check("/.htaccess", "text/plain", ".htaccess.txt");
        assert_eq!(
            FileName::of("index.html", "/", HTML).path(),
            "_index.html/index.html"
        );
        assert_eq!(
            FileName::of("..", "/", HTML).folder.matches("..").count(),
            0
        );
    }

    #[test]
    fn shortened_names_stay_distinct() {
        let long =
            |end: &str| FileName::of("a.org", &format!("/{}{end}", "é".repeat(300)), HTML).path();
        assert_ne!(long("x"), long("y"));
        let deep =
            |end: &str| FileName::of("a.org", &format!("{}{end}", "/d".repeat(500)), HTML).path();
        assert!(deep("x").starts_with("a.org/_deep/"));
        assert_ne!(deep("x"), deep("y"));
    }

    #[track_caller]
    fn check_safe(path: &str) {
        assert!(path.len() < 2000, "{path}");
        for part in path.split('/') {
            assert!(
                !part.is_empty() && part.len() <= 255,
                "{part:?} of {path:?}"
            );
            assert!(
                !part.chars().any(|c| c.is_control() || c == '\\'),
                "{path:?}"
            );
            assert!(!part.ends_with(['.', ' ']) && !is_device(part), "{path:?}");
        }
        let mut parts = Path::new(path).components();
        assert!(
            parts.all(|part| matches!(part, Component::Normal(_))),
            "{path:?}"
        );
    }

    const PARTS: &[&str] = &[
        "/",
        "..",
        ".",
        "%2e",
        "%2F",
        "%5c",
        "\\",
        "%00",
        "\0",
        "?",
        "&",
        "=",
        "con",
        "nul.",
        "COM1",
        ":",
        " ",
        "%20",
        "a",
        "B",
        ".html",
        "é",
        "%C3",
        "%A9",
        "\u{202e}",
        "~",
        "@",
        "%",
        "#",
        "\r\n",
        "long-name-of-a-folder-or-a-file",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_url_gives_a_file_below_the_folder(
            authority in "[a-z.:\\[\\]/\\\\\0%-]{0,30}",
            choice in prop::collection::vec(0..PARTS.len(), 0..60),
            noise in ".{0,40}",
            html in any::<bool>(),
        ) {
            let target: String = choice.iter().map(|index| PARTS[*index]).chain([noise.as_str()]).collect();
            let name = FileName::of(&authority, &target, if html { "text/html" } else { "x/y" });
            check_safe(&name.path());
            check_safe(&name.with_hash(&target));
        }
    }
}
