//! Readable text: words with one space or one line break between them.
//!
//! `html` pushes the characters between tags as they come, in slices of any cut, and says where an element breaks
//! the line; white space (U+00A0 and the other Unicode spaces included) is folded on the way. A word that turns out
//! too long is taken back (T5: strings over 30 characters without white space are not language).
//!
//! **What always holds.** The buffer never starts or ends with a separator and never has two in a row, so the digest
//! of the buffer, with line breaks read as spaces, does not depend on mark-up or formatting (D2).

use xxhash_rust::xxh3::Xxh3Default;

/// What separates two words. The order is that of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    None,
    Space,
    Line,
}

/// Folds characters into text.
#[derive(Debug)]
pub(crate) struct Text {
    buffer: Vec<u8>,
    /// Where the current word begins, its separator included.
    word: usize,
    /// The separator before the current word.
    before: Gap,
    /// The separator waiting for the next word; `None` while inside one.
    gap: Gap,
    max_word: usize,
    max: usize,
    cut: bool,
    /// Whether a line end in the text is a line break: in plain text, not in HTML.
    lines: bool,
}

impl Text {
    /// `max` bounds the bytes, `max_word` the characters of a word (0: no bound).
    pub(crate) fn new(max: usize, max_word: usize, lines: bool) -> Text {
        let max_word = if max_word == 0 { usize::MAX } else { max_word };
        Text {
            buffer: Vec::new(),
            word: 0,
            before: Gap::None,
            gap: Gap::None,
            max_word,
            max,
            cut: false,
            lines,
        }
    }

    /// Room for what is expected, to save growing step by step.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes.min(self.max));
    }

    /// Ends the current word and remembers what must come before the next.
    #[inline]
    pub(crate) fn separate(&mut self, gap: Gap) {
        if self.gap == Gap::None {
            if gap == Gap::None {
                return;
            }
            self.end_word();
        }
        self.gap = self.gap.max(gap);
    }

    /// Adds characters. Slices may be cut anywhere, even inside a character.
    pub(crate) fn push(&mut self, mut rest: &[u8]) {
        while !self.cut {
            let white = leading_white(rest, self.lines);
            if white.length > 0 {
                self.separate(white.gap);
                rest = &rest[white.length..];
            }
            if rest.is_empty() {
                return;
            }
            let length = word_length(rest);
            self.add(&rest[..length]);
            rest = &rest[length..];
        }
    }

    /// Adds a piece of a word.
    #[inline]
    fn add(&mut self, piece: &[u8]) {
        if self.gap != Gap::None || self.buffer.is_empty() {
            self.word = self.buffer.len();
            self.before = self.gap;
            if !self.buffer.is_empty() {
                self.buffer
                    .push(if self.gap == Gap::Line { b'\n' } else { b' ' });
            }
            self.gap = Gap::None;
        }
        if self.buffer.len() + piece.len() > self.max {
            self.cut = true;
            self.buffer.truncate(self.word);
            return;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// Takes the word just ended back if it is too long to be one.
    #[inline]
    fn end_word(&mut self) {
        let word = &self.buffer[self.word.min(self.buffer.len())..];
        if word.len() > self.max_word && counted(word) > self.max_word {
            self.buffer.truncate(self.word);
            self.gap = self.before;
            self.word = self.buffer.len();
        }
    }

    /// The text, and whether some was left out because of the bound.
    pub(crate) fn finish(mut self) -> (String, bool) {
        self.separate(Gap::Line);
        (string(self.buffer), self.cut)
    }
}

/// Bytes that came out of a valid string, cut only at ASCII or at a character: valid, or nearly so.
pub(crate) fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// xxh3-64 of a text with its line breaks read as spaces; 0 for no text.
pub(crate) fn digest(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let mut hasher = Xxh3Default::new();
    let mut rest = text.as_bytes();
    while let Some(end) = memchr::memchr(b'\n', rest) {
        hasher.update(&rest[..end]);
        hasher.update(b" ");
        rest = &rest[end + 1..];
    }
    hasher.update(rest);
    hasher.digest()
}

/// White space at the start of a slice.
struct White {
    length: usize,
    gap: Gap,
}

#[inline]
fn leading_white(bytes: &[u8], lines: bool) -> White {
    let mut white = White {
        length: 0,
        gap: Gap::None,
    };
    while let Some(length) = bytes.get(white.length..).and_then(white_at) {
        let line = lines && matches!(bytes[white.length], b'\n' | b'\r');
        white.gap = white.gap.max(if line { Gap::Line } else { Gap::Space });
        white.length += length;
    }
    white
}

/// Bytes of the white-space character (or control character: text has none) that a slice starts with.
#[inline]
fn white_at(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [0..=0x20 | 0x7F, ..] => Some(1),
        [0xC2, 0x80..=0xA0, ..] => Some(2),
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x8B | 0xA8 | 0xA9 | 0xAF, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => Some(3),
        _ => None,
    }
}

