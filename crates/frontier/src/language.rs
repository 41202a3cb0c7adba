//! The language of a page's text.

use serde::{Deserialize, Serialize};

use crate::codec::{Reader, put_str};

/// A language that was identified from the text of a page. The frontier does not interpret it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Language {
    /// ISO 639 code in lower case, such as `pt`.
    pub code: String,
    /// Confidence in percent.
    pub confidence: u8,
}

impl Language {
    pub(crate) fn put(&self, text: &mut Vec<u8>) {
        put_str(text, &self.code);
        text.push(self.confidence);
    }

    pub(crate) fn read(text: &mut Reader<'_>) -> Option<Language> {
        Some(Language {
            code: text.text()?.to_owned(),
            confidence: text.byte()?,
        })
    }
}
