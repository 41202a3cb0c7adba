//! A robots.txt whose patterns are built to explode: `*a*a*a…b$`, thousands of them, and URLs that nearly match.
//!
//! `ReDoS` by robots.txt: RFC 9309 2.2.3 patterns turned into backtracking regular expressions take exponential
//! time; matched by the book they take the product of the two lengths. R1.

use std::fmt::Write as _;
use std::io;

use super::Visit;

const RULES: usize = 3000;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if visit.target() == "/robots.txt" {
        let mut text = "User-agent: *\n".to_owned();
        for rule in 0..RULES {
            let stars = "*a".repeat(30 + rule % 30);
            let _ = writeln!(text, "Disallow: /{stars}*b{rule}$");
        }
        text.push_str(
            "Disallow: /((a+)+)+$\nDisallow: /[\nDisallow: /****************************x\n",
        );
        return visit
            .answer(200, "Content-Type: text/plain\r\n", text)
            .await;
    }
    let mut body = Visit::prose(&mut visit.chance(), 2);
    if visit.target() == "/" {
        for length in [100, 500, 1000, 1900] {
            let _ = writeln!(body, "<a href=\"/{}c\">{length}</a>", "a".repeat(length));
        }
    }
    visit.page(&body).await
}