/// Bytes up to the next white space.
#[inline]
fn word_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes[at..]
            .iter()
            .position(|byte| !(0x21..=0x7E).contains(byte))
        {
            None => return bytes.len(),
            Some(length) => at += length,
        }
        if white_at(&bytes[at..]).is_some() {
            return at;
        }
        at += 1;
        if at == bytes.len() {
            return at;
        }
    }
}

/// Characters of a word, without those of scripts that put no space between words: Thai to Myanmar, Khmer, kana,
/// Chinese characters, and the punctuation between them.
fn counted(word: &[u8]) -> usize {
    let spaceless = |character: &char| {
        matches!(*character,
            '\u{0E00}'..='\u{0EFF}' | '\u{0F00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
            | '\u{3000}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
            | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
    };
    word.utf8_chunks()
        .flat_map(|chunk| chunk.valid().chars())
        .filter(|character| !character.is_ascii_whitespace() && !spaceless(character))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(pieces: &[&str], max_word: usize) -> String {
        let mut text = Text::new(1000, max_word, false);
        for piece in pieces {
            if *piece == "|" {
                text.separate(Gap::Line);
            } else {
                text.push(piece.as_bytes());
            }
        }
        text.finish().0
    }

    #[test]
    fn white_space_is_folded() {
        let check =
            |pieces: &[&str], expected: &str| assert_eq!(fold(pieces, 0), expected, "{pieces:?}");
        check(&["  a \t\n b  ", " c"], "a b c");
        check(&["a", "b", " ", "c"], "ab c");
        check(&["|", "a", "|", " ", "|", "b", "|"], "a\nb");
        check(&["a ", "|", " b"], "a\nb");
        check(&["a\u{A0}\u{3000}b\u{2003}", "é\u{200B}ç"], "a b é ç");
        check(&["a\0b"], "a b");
        check(&["", " ", "|"], "");
        check(&["日本語"], "日本語");
    }

    #[test]
    fn strings_that_are_not_words_are_left_out() {
        let long = "x".repeat(31);
        let fair = "x".repeat(30);
        let check =
            |pieces: &[&str], expected: &str| assert_eq!(fold(pieces, 30), expected, "{pieces:?}");
        check(&["a ", &long, " b"], "a b");
        check(&["a ", &fair, " b"], &format!("a {fair} b"));
        check(&[&long], "");
        check(&[&long, "|", "b"], "b");
        check(&["a", "|", &long, " b"], "a\nb");
        check(&["a ", &long, "|", "b"], "a\nb");
        check(&["a ", &fair[..20], &fair[..20], " b"], "a b");
        check(&["a ", &"é".repeat(30)], &format!("a {}", "é".repeat(30)));
        check(&[&"漢".repeat(40)], &"漢".repeat(40));
        check(&[&long, &long, " ", &long], "");
    }

    #[test]
    fn bounded_at_a_word() {
        let mut text = Text::new(7, 0, false);
        text.push("aé bé cé".as_bytes());
        text.push(b"d");
        assert_eq!(text.finish(), ("aé bé".to_owned(), true));
        let mut text = Text::new(4, 0, false);
        text.push(b"abcdef");
        assert_eq!(text.finish(), (String::new(), true));
    }

    #[test]
    fn cut_inside_a_character() {
        let mut text = Text::new(100, 30, false);
        for byte in "é\u{A0}ç".bytes() {
            text.push(&[byte]);
        }
        assert_eq!(text.finish().0, "é\u{A0}ç");
    }

    #[test]
    fn lines_of_plain_text() {
        let mut text = Text::new(100, 30, true);
        text.push(b"one two\r\n\r\n three\tfour\n");
        assert_eq!(text.finish().0, "one two\nthree four");
    }

    #[test]
    fn formatting_does_not_change_the_digest() {
        assert_eq!(digest("a b\nc"), digest("a\nb c"));
        assert_ne!(digest("a b"), digest("ab"));
        assert_eq!(digest(""), 0);
    }
}
