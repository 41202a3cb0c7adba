//! A maze of random words: every path is a page, whose text, title and link texts are random. Every page has a menu.
//!
//! Imitates mazes that are made to look new to a crawler (Nepenthes and Iocaine with word lists; D5, D7, D8). Each
//! request for a path gets the same page. Under `/invented/` the words are invented. They are never repeated, with one
//! exception: the text of a link is also in the title of the page to which the link leads. Under `/shuffled/` the words
//! are from a dictionary of 20,000 words. Each word occurs on many pages, but no sentence occurs twice. The menu leads
//! back to the home page, so a check for links back (which recognises `maze`) does not recognise this maze. A perfect
//! crawler leaves the site after a few samples.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;
use crate::chance::Chance;

const LINKS: usize = 8;
const WORDS: usize = 160;
const DICTIONARY: usize = 20_000;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let mut chance = request.chance();
    let shuffled = request.path().starts_with("/shuffled/");
    let slug = request
        .path()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut body = format!("<title>{slug}</title><h1>{slug}</h1>\n<a href=\"/\">home</a>\n<p>");
    for _ in 0..WORDS {
        let word = if shuffled {
            dictionary_word(&mut chance)
        } else {
            invented_word(&mut chance)
        };
        let _ = write!(body, "{word} ");
    }
    body.push_str("</p>\n");
    for link in 0..LINKS {
        let word = invented_word(&mut chance);
        let section = if link % 2 == 0 {
            "invented"
        } else {
            "shuffled"
        };
        let _ = writeln!(body, "<a href=\"/{section}/{word}\">{word}</a>");
    }
    request.page(&body).await
}

/// A word from the dictionary. The dictionary is the same on every page.
fn dictionary_word(chance: &mut Chance) -> String {
    let number = chance.below(DICTIONARY);
    invented_word(&mut Chance::of(20_000, &[number as u64]))
}

/// One of more than 10^12 invented words of 8 to 14 letters.
pub(super) fn invented_word(chance: &mut Chance) -> String {
    let mut word = String::new();
    for _ in 0..4 + chance.below(4) {
        word.push(char::from(
            chance
                .pick(&[
                    "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v",
                ])
                .as_bytes()[0],
        ));
        word.push(char::from(
            chance.pick(&["a", "e", "i", "o", "u", "y"]).as_bytes()[0],
        ));
    }
    word
}
