//! A word-by-word comparison of two texts.
//!
//! Differences in white space are ignored, as in the text digest of a page. In scripts without spaces between words,
//! each character is a word. The search for the shortest difference has a time limit. When it is reached, the result is
//! still correct, but may mark more words as changed than necessary.
//!
//! Read first: [`compare`].

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use crate::terminal_escape::Escaped;

/// Time limit of the search for the shortest difference. Two texts of 10 MB without a common word reach this limit.
const SEARCH_TIME: Duration = Duration::from_secs(5);
/// Number of words shown on either side of a change.
const CONTEXT: usize = 6;

/// A word, and whether white space precedes it.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    spaced: bool,
}

/// The kind of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditKind {
    Kept,
    Removed,
    Added,
}

impl EditKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            EditKind::Kept => "kept",
            EditKind::Removed => "removed",
            EditKind::Added => "added",
        }
    }
}

/// Consecutive words of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) kind: EditKind,
    pub(crate) text: String,
    /// Whether white space precedes the segment.
    spaced: bool,
}

/// Neighbouring changes with the words around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) segments: Vec<Segment>,
    /// Whether words are left out before the hunk (first value) and after it (second value).
    cut: (bool, bool),
}

/// The difference between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordDiff {
    pub(crate) hunks: Vec<Hunk>,
    /// Number of words removed.
    pub(crate) removed: u64,
    /// Number of words added.
    pub(crate) added: u64,
}

/// Words of the old text and the words of the new text that replace them. One of the ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replacement {
    old: Range<usize>,
    new: Range<usize>,
}

impl Replacement {
    fn words(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

impl Hunk {
    /// The hunk as one line, escaped for a terminal. The given marks are put around removed and added words.
    pub(crate) fn line(&self, removed: (&str, &str), added: (&str, &str)) -> String {
        let mut line = String::new();
        if self.cut.0 {
            line.push('…');
        }
        let mut before = None;
        for segment in &self.segments {
            let (open, close) = match segment.kind {
                EditKind::Kept => ("", ""),
                EditKind::Removed => removed,
                EditKind::Added => added,
            };
            // There is no space between removed words and their replacement.
            let replaces = (before, segment.kind) == (Some(EditKind::Removed), EditKind::Added);
            if segment.spaced && !line.is_empty() && !replaces {
                line.push(' ');
            }
            line.push_str(open);
            line.push_str(&Escaped(&segment.text).to_string());
            line.push_str(close);
            before = Some(segment.kind);
        }
        if self.cut.1 {
            line.push_str(" …");
        }
        line
    }
}

/// Finds the words that must be removed from `old` and added to it to get `new`.
pub(crate) fn compare(old: &str, new: &str) -> WordDiff {
    compare_within(old, new, SEARCH_TIME)
}

fn compare_within(old: &str, new: &str, time: Duration) -> WordDiff {
    let (old, new) = (words(old), words(new));
    let changes = merge_close(replacements(&old, &new, Instant::now() + time));
    let mut diff = WordDiff::default();
    for change in &changes {
        diff.removed += change.old.len() as u64;
        diff.added += change.new.len() as u64;
    }
    let groups = changes.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT);
    diff.hunks = groups.map(|group| hunk(&old, &new, group)).collect();
    diff
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

/// Whether a character counts as a word of its own. These are the characters of Thai, Lao, Burmese, Khmer, Chinese and
/// Japanese.
fn is_word(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{abff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
        && !('\u{a4d0}'..='\u{abff}').contains(&c)
}

fn replacements(old: &[Word<'_>], new: &[Word<'_>], deadline: Instant) -> Vec<Replacement> {
    // Each distinct word gets a number, because numbers are compared faster than strings.
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
    let mut changes: Vec<Replacement> = Vec::new();
    for step in steps
        .iter()
        .filter(|step| !matches!(step, DiffOp::Equal { .. }))
    {
        let (old, new) = (step.old_range(), step.new_range());
        match changes.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => changes.push(Replacement { old, new }),
        }
    }
    changes
}

/// Merges two changes of more than three words each if only one word separates them. Such a word, for example `the`,
/// usually occurs in both texts by chance.
fn merge_close(changes: Vec<Replacement>) -> Vec<Replacement> {
    let mut merged: Vec<Replacement> = Vec::with_capacity(changes.len());
    for change in changes {
        match merged.last_mut() {
            Some(last)
                if change.old.start - last.old.end == 1
                    && last.words() > 3
                    && change.words() > 3 =>
            {
                (last.old.end, last.new.end) = (change.old.end, change.new.end);
            }
            _ => merged.push(change),
        }
    }
    merged
}

/// Makes a hunk of neighbouring changes and the words before, between and after them. Kept words are taken from the new
/// text.
fn hunk(old: &[Word<'_>], new: &[Word<'_>], group: &[Replacement]) -> Hunk {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let begin = first.new.start.saturating_sub(CONTEXT);
    let end = (last.new.end + CONTEXT).min(new.len());
    let mut segments = Vec::new();
    let mut push = |kind, words: &[Word<'_>]| {
        if let Some(first) = words.first() {
            let spaced = first.spaced;
            segments.push(Segment {
                kind,
                text: join(words),
                spaced,
            });
        }
    };
    let mut at = begin;
    for change in group {
        push(EditKind::Kept, &new[at..change.new.start]);
        push(EditKind::Removed, &old[change.old.clone()]);
        push(EditKind::Added, &new[change.new.clone()]);
        at = change.new.end;
    }
    push(EditKind::Kept, &new[at..end]);
    Hunk {
        segments,
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
    fn changes_separated_by_one_common_word_are_merged() {
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
    fn words_are_counted_and_cut_ends_marked() {
        let diff = compare("a b c d e f g h i j", "a b c d e f g h i k l");
        assert_eq!((diff.removed, diff.added), (1, 2));
        assert_eq!(diff.hunks[0].cut, (true, false));
    }

    /// The texts are random words, whose shortest difference would take very long to find.
    #[test]
    fn the_search_time_is_limited() {
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
        let start = Instant::now();
        let diff = compare_within(&old, &new, Duration::from_millis(200));
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        assert!(diff.added > 0);
    }
}
