//! Builds the readable text of a page: words separated by one space or one line break.
//!
//! Readers push characters in slices of any length and announce where an element breaks the line. White space,
//! including U+00A0 and other Unicode spaces, is folded to one separator. A word longer than the limit is removed from
//! the text (T5: a string of more than 30 characters without white space is usually not language).
//!
//! **Invariants.** The text never starts or ends with a separator and never has two in a row. Its digest, with line
//! breaks read as spaces, therefore does not depend on mark-up or formatting (D2).

use xxhash_rust::xxh3::Xxh3Default;

use crate::swar::{HIGHS, all, below, equal, first, pack};

/// The separator between two words. If several elements or spaces separate the same two words, only the greatest
/// separator is written. The variants are in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Separator {
    None,
    Space,
    Line,
}

/// Builds the text from slices of characters. Characters are copied once, straight into the buffer. A word that turns
/// out to be too long is removed by shortening the text.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    /// The text, followed by unused bytes. The buffer grows in large steps, not with every slice.
    buffer: Vec<u8>,
    /// Bytes of text in the buffer.
    length: usize,
    /// Offset at which the current word begins, including the separator before it.
    word_start: usize,
    /// The separator before the current word.
    separator_before: Separator,
    /// The separator to be written before the next word. [`Separator::None`] inside a word.
    pending: Separator,
    max_word: usize,
    max: usize,
    truncated: bool,
    /// Whether a line end in the input is a line break: true for plain text, false for HTML.
    keep_line_ends: bool,
}

impl TextBuilder {
    /// `max` is the maximum length of the text in bytes. `max_word` is the maximum length of a word in characters; 0
    /// means no limit.
    pub(crate) fn new(max: usize, max_word: usize, keep_line_ends: bool) -> TextBuilder {
        let max_word = if max_word == 0 { usize::MAX } else { max_word };
        TextBuilder {
            buffer: Vec::new(),
            length: 0,
            word_start: 0,
            separator_before: Separator::None,
            pending: Separator::None,
            max_word,
            max,
            truncated: false,
            keep_line_ends,
        }
    }

