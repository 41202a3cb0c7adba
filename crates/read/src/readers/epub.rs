//! Electronic books (EPUB 3.3): chapters in XHTML, in the order of the package document.

use std::collections::HashMap;

use aranha_page::{Input, Options};

use super::package::Package;
use super::xml::{self, Item};
use super::{damaged, is_web_link};
use crate::document::Fault;
use crate::{Document, Limits};

/// Reads a book.
pub(super) fn read(body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let package = Package::open(body, limits).ok_or_else(|| damaged("it is no zip archive"))?;
    let mut document = Document::default();
    let mut chapters = chapters(&package, &mut document)?;
    if package.is_cut {
        document.remarks.push("the book is cut".to_owned());
    }
    if chapters.is_empty() {
        // The package document may be cut off.
        chapters = package
            .names()
            .filter(|name| is_chapter(name))
            .map(str::to_owned)
            .collect();
    }
    let encryption = package.part("META-INF/encryption.xml")?.unwrap_or_default();
    let mut is_encrypted = false;
    let options = Options {
        max_text: limits.max_text,
        max_links: limits.max_links,
        // Long words are removed later, as those of all documents.
        max_word: 0,
        ..Options::default()
    };
    for name in &chapters {
        // Fonts are often obfuscated, chapters only by copy protection.
        let file_name = name.rsplit('/').next().unwrap_or(name);
        if memchr::memmem::find(&encryption, file_name.as_bytes()).is_some() {
            is_encrypted = true;
            continue;
        }
        let Some(chapter) = package.part(name)? else {
            continue;
        };
        let input = Input {
            url: "",
            content_type: Some("application/xhtml+xml"),
            body: &chapter,
            content_language: None,
        };
        let page = aranha_page::read(&input, &options);
        document.text.push_str(&page.text);
        document.text.push('\n');
        let links = page.links.into_iter().map(|link| link.href);
        document
            .links
            .extend(links.filter(|link| is_web_link(link)));
        if document.text.len() > limits.max_text {
            break;
        }
    }
    match document.text.trim().is_empty() {
        true if is_encrypted => Err(Fault::Encrypted),
        true if chapters.is_empty() => Err(damaged("it has no chapters")),
        _ => Ok(document),
    }
}

fn is_chapter(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "xhtml" | "html" | "htm")
}

/// The names of the chapters, from the package document. Sets the title.
fn chapters(package: &Package<'_>, document: &mut Document) -> Result<Vec<String>, Fault> {
    let container = package.part("META-INF/container.xml")?.unwrap_or_default();
    let mut path = String::new();
    xml::visit(&container, |item| {
        if let Item::Start { element, .. } = item
            && element.name() == "rootfile"
        {
            path = element.attribute("full-path").unwrap_or_default();
        }
        path.is_empty()
    });
    let Some(package_document) = package.part(&path)? else {
        return Ok(Vec::new());
    };
    document.title = xml::text_of(&package_document, "title");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut items = HashMap::new();
    let mut chapters: Vec<String> = Vec::new();
    xml::visit(&package_document, |item| {
        let Item::Start { element, .. } = item else {
            return true;
        };
        if element.name() == "item" {
            if let (Some(id), Some(href)) = (element.attribute("id"), element.attribute("href")) {
                items.insert(id, resolve(folder, &href));
            }
        } else if element.name() == "itemref" {
            let name = element.attribute("idref").and_then(|id| items.get(&id));
            // Several items may name places in one file.
            chapters.extend(name.filter(|name| !chapters.contains(name)).cloned());
        }
        true
    });
    Ok(chapters)
}

/// The name of a part that is named relative to a folder.
fn resolve(folder: &str, href: &str) -> String {
    let mut segments: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let path = href.split('#').next().unwrap_or_default();
    for segment in path.split('/') {
        match segment {
            "." | "" => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    percent_decode(&segments.join("/"))
}

fn percent_decode(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        let digits = others
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte)) if *first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts() {
        assert_eq!(resolve("OEBPS", "text/a%20b.xhtml"), "OEBPS/text/a b.xhtml");
        assert_eq!(resolve("a/b", "../c.xhtml#d/e"), "a/c.xhtml");
        assert_eq!(resolve("", "./c%.xhtml"), "c%.xhtml");
    }
}
