//! A maze that invents text: every path is a page of fresh sentences with links to ten more.
//!
//! Imitates Iocaine and the link mazes of 2024 and after that feed crawlers generated text as fast as they ask.
//! A page is the same each time it is asked for; no two are alike, so duplicates do not give it away (D5, D7).

use std::fmt::Write as _;
use std::io;

use super::Visit;
use crate::language::LANGUAGES;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let body = page(visit);
    visit.page(&body).await
}

/// The page of a path.
pub(super) fn page(visit: &Visit<'_>) -> String {
    let mut chance = visit.chance();
    let mut body = Visit::prose(&mut chance, 6);
    for _ in 0..10 {
        let language = &LANGUAGES[1];
        let section = chance.pick(&language.sections);
        let other = chance.pick(&language.sections);
        let number = chance.below(100_000);
        let _ = match chance.below(3) {
            0 => writeln!(
                body,
                "<a href=\"/{section}/{other}-{number}\">{section}</a>"
            ),
            1 => writeln!(
                body,
                "<a href=\"{section}-{number}/{other}.html\">{other}</a>"
            ),
            _ => writeln!(
                body,
                "<a href=\"/{section}/?page={number}\">{section} {number}</a>"
            ),
        };
    }
    body
}
