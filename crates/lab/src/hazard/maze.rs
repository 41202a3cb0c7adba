//! A maze of generated text: every path is a new page with links to ten more.
//!
//! Imitates Iocaine and similar tools since 2024. A page is the same at every request. No two pages are alike, so
//! duplicate detection does not recognise the maze (D5, D7).

use std::fmt::Write as _;
use std::io;

use super::Visit;
use crate::language::LANGUAGES;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let body = page(visit);
    visit.page(&body).await
}

/// The page at a path.
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