    /// Allocates the buffer for the expected length of the text.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer = vec![0; bytes.min(self.max)];
    }

    /// Bytes of text so far.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Ends the current word and stores the separator to be written before the next one.
    #[inline]
    pub(crate) fn separate(&mut self, separator: Separator) {
        if self.pending == Separator::None {
            if separator == Separator::None {
                return;
            }
            self.end_word();
        }
        self.pending = self.pending.max(separator);
    }

    /// Appends characters. A slice may begin or end anywhere, even inside a character.
    pub(crate) fn push(&mut self, mut rest: &[u8]) {
        if self.keep_line_ends {
            return self.push_words(rest);
        }
        if rest.len() <= BLOCK && self.push_short(rest) {
            return;
        }
        while let Some(start) = rest.iter().position(|byte| *byte > b' ') {
            if start > 0 {
                self.separate(Separator::Space);
                rest = &rest[start..];
            }
            rest = &rest[self.push_blocks(rest)..];
            let slow_part = rest
                .iter()
                .position(|byte| *byte <= b' ')
                .unwrap_or(rest.len());
            self.push_words(&rest[..slow_part]);
            rest = &rest[slow_part..];
        }
        if !rest.is_empty() {
            self.separate(Separator::Space);
        }
    }

    /// Fast path for slices of up to eight bytes, which are common. If the bytes need the slow path, changes nothing
    /// and returns false.
    #[inline]
    fn push_short(&mut self, bytes: &[u8]) -> bool {
        let block = ByteBlock::read(bytes);
        if block.may_have_unicode_space() || self.truncated || self.length + 4 * BLOCK > self.max {
            return false;
        }
        self.make_room(4 * BLOCK);
        let (mut lanes, mut left, mut white) = (block.lanes, block.length, block.white());
        while left > 0 {
            let run;
            if white & 0x80 != 0 {
                run = first(!white & HIGHS).min(left);
                self.separate(Separator::Space);
            } else {
                run = first(white).min(left);
                if self.pending != Separator::None || self.length == 0 {
                    self.begin_word();
                }
                self.buffer[self.length..self.length + BLOCK].copy_from_slice(&lanes.to_le_bytes());
                self.length += run;
            }
            left -= run;
            // `run % 8` avoids a shift by 64 bits. `run` is 8 only if no byte is left.
            (lanes, white) = (lanes >> (8 * (run % 8)), white >> (8 * (run % 8)));
        }
        true
    }

    /// Appends a slice that does not begin with white space, eight bytes at a time. Returns the number of bytes
    /// appended. Stops where the slow path is needed: at two white-space characters in a row, a word that is too long,
    /// a byte that may begin a white-space character outside ASCII, or the length limit.
    #[inline]
    fn push_blocks(&mut self, bytes: &[u8]) -> usize {
        let room = bytes.len() + 1 + BLOCK;
        if self.truncated
            || self.length + room > self.max
            || self.max_word < BLOCK
            || bytes.is_empty()
        {
            return 0;
        }
        self.make_room(room);
        if self.pending != Separator::None || self.length == 0 {
            self.begin_word();
        }
        let begin = self.length;
        let mut word_start = self.word_start;
        // Bytes of the current word so far, without its separator.
        let mut word_length =
            begin - word_start - usize::from(word_start > 0).min(begin - word_start);
        let mut after_white = 0;
        let mut taken = 0;
        while taken < bytes.len() {
            let block = ByteBlock::read(&bytes[taken..]);
            let white = block.white();
            let two_in_a_row = white & (white << 8 | after_white) != 0;
            let first = (white.trailing_zeros() / 8) as usize;
            let ended = word_length + first.min(block.length);
            if two_in_a_row || ended > self.max_word || block.may_have_unicode_space() {
                break;
            }
            let at = begin + taken;
            self.buffer[at..at + BLOCK].copy_from_slice(&block.with_spaces(white));
            taken += block.length;
            if white == 0 {
                word_length = ended;
                after_white = 0;
            } else {
                let last = 7 - (white.leading_zeros() / 8) as usize;
                word_start = at + last;
                word_length = block.length - 1 - last;
                after_white = u64::from(word_length == 0) << 7;
            }
        }
        if taken == 0 && self.length > self.word_start && word_length == 0 {
            // Nothing was appended, so the separator that `begin_word` wrote is pending again.
            self.length = self.word_start;
            self.pending = self.separator_before;
            return 0;
        }
        if word_start != self.word_start {
            self.word_start = word_start;
            self.separator_before = Separator::Space;
        }
        self.length = begin + taken;
        if after_white != 0 {
            // White space at the end is removed from the text. It stays pending until the next word begins.
            self.length -= 1;
            self.pending = Separator::Space;
        }
        taken
    }

    /// Writes the pending separator, except at the start of the text.
    #[inline]
    fn begin_word(&mut self) {
        self.word_start = self.length;
        self.separator_before = self.pending;
        if self.length > 0 {
            self.buffer[self.length] = if self.pending == Separator::Line {
                b'\n'
            } else {
                b' '
            };
            self.length += 1;
        }
        self.pending = Separator::None;
    }

    /// The slow path: appends a slice word by word.
    fn push_words(&mut self, mut rest: &[u8]) {
        while !self.truncated {
            let white = leading_whitespace(rest, self.keep_line_ends);
            if white.length > 0 {
                self.separate(white.separator);
                rest = &rest[white.length..];
            }
            if rest.is_empty() {
                return;
            }
            let length = word_length(rest);
            self.push_piece(&rest[..length]);
            rest = &rest[length..];
        }
    }

    /// Appends a piece of a word. If the text would exceed its limit, the whole word is dropped.
    fn push_piece(&mut self, piece: &[u8]) {
        self.make_room(piece.len() + 1);
        if self.pending != Separator::None || self.length == 0 {
            self.begin_word();
        }
        let end = self.length + piece.len();
        if end > self.max {
            self.truncated = true;
            self.length = self.word_start;
            return;
        }
        self.buffer[self.length..end].copy_from_slice(piece);
        self.length = end;
    }

    #[inline]
    fn make_room(&mut self, bytes: usize) {
        let wanted = self.length + bytes;
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted.max(2 * self.buffer.len()), 0);
        }
    }

    /// Removes the current word if it is longer than the limit.
    #[inline]
    fn end_word(&mut self) {
        if self.length - self.word_start <= self.max_word {
            return;
        }
        if counted_characters(&self.buffer[self.word_start..self.length]) > self.max_word {
            self.length = self.word_start;
            self.pending = self.separator_before;
        }
    }

    /// Returns the text and whether it was truncated.
    pub(crate) fn finish(&mut self) -> (String, bool) {
        self.separate(Separator::Line);
        let mut text = std::mem::take(&mut self.buffer);
        text.truncate(std::mem::take(&mut self.length));
        text.shrink_to_fit();
        (into_string(text), self.truncated)
    }
}

