//! Builds the readable text of a page: words separated by one space or one line break.
//!
//! Readers push characters in slices of any length and announce where an element breaks the line. White space, including
//! U+00A0 and other Unicode spaces, is folded on the way. A word longer than the limit is removed again (T5: strings of more
//! than 30 characters without white space are not language).
//!
//! **Invariants.** The text never starts or ends with a separator and never has two in a row. Its digest, with line breaks
//! read as spaces, therefore does not depend on mark-up or formatting (D2).

use xxhash_rust::xxh3::Xxh3Default;

use crate::swar::{HIGHS, all, below, equal, first, pack};

/// What separates two words. The order is that of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Separator {
    None,
    Space,
    Line,
}

/// Folds characters into text.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    /// Longer than the text: room is made in large steps, not for every slice.
    buffer: Vec<u8>,
    /// Bytes of text in the buffer.
    length: usize,
    /// Where the current word begins, its separator included.
    word: usize,
    /// The separator before the current word.
    before: Separator,
    /// The separator waiting for the next word; `None` while inside one.
    gap: Separator,
    max_word: usize,
    max: usize,
    cut: bool,
    /// Whether a line end in the text is a line break: in plain text, not in HTML.
    lines: bool,
}

impl TextBuilder {
    /// `max` bounds the bytes, `max_word` the characters of a word (0: no bound).
    pub(crate) fn new(max: usize, max_word: usize, lines: bool) -> TextBuilder {
        let max_word = if max_word == 0 { usize::MAX } else { max_word };
        TextBuilder {
            buffer: Vec::new(),
            length: 0,
            word: 0,
            before: Separator::None,
            gap: Separator::None,
            max_word,
            max,
            cut: false,
            lines,
        }
    }

    /// Room for what is expected, to save growing step by step.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer = vec![0; bytes.min(self.max)];
    }

    /// Ends the current word and remembers what must come before the next.
    #[inline]
    pub(crate) fn separate(&mut self, gap: Separator) {
        if self.gap == Separator::None {
            if gap == Separator::None {
                return;
            }
            self.end_word();
        }
        self.gap = self.gap.max(gap);
    }

    /// Adds characters. Slices may be cut anywhere, even inside a character.
    pub(crate) fn push(&mut self, mut rest: &[u8]) {
        if self.lines {
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
            let doubtful = rest
                .iter()
                .position(|byte| *byte <= b' ')
                .unwrap_or(rest.len());
            self.push_words(&rest[..doubtful]);
            rest = &rest[doubtful..];
        }
        if !rest.is_empty() {
            self.separate(Separator::Space);
        }
    }

    /// Adds up to eight bytes at once; false when they need a closer look. Much of a page comes in such pieces.
    #[inline]
    fn push_short(&mut self, bytes: &[u8]) -> bool {
        let block = ByteBlock::read(bytes);
        if block.is_doubtful() || self.cut || self.length + 4 * BLOCK > self.max {
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
                if self.gap != Separator::None || self.length == 0 {
                    self.begin_word();
                }
                self.buffer[self.length..self.length + BLOCK].copy_from_slice(&lanes.to_le_bytes());
                self.length += run;
            }
            left -= run;
            // Eight only when nothing is left.
            (lanes, white) = (lanes >> (8 * (run % 8)), white >> (8 * (run % 8)));
        }
        true
    }

    /// Adds a slice that begins inside a word or with one, eight bytes at a time, and returns how many it could
    /// take. It stops at what needs a closer look: white space after white space, a word too long, a byte that may
    /// begin a white-space character outside ASCII, the bound.
    #[inline]
    fn push_blocks(&mut self, bytes: &[u8]) -> usize {
        let room = bytes.len() + 1 + BLOCK;
        if self.cut || self.length + room > self.max || self.max_word < BLOCK || bytes.is_empty() {
            return 0;
        }
        self.make_room(room);
        if self.gap != Separator::None || self.length == 0 {
            self.begin_word();
        }
        let begin = self.length;
        let mut word = self.word;
        // Bytes of the current word so far; its separator does not count.
        let mut since = begin - word - usize::from(word > 0).min(begin - word);
        let mut after_white = 0;
        let mut taken = 0;
        while taken < bytes.len() {
            let block = ByteBlock::read(&bytes[taken..]);
            let white = block.white();
            let twice = white & (white << 8 | after_white) != 0;
            let first = (white.trailing_zeros() / 8) as usize;
            let ended = since + first.min(block.length);
            if twice || ended > self.max_word || block.is_doubtful() {
                break;
            }
            let at = begin + taken;
            self.buffer[at..at + BLOCK].copy_from_slice(&block.with_spaces(white));
            taken += block.length;
            if white == 0 {
                since = ended;
                after_white = 0;
            } else {
                let last = 7 - (white.leading_zeros() / 8) as usize;
                word = at + last;
                since = block.length - 1 - last;
                after_white = u64::from(since == 0) << 7;
            }
        }
        if taken == 0 && self.length > self.word && since == 0 {
            // The word that was begun may be none.
            self.length = self.word;
            self.gap = self.before;
            return 0;
        }
        if word != self.word {
            self.word = word;
            self.before = Separator::Space;
        }
        self.length = begin + taken;
        if after_white != 0 {
            // The white space at the end is no text yet.
            self.length -= 1;
            self.gap = Separator::Space;
        }
        taken
    }

    /// Writes the separator that is due, or none at the very start.
    #[inline]
    fn begin_word(&mut self) {
        self.word = self.length;
        self.before = self.gap;
        if self.length > 0 {
            self.buffer[self.length] = if self.gap == Separator::Line {
                b'\n'
            } else {
                b' '
            };
            self.length += 1;
        }
        self.gap = Separator::None;
    }

    /// Adds a slice word by word.
    fn push_words(&mut self, mut rest: &[u8]) {
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
    fn add(&mut self, piece: &[u8]) {
        self.make_room(piece.len() + 1);
        if self.gap != Separator::None || self.length == 0 {
            self.begin_word();
        }
        let end = self.length + piece.len();
        if end > self.max {
            self.cut = true;
            self.length = self.word;
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

    /// Takes the word just ended back if it is too long to be one.
    #[inline]
    fn end_word(&mut self) {
        if self.length - self.word <= self.max_word {
            return;
        }
        if counted(&self.buffer[self.word..self.length]) > self.max_word {
            self.length = self.word;
            self.gap = self.before;
        }
    }

    /// The text, and whether some was left out because of the bound.
    pub(crate) fn finish(&mut self) -> (String, bool) {
        self.separate(Separator::Line);
        let mut text = std::mem::take(&mut self.buffer);
        text.truncate(std::mem::take(&mut self.length));
        text.shrink_to_fit();
        (string(text), self.cut)
    }
}

const BLOCK: usize = 8;

/// Up to eight bytes looked at together, each in its own lane of a number (first byte lowest). Lanes behind the end
/// hold a letter.
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

    /// The high bit of every lane that holds white space or a control character of ASCII.
    #[inline]
    fn white(self) -> u64 {
        below(self.lanes, 0x21)
    }

    /// Whether a lane may begin a white-space character outside ASCII: 0xC2, or 0xE0 to 0xE3.
    #[inline]
    fn is_doubtful(self) -> bool {
        if self.lanes & HIGHS == 0 {
            return false;
        }
        equal(self.lanes, 0xC2) | equal(self.lanes & all(0xFC), 0xE0) != 0
    }

    /// The bytes, white space made spaces.
    #[inline]
    fn with_spaces(self, white: u64) -> [u8; BLOCK] {
        let mask = (white >> 7) * 0xFF;
        (self.lanes & !mask | all(b' ') & mask).to_le_bytes()
    }
}

/// Bytes that came out of a valid string, cut only at ASCII or at a character: valid, or nearly so.
pub(crate) fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// xxh3-64 of a text with its line breaks read as spaces; 0 for no text. Folding white space is all that is needed
/// for mark-up and layout not to matter; case is kept, since a text in capitals is another text, and folding it would
/// cost a second pass over every page.
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
    gap: Separator,
}

