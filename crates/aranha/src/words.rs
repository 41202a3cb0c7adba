//! Two texts compared word by word.
//!
//! Line ends do not count, as they do not count in the digest of a text. Where a script has no spaces between its words,
//! a character is a word. The search for the shortest answer has a deadline: after it the answer is still right, but may
//! say that more has changed than has.
//!
//! Read first: [`compare`].

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use crate::plain::Plain;

/// How long to look for a short answer: the texts of two pages of 10 MB without a word in common end here.
const PATIENCE: Duration = Duration::from_secs(5);
/// Words shown on either side of a change.
const CONTEXT: usize = 6;

/// A word, and whether white space stands before it.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    spaced: bool,
}

/// What became of a stretch of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Removed,
    Added,
}

/// Words that share a fate, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) fate: Fate,
    pub(crate) text: String,
    /// Whether white space stands before it.
    pub(crate) spaced: bool,
}

/// A place where the texts differ, with the words around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) pieces: Vec<Piece>,
    /// Whether the text goes on before and after it.
    pub(crate) cut: (bool, bool),
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) hunks: Vec<Hunk>,
    /// Words.
    pub(crate) removed: u64,
    pub(crate) added: u64,
}

/// A change: words of the old text, and the words of the new one that stand in their place; one of them may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

impl Change {
    fn words(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

impl Hunk {
    /// One line, harmless for a terminal; what was removed and what was added stands between the marks given.
    pub(crate) fn line(&self, removed: (&str, &str), added: (&str, &str)) -> String {
        let mut line = String::new();
        if self.cut.0 {
            line.push('…');
        }
        let mut before = None;
        for piece in &self.pieces {
            let (open, close) = match piece.fate {
                Fate::Kept => ("", ""),
                Fate::Removed => removed,
                Fate::Added => added,
            };
            // What stands in the place of other words stands right behind them.
            let replaces = (before, piece.fate) == (Some(Fate::Removed), Fate::Added);
            if piece.spaced && !line.is_empty() && !replaces {
                line.push(' ');
            }
            line.push_str(open);
            line.push_str(&Plain(&piece.text).to_string());
            line.push_str(close);
            before = Some(piece.fate);
        }
        if self.cut.1 {
            line.push_str(" …");
        }
        line
    }
}

/// What has to be removed from `old` and added to it to make `new`.
pub(crate) fn compare(old: &str, new: &str) -> Difference {
    compare_within(old, new, PATIENCE)
}

fn compare_within(old: &str, new: &str, patience: Duration) -> Difference {
    let (old, new) = (words(old), words(new));
    let changes = tidy(changes(&old, &new, Instant::now() + patience));
    let mut difference = Difference::default();
    for change in &changes {
        difference.removed += change.old.len() as u64;
        difference.added += change.new.len() as u64;
    }
    let together = changes.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT);
    difference.hunks = together.map(|group| hunk(&old, &new, group)).collect();
    difference
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::with_capacity(text.len() / 6);
    for chunk in text.split_whitespace() {
        let mut rest = chunk;
        while let Some(first) = rest.chars().next() {
            let end = if is_word(first) {
                first.len_utf8()
            } else {
                rest.find(is_word).unwrap_or(rest.len())
            };
            words.push(Word {
                text: &rest[..end],
                spaced: rest.len() == chunk.len(),
            });
            rest = &rest[end..];
        }
    }
    words
}

/// Thai, Lao, Burmese, Khmer, Chinese, Japanese: written without spaces between words.
fn is_word(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{abff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
        && !('\u{a4d0}'..='\u{abff}').contains(&c)
}

fn changes(old: &[Word<'_>], new: &[Word<'_>], deadline: Instant) -> Vec<Change> {
    // Numbers are compared faster than words.
    let mut known = HashMap::new();
    let mut number = |words: &[Word<'_>]| -> Vec<u32> {
        let numbers = words.iter().map(|word| {
            let next = known.len() as u32;
            *known.entry(word.text.to_owned()).or_insert(next)
        });
        numbers.collect()
    };
    let (old, new) = (number(old), number(new));
    let steps =
        similar::capture_diff_slices_deadline(Algorithm::Histogram, &old, &new, Some(deadline));
    let mut changes: Vec<Change> = Vec::new();
    for step in steps
        .iter()
        .filter(|step| !matches!(step, DiffOp::Equal { .. }))
    {
        let (old, new) = (step.old_range(), step.new_range());
        match changes.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => changes.push(Change { old, new }),
        }
    }
    changes
}

/// One word between two larger changes was kept by chance: `the` is in every sentence.
fn tidy(changes: Vec<Change>) -> Vec<Change> {
    let mut tidied: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        match tidied.last_mut() {
            Some(last)
                if change.old.start - last.old.end == 1
                    && last.words() > 3
                    && change.words() > 3 =>
            {
                (last.old.end, last.new.end) = (change.old.end, change.new.end);
            }
            _ => tidied.push(change),
        }
    }
    tidied
}