const BLOCK: usize = 8;

/// Up to eight bytes as lanes of a `u64`: see `swar`. Unused lanes hold the letter `x`.
#[derive(Clone, Copy)]
struct ByteBlock {
    lanes: u64,
    length: usize,
}

impl ByteBlock {
    #[inline]
    fn read(bytes: &[u8]) -> ByteBlock {
        if let Some(chunk) = bytes.first_chunk::<BLOCK>() {
            let lanes = u64::from_le_bytes(*chunk);
            return ByteBlock {
                lanes,
                length: BLOCK,
            };
        }
        let letters = all(b'x');
        let lanes = pack(bytes) | letters << (8 * bytes.len());
        ByteBlock {
            lanes,
            length: bytes.len(),
        }
    }

    /// The high bit of every lane that holds ASCII white space or an ASCII control character.
    #[inline]
    fn white(self) -> u64 {
        below(self.lanes, 0x21)
    }

    /// Whether a lane may begin a white-space character outside ASCII: 0xC2, or 0xE0 to 0xE3.
    #[inline]
    fn may_have_unicode_space(self) -> bool {
        if self.lanes & HIGHS == 0 {
            return false;
        }
        equal(self.lanes, 0xC2) | equal(self.lanes & all(0xFC), 0xE0) != 0
    }

    /// The bytes, with white space replaced by spaces.
    #[inline]
    fn with_spaces(self, white: u64) -> [u8; BLOCK] {
        let mask = (white >> 7) * 0xFF;
        (self.lanes & !mask | all(b' ') & mask).to_le_bytes()
    }
}

/// Converts bytes to a string. The bytes are valid UTF-8, because they were copied from valid UTF-8 that was cut only
/// at ASCII characters. If an error in this crate breaks this rule, the invalid bytes are replaced.
pub(crate) fn into_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// xxh3-64 of a text of [`TextBuilder`]. 0 for an empty text. Line breaks are read as spaces, so mark-up and layout
/// have no effect on the digest. Case is not folded, because that would take a second pass over every page.
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
struct LeadingWhitespace {
    length: usize,
    separator: Separator,
}

#[inline]
fn leading_whitespace(bytes: &[u8], keep_line_ends: bool) -> LeadingWhitespace {
    let mut white = LeadingWhitespace {
        length: 0,
        separator: Separator::None,
    };
    while let Some(length) = bytes.get(white.length..).and_then(whitespace_at) {
        let line = keep_line_ends && matches!(bytes[white.length], b'\n' | b'\r');
        white.separator = white.separator.max(if line {
            Separator::Line
        } else {
            Separator::Space
        });
        white.length += length;
    }
    white
}

/// Length of the white-space or control character that a slice starts with.
#[inline]
fn whitespace_at(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [0..=0x20, ..] => Some(1),
        [0xC2, 0x80..=0xA0, ..] => Some(2),
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x8B | 0xA8 | 0xA9 | 0xAF, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => Some(3),
        _ => None,
    }
}

