//! A robots.txt with 3,000 patterns such as `*a*a*a…b$`, and URLs that nearly match.
//!
//! R1. If a crawler translates such patterns (RFC 9309, 2.2.3) to backtracking regular expressions, a match takes
//! exponential time (`ReDoS`). A direct match takes time proportional to the length of the pattern times the length of
//! the URL.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

const RULES: usize = 3000;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() == "/robots.txt" {
        let mut text = "User-agent: *\n".to_owned();
        for rule in 0..RULES {
            let stars = "*a".repeat(30 + rule % 30);
            let _ = writeln!(text, "Disallow: /{stars}*b{rule}$");
        }
        text.push_str(
            "Disallow: /((a+)+)+$\nDisallow: /[\nDisallow: /****************************x\n",
        );
        return request
            .answer(200, "Content-Type: text/plain\r\n", text)
            .await;
    }
    let mut body = HazardRequest::prose(&mut request.chance(), 2);
    if request.target() == "/" {
        for length in [100, 500, 1000, 1900] {
            let _ = writeln!(body, "<a href=\"/{}c\">{length}</a>", "a".repeat(length));
        }
    }
    request.page(&body).await
}
