//! What reading a document gives: its text and links, or the reason why there is none.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The content of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The title in the metadata of the document.
    pub title: Option<String>,
    /// The text, with a line end after each paragraph, row or line. Long strings without white space are still in it:
    /// `aranha_page::Page::add_document` removes them (T5).
    pub text: String,
    /// The absolute URLs of hyperlinks, in the order of the document. A URL may occur more than once.
    pub links: Vec<String>,
    /// Irregularities that were tolerated, each a sentence.
    pub remarks: Vec<String>,
}

/// How the reading of a document ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The document has text.
    Text,
    /// The document is intact and has no text, for example because its pages are scanned images.
    Empty,
    /// The document can be read only with a password.
    Encrypted,
    /// The document is cut or malformed, and no text could be recovered.
    Damaged,
    /// Reading took longer than [`Limits::time`](crate::Limits::time).
    TooSlow,
    /// Reading needs more memory than [`Limits::memory`](crate::Limits::memory), or the document expands to more bytes
    /// than the reader accepts.
    TooLarge,
    /// The reader panicked, or its process died or could not be started.
    Crashed,
    /// No reader knows the format.
    Unknown,
}

impl Outcome {
    /// The name in output: `text`, `too-slow`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Text => "text",
            Outcome::Empty => "empty",
            Outcome::Encrypted => "encrypted",
            Outcome::Damaged => "damaged",
            Outcome::TooSlow => "too-slow",
            Outcome::TooLarge => "too-large",
            Outcome::Crashed => "crashed",
            Outcome::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The result of reading one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// How the reading ended.
    pub outcome: Outcome,
    /// Why there is no text: the message of the reader, or how its process died. Empty if there is text.
    pub detail: String,
    /// The content. It may have a title and links if there is no text.
    pub document: Document,
}

impl Reading {
    /// A reading without content.
    pub(crate) fn failed(outcome: Outcome, detail: impl Into<String>) -> Reading {
        Reading {
            outcome,
            detail: detail.into(),
            document: Document::default(),
        }
    }

    /// The reading of a document whose reader has returned.
    pub(crate) fn of(result: Result<Document, Fault>) -> Reading {
        let document = match result {
            Ok(document) => document,
            Err(fault) => return fault.into_reading(),
        };
        let has_text = document.text.chars().any(|c| !c.is_whitespace());
        let detail = match document.remarks.first() {
            Some(remark) if !has_text => remark.clone(),
            _ => String::new(),
        };
        let outcome = match (has_text, document.remarks.is_empty()) {
            (true, _) => Outcome::Text,
            (false, true) => Outcome::Empty,
            // The text may have been in the part that could not be read.
            (false, false) => Outcome::Damaged,
        };
        Reading {
            outcome,
            detail,
            document,
        }
    }
}

/// Why a reader has no document to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Encrypted,
    Damaged(String),
    TooSlow,
    TooLarge(String),
    Panicked(String),
}

impl Fault {
    fn into_reading(self) -> Reading {
        match self {
            Fault::Encrypted => Reading::failed(Outcome::Encrypted, "it needs a password"),
            Fault::Damaged(detail) => Reading::failed(Outcome::Damaged, detail),
            Fault::TooSlow => Reading::failed(Outcome::TooSlow, "its first pages take too long"),
            Fault::TooLarge(detail) => Reading::failed(Outcome::TooLarge, detail),
            Fault::Panicked(detail) => Reading::failed(Outcome::Crashed, detail),
        }
    }
}
