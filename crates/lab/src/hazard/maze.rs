//! A maze of generated text: every path is a different page, with links to ten others.
//!
//! Imitates Iocaine (2024) and similar tools. Every request for a path gets the same page. No two paths have similar
//! pages, so duplicate detection does not recognise the maze (D5, D7).

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;
use crate::language::LANGUAGES;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let body = page(request);
    request.page(&body).await
}

/// The page at the requested path.
pub(super) fn page(request: &HazardRequest<'_>) -> String {
    let mut chance = request.chance();
    let mut body = HazardRequest::prose(&mut chance, 6);
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
