//! Adds the content of a document that another reader has read, such as PDF, to a [`Page`].

use crate::links::collector::LinkCollector;
use crate::text::{self, builder::TextBuilder};
use crate::{LinkKind, MediaType, Options, Page, identify_language};

/// The content of a document, as its reader returns it.
#[derive(Debug, Clone, Copy, Default)]
pub struct DocumentContent<'a> {
    /// The media type that the document really has.
    pub media_type: &'static str,
    /// The title in the metadata of the document.
    pub title: Option<&'a str>,
    /// The text, with line ends.
    pub text: &'a str,
    /// The absolute URLs of hyperlinks.
    pub links: &'a [String],
}

impl Page {
    /// Adds the content of a document. Its text is treated like that of other pages: white space is folded, long words
    /// are dropped (T5), the digest, the sketch and the language are computed. `url` is the URL of the page.
    pub fn add_document(&mut self, document: DocumentContent<'_>, url: &str, options: &Options) {
        self.media_type = MediaType::from(document.media_type);
        self.title = document.title.map(str::to_owned);
        let mut links = LinkCollector::new(options);
        for link in document.links {
            links.add(link.as_bytes(), LinkKind::Anchor, false);
        }
        self.links = links.finish(&mut self.remarks);
        if options.text {
            let mut text = TextBuilder::new(options.max_text, options.max_word, true);
            text.push(document.text.as_bytes());
            text::store(&mut text, self);
            self.identify_language(url, options);
        }
    }

    /// Identifies the language of the text, if the options say so.
    pub(crate) fn identify_language(&mut self, url: &str, options: &Options) {
        if options.identify_language {
            self.language_found = identify_language(&self.text, self.language.as_deref(), url);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_treated_like_a_page() {
        let long = "x".repeat(31);
        let links = ["http://a/1".to_owned(), "http://a/1#p2".to_owned()];
        let document = DocumentContent {
            media_type: "application/pdf",
            title: Some("A title"),
            text: &format!("One  line\n\n{long} two\u{a0}words\n"),
            links: &links,
        };
        let mut page = Page::default();
        page.add_document(document, "http://a/x.pdf", &Options::default());
        assert_eq!(page.text, "One line\ntwo words");
        assert_eq!(page.media_type.as_str(), "application/pdf");
        assert_eq!(page.title.as_deref(), Some("A title"));
        assert_eq!(page.links.len(), 1);
        let plain = crate::read(
            &crate::Input {
                url: "http://a/x.txt",
                content_type: Some("text/plain"),
                body: b"One line two words",
                content_language: None,
            },
            &Options::default(),
        );
        assert_eq!(page.text_digest, plain.text_digest);
        assert_eq!(page.words, 4);
    }
}
