//! `OpenDocument` files: texts, spreadsheets, presentations and drawings (OASIS `OpenDocument` 1.3, part 3).
//!
//! The text is in the paragraphs and headings of `content.xml`, wherever they stand: in cells, frames, notes and lists.
//! A row of a spreadsheet becomes a line. Deleted text of tracked changes is left out.

use super::package::Package;
use super::xml::{self, Item};
use super::{damaged, is_web_link};
use crate::document::Fault;
use crate::{Document, Limits};

/// Reads a file.
pub(super) fn read(body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let package = Package::open(body, limits).ok_or_else(|| damaged("it is no zip archive"))?;
    let manifest = package.part("META-INF/manifest.xml")?.unwrap_or_default();
    if memchr::memmem::find(&manifest, b"encryption-data").is_some() {
        return Err(Fault::Encrypted);
    }
    let Some(content) = package.part("content.xml")? else {
        return Err(damaged("the part content.xml is missing"));
    };
    let mut document = Document::default();
    if let Some(metadata) = package.part("meta.xml")? {
        document.title = xml::text_of(&metadata, "title");
    }
    let is_whole = read_content(&content, limits, &mut document);
    if !is_whole || package.is_cut {
        let remark = "the document is cut or malformed".to_owned();
        if document.text.is_empty() {
            return Err(Fault::Damaged(remark));
        }
        document.remarks.push(remark);
    }
    Ok(document)
}

fn read_content(content: &[u8], limits: &Limits, document: &mut Document) -> bool {
    // Paragraphs may be nested: a note stands inside the paragraph that refers to it.
    let mut paragraphs = 0_usize;
    let mut deleted = 0_usize;
    let mut cells = 0_usize;
    xml::visit(content, |item| {
        let text = &mut document.text;
        match item {
            Item::Start { element, is_empty } => match element.name() {
                "tracked-changes" if !is_empty => deleted += 1,
                "p" | "h" if !is_empty => {
                    if paragraphs > 0 {
                        text.push('\n');
                    }
                    paragraphs += 1;
                }
                "table-cell" if !is_empty => cells += 1,
                "s" | "tab" => text.push(' '),
                "line-break" => text.push('\n'),
                "a" => {
                    let link = element.attribute("href").filter(|link| is_web_link(link));
                    document.links.extend(link);
                }
                _ => {}
            },
            Item::End(name) => match name {
                "tracked-changes" => deleted = deleted.saturating_sub(1),
                "p" | "h" => {
                    paragraphs = paragraphs.saturating_sub(1);
                    text.push(if cells > 0 { ' ' } else { '\n' });
                }
                "table-cell" => cells = cells.saturating_sub(1),
                "table-row" if !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
                _ => {}
            },
            Item::Text(content) => {
                if paragraphs > 0 && deleted == 0 {
                    text.push_str(content);
                }
            }
        }
        text.len() <= limits.max_text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, text: &str, links: &[&str]) {
        let mut document = Document::default();
        let content = format!("<office:document-content>{content}</office:document-content>");
        assert!(read_content(
            content.as_bytes(),
            &Limits::default(),
            &mut document
        ));
        assert_eq!(document.text, text);
        assert_eq!(document.links, links);
    }

    #[test]
    fn paragraphs_spaces_and_links() {
        check(
            "\n <text:p>a<text:s text:c='2'/>b &amp; &#233;<text:tab/>c</text:p>\n<text:h>d</text:h>",
            "a b & é c\nd\n",
            &[],
        );
        check(
            "<text:p>see <text:a xlink:href='https://example.org/?a&amp;b'>it</text:a>, <text:a xlink:href='#x'>there</text:a></text:p>",
            "see it, there\n",
            &["https://example.org/?a&b"],
        );
        check(
            "<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n</text:p></text:note-body></text:note> b</text:p>",
            "a1\nn\n b\n",
            &[],
        );
    }

    #[test]
    fn rows_are_lines() {
        check(
            "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell/><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row>",
            "a b \nc \n",
            &[],
        );
    }

    #[test]
    fn deleted_text_is_left_out() {
        check(
            "<text:tracked-changes><text:deletion><text:p>old</text:p></text:deletion></text:tracked-changes><text:p>new</text:p>",
            "\nnew\n",
            &[],
        );
    }

    #[test]
    fn a_cut_document_gives_its_beginning() {
        let mut document = Document::default();
        let content = b"<a><text:p>first</text:p><text:p>sec";
        assert!(!read_content(content, &Limits::default(), &mut document));
        assert_eq!(document.text, "first\nsec");
    }
}
