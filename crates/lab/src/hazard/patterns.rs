//! A robots.txt with 3,000 patterns such as `*a*a*a…b$`, and URLs that nearly match.
//!
//! R1. Patterns of RFC 9309, 2.2.3 that are translated into backtracking regular expressions take exponential time
//! (`ReDoS`). A direct match takes the product of both lengths.

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