/// Number of bytes before the next white space.
#[inline]
fn word_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes[at..]
            .iter()
            .position(|byte| !(0x21..=0x7F).contains(byte))
        {
            None => return bytes.len(),
            Some(length) => at += length,
        }
        if whitespace_at(&bytes[at..]).is_some() {
            return at;
        }
        at += 1;
        if at == bytes.len() {
            return at;
        }
    }
}

/// Number of characters of a word. Characters of scripts without spaces between words are not counted: Thai to Myanmar,
/// Khmer, kana, Chinese characters and their punctuation.
fn counted_characters(word: &[u8]) -> usize {
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
        let mut text = TextBuilder::new(1000, max_word, false);
        for piece in pieces {
            if *piece == "|" {
                text.separate(Separator::Line);
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
    fn words_longer_than_the_limit_are_dropped() {
        let long = "x".repeat(31);
        let longest = "x".repeat(30);
        let check =
            |pieces: &[&str], expected: &str| assert_eq!(fold(pieces, 30), expected, "{pieces:?}");
        check(&["a ", &long, " b"], "a b");
        check(&["a ", &longest, " b"], &format!("a {longest} b"));
        check(&[&long], "");
        check(&[&long, "|", "b"], "b");
        check(&["a", "|", &long, " b"], "a\nb");
        check(&["a ", &long, "|", "b"], "a\nb");
        check(&["a ", &longest[..20], &longest[..20], " b"], "a b");
        check(&["a ", &"é".repeat(30)], &format!("a {}", "é".repeat(30)));
        check(&[&"漢".repeat(40)], &"漢".repeat(40));
        check(&[&long, &long, " ", &long], "");
    }

    #[test]
    fn text_is_truncated_between_words() {
        let mut text = TextBuilder::new(7, 0, false);
        text.push("aé bé cé".as_bytes());
        text.push(b"d");
        assert_eq!(text.finish(), ("aé bé".to_owned(), true));
        let mut text = TextBuilder::new(4, 0, false);
        text.push(b"abcdef");
        assert_eq!(text.finish(), (String::new(), true));
    }

    #[test]
    fn slices_may_end_inside_a_character() {
        let mut text = TextBuilder::new(100, 30, false);
        for byte in "é\u{A0}ç".bytes() {
            text.push(&[byte]);
        }
        assert_eq!(text.finish().0, "é\u{A0}ç");
    }

    #[test]
    fn line_ends_of_plain_text_are_kept() {
        let mut text = TextBuilder::new(100, 30, true);
        text.push(b"one two\r\n\r\n three\tfour\n");
        assert_eq!(text.finish().0, "one two\nthree four");
    }

    /// `push` with its fast paths gives the same text as `push_words`.
    #[test]
    fn fast_and_slow_path_agree() {
        let pieces = [
            "a",
            " ",
            "b c ",
            "\n x",
            "  ",
            "|",
            "_",
            "é",
            "\u{A0}",
            "longer-than-ten",
            "12345",
            "ten-of-ten ",
            "\0",
        ];
        let mut state = 1_u32;
        for _ in 0..20_000 {
            let mut fast = TextBuilder::new(90, 10, false);
            let mut slow = TextBuilder::new(90, 10, false);
            let mut log = Vec::new();
            for _ in 0..12 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let piece = pieces[(state >> 16) as usize % pieces.len()];
                log.push(piece);
                match piece {
                    "|" => [&mut fast, &mut slow].map(|text| text.separate(Separator::Line)),
                    "_" => [&mut fast, &mut slow].map(|text| text.separate(Separator::Space)),
                    _ => {
                        fast.push(piece.as_bytes());
                        slow.push_words(piece.as_bytes());
                        [(), ()]
                    }
                };
            }
            assert_eq!(fast.finish(), slow.finish(), "{log:?}");
        }
    }

    #[test]
    fn formatting_does_not_change_the_digest() {
        assert_eq!(digest("a b\nc"), digest("a\nb c"));
        assert_ne!(digest("a b"), digest("ab"));
        assert_eq!(digest(""), 0);
    }
}