#[inline]
fn leading_white(bytes: &[u8], lines: bool) -> LeadingWhitespace {
    let mut white = LeadingWhitespace {
        length: 0,
        gap: Separator::None,
    };
    while let Some(length) = bytes.get(white.length..).and_then(white_at) {
        let line = lines && matches!(bytes[white.length], b'\n' | b'\r');
        white.gap = white.gap.max(if line {
            Separator::Line
        } else {
            Separator::Space
        });
        white.length += length;
    }
    white
}

/// Bytes of the white-space character (or control character: text has none) that a slice starts with.
#[inline]
fn white_at(bytes: &[u8]) -> Option<usize> {
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

/// Bytes up to the next white space.
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
        let mut text = TextBuilder::new(7, 0, false);
        text.push("aé bé cé".as_bytes());
        text.push(b"d");
        assert_eq!(text.finish(), ("aé bé".to_owned(), true));
        let mut text = TextBuilder::new(4, 0, false);
        text.push(b"abcdef");
        assert_eq!(text.finish(), (String::new(), true));
    }

    #[test]
    fn cut_inside_a_character() {
        let mut text = TextBuilder::new(100, 30, false);
        for byte in "é\u{A0}ç".bytes() {
            text.push(&[byte]);
        }
        assert_eq!(text.finish().0, "é\u{A0}ç");
    }

    #[test]
    fn lines_of_plain_text() {
        let mut text = TextBuilder::new(100, 30, true);
        text.push(b"one two\r\n\r\n three\tfour\n");
        assert_eq!(text.finish().0, "one two\nthree four");
    }

    /// The quick way and the word-by-word way are one function.
    #[test]
    fn both_ways_agree() {
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
            let mut quick = TextBuilder::new(90, 10, false);
            let mut slow = TextBuilder::new(90, 10, false);
            let mut log = Vec::new();
            for _ in 0..12 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let piece = pieces[(state >> 16) as usize % pieces.len()];
                log.push(piece);
                match piece {
                    "|" => [&mut quick, &mut slow].map(|text| text.separate(Separator::Line)),
                    "_" => [&mut quick, &mut slow].map(|text| text.separate(Separator::Space)),
                    _ => {
                        quick.push(piece.as_bytes());
                        slow.push_words(piece.as_bytes());
                        [(), ()]
                    }
                };
            }
            assert_eq!(quick.finish(), slow.finish(), "{log:?}");
        }
    }

    #[test]
    fn formatting_does_not_change_the_digest() {
        assert_eq!(digest("a b\nc"), digest("a\nb c"));
        assert_ne!(digest("a b"), digest("ab"));
        assert_eq!(digest(""), 0);
    }
}
