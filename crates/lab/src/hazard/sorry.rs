//! Endless "not found" pages: every path is answered with status 200 and the same apology, which contains random words
//! and links to further such pages.
//!
//! Imitates shops and wikis that answer every URL with "not found, but perhaps you meant" (T8, D5; Bar-Yossef et al.
//! 2004). A third of the text is random words, also in the response to a soft 404 probe. So a page and this response
//! have different digests and sketches. A perfect crawler leaves the site after a few samples.

use std::fmt::Write as _;
use std::io;

use super::{HazardRequest, babble::invented_word};

const RANDOM_WORDS: usize = 12;
const LINKS: usize = 6;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let mut chance = request.chance();
    let mut body = "<title>Sorry</title><h1>Sorry, not found</h1><p>We could not find the page that you asked for. \
        Perhaps it has been moved, renamed or removed. Please check the address, go back to our \
        <a href=\"/\">home page</a>, or try one of these suggestions:</p>\n<p>"
        .to_owned();
    for _ in 0..RANDOM_WORDS {
        let _ = write!(body, "{} ", invented_word(&mut chance));
    }
    body.push_str("</p>\n");
    for _ in 0..LINKS {
        let word = invented_word(&mut chance);
        let _ = writeln!(body, "<a href=\"/search/{word}\">{word}</a>");
    }
    request.page(&body).await
}