/// The changes of one place with the words before, between and after them. The words kept are those of the new text.
fn hunk(old: &[Word<'_>], new: &[Word<'_>], group: &[Change]) -> Hunk {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let begin = first.new.start.saturating_sub(CONTEXT);
    let end = (last.new.end + CONTEXT).min(new.len());
    let mut pieces = Vec::new();
    let mut push = |fate, words: &[Word<'_>]| {
        if let Some(first) = words.first() {
            let spaced = first.spaced;
            pieces.push(Piece {
                fate,
                text: join(words),
                spaced,
            });
        }
    };
    let mut at = begin;
    for change in group {
        push(Fate::Kept, &new[at..change.new.start]);
        push(Fate::Removed, &old[change.old.clone()]);
        push(Fate::Added, &new[change.new.clone()]);
        at = change.new.end;
    }
    push(Fate::Kept, &new[at..end]);
    Hunk {
        pieces,
        cut: (begin > 0, end < new.len()),
    }
}

fn join(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    for word in words {
        if word.spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(old: &str, new: &str) -> String {
        let hunks = compare(old, new).hunks;
        let lines = hunks
            .iter()
            .map(|hunk| hunk.line(("[-", "-]"), ("{+", "+}")));
        lines.collect::<Vec<_>>().join(" | ")
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(show(old, new), expected);
    }

    #[test]
    fn words_removed_and_added() {
        check("", "", "");
        check("a b c", "a b\nc", "");
        check("", "a b", "{+a b+}");
        check("a b", "", "[-a b-]");
        check(
            "the spider sits on the wall",
            "the spider sits in the web",
            "the spider sits [-on-]{+in+} the [-wall-]{+web+}",
        );
        check(
            "1 2 3 4 5 6 7 8 9 x 1 2 3 4 5 6 7 8 9 1 2 3 4 5 y",
            "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 z",
            "… 4 5 6 7 8 9 [-x-] 1 2 3 4 5 6 … | … 9 1 2 3 4 5 [-y-]{+z+}",
        );
    }

    #[test]
    fn a_word_kept_by_chance_is_no_anchor() {
        check(
            "one two three the four five six",
            "uno dos tres the quatro cinco seis",
            "[-one two three the four five six-]{+uno dos tres the quatro cinco seis+}",
        );
    }

    #[test]
    fn scripts_without_spaces() {
        check("日本語の本", "日本語が本 x", "日本語[-の-]{+が+}本 {+x+}");
        check("한국 말", "한국 글", "한국 [-말-]{+글+}");
    }

    #[test]
    fn counts_and_ends() {
        let difference = compare("a b c d e f g h i j", "a b c d e f g h i k l");
        assert_eq!((difference.removed, difference.added), (1, 2));
        assert_eq!(difference.hunks[0].cut, (true, false));
    }

    /// Words at random: the shortest answer would take very long.
    #[test]
    fn large_texts_that_have_little_in_common_end_in_time() {
        let mut state = 1_u32;
        let mut text = |salt: u32| {
            let mut text = String::new();
            for _ in 0..60_000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let word = (state >> 16) % (200 + salt);
                text.push_str(&word.to_string());
                text.push(' ');
            }
            text
        };
        let (old, new) = (text(0), text(7));
        let began = Instant::now();
        let difference = compare_within(&old, &new, Duration::from_millis(200));
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
        assert!(difference.added > 0);
    }
}
