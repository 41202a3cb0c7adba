//! The part of a text that is examined, in the form of the model's training texts.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{MAX_SAMPLE, MIN_TEXT};

/// A part of a text in Unicode normalization form C. A part in capital letters is converted to small letters.
pub(super) struct Sample<'a>(Cow<'a, str>);

impl<'a> Sample<'a> {
    /// `None` if the text is too short.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        text.char_indices().nth(MIN_TEXT - 1)?;
        let mut sample = part(text);
        if is_in_capitals(&sample) {
            sample = sample.to_lowercase().into();
        }
        if !is_normalized(&sample) {
            sample = sample.nfc().collect::<String>().into();
        }
        Some(Sample(sample))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The text, or if it has more than [`MAX_SAMPLE`] characters: its beginning, middle and end. Navigation, licences and
/// notices in another language are often at the beginning or at the end of a page.
fn part(text: &str) -> Cow<'_, str> {
    /// Characters of each part; line breaks separate the parts.
    const THIRD: usize = (MAX_SAMPLE - 2) / 3;
    if text.char_indices().nth(MAX_SAMPLE).is_none() {
        return text.into();
    }
    let beginning = first(text, THIRD);
    let middle = first(&text[text.floor_char_boundary(text.len() / 2)..], THIRD);
    let end = text.char_indices().nth_back(THIRD - 1);
    let end = end.map_or(text, |(start, _)| &text[start..]);
    [beginning, middle, end].join("\n").into()
}

/// The first `count` characters.
fn first(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Whether the text has capital letters and no small letters.
fn is_in_capitals(text: &str) -> bool {
    !text.chars().any(char::is_lowercase) && text.chars().any(char::is_uppercase)
}

fn is_normalized(text: &str) -> bool {
    // All characters below U+0300 are normalized. The first byte of the others is at least 0xCC.
    text.bytes().fold(0, u8::max) < 0xcc || is_nfc_quick(text.chars()) == IsNormalized::Yes
}
