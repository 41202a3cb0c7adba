//! Reads documents such as PDF for the commands, in worker processes (crate `aranha_read`).
//!
//! A worker is this program again, as `aranha read --worker`.

use aranha_page::{DocumentContent, Input, Options, Page};
use aranha_read::{Kind, Limits, Outcome, Pool, Reading};
use serde_json::{Value, json};

use crate::output::message;

/// Words of the command line of a worker.
const WORKER: [&str; 2] = ["read", "--worker"];

/// Worker processes, and the options for the pages that are made of their answers.
pub(crate) struct Documents {
    pool: Pool,
    options: Options,
}

impl Documents {
    /// Starts no process yet.
    pub(crate) fn new(workers: usize, options: Options) -> Documents {
        let limits = Limits {
            max_text: options.max_text,
            max_links: options.max_links,
            ..Limits::default()
        };
        Documents {
            pool: Pool::of_this_program(WORKER, workers, limits),
            options,
        }
    }

    /// Reads a body of any media type. The second value is about the document, if the body is one. `kind` is the kind of
    /// the document, or `None` to find it out.
    pub(crate) fn read(
        &self,
        input: &Input<'_>,
        kind: Option<Kind>,
    ) -> (Page, Option<DocumentReading>) {
        let declared = input.content_type.unwrap_or_default();
        let kind = kind.or_else(|| Kind::of(declared, input.url, input.body));
        let Some(kind) = kind else {
            return (aranha_page::read(input, &self.options), None);
        };
        let Reading {
            outcome,
            detail,
            document,
        } = self.pool.read(kind, input.body);
        let missing = self.pool.take_missing_protections();
        if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            message(format_args!(
                "the kernel lacks {}: documents are read with less protection",
                missing.join(" and ")
            ));
        }
        let mut page = Page::default();
        let content = DocumentContent {
            media_type: kind.media_type(),
            title: document.title.as_deref(),
            text: &document.text,
            links: &document.links,
        };
        page.add_document(content, input.url, &self.options);
        let reading = DocumentReading {
            kind,
            outcome,
            detail,
            remarks: document.remarks,
        };
        (page, Some(reading))
    }
}

/// How the reading of a document ended.
pub(crate) struct DocumentReading {
    kind: Kind,
    pub(crate) outcome: Outcome,
    detail: String,
    pub(crate) remarks: Vec<String>,
}

impl DocumentReading {
    /// Why there is no text, as the end of a sentence: "it is a pdf document that needs a password".
    pub(crate) fn reason(&self) -> String {
        let kind = self.kind;
        let detail = match self.detail.as_str() {
            "" => String::new(),
            detail => format!(": {detail}"),
        };
        match self.outcome {
            Outcome::Text => format!("the text of the {kind} document has only long strings"),
            Outcome::Empty => {
                format!("it is a {kind} document without text; its pages may be images{detail}")
            }
            Outcome::Encrypted => format!("it is a {kind} document that needs a password"),
            Outcome::Damaged => format!("it is a damaged {kind} document{detail}"),
            Outcome::TooSlow => format!("it is a {kind} document that takes too long{detail}"),
            Outcome::TooLarge => format!("it is a {kind} document that is too large{detail}"),
            Outcome::Crashed => format!("it is a {kind} document that could not be read{detail}"),
            Outcome::Unknown => "its type is unknown".to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "type": self.kind.name(), "outcome": self.outcome.name(), "detail": self.detail })
    }
}
