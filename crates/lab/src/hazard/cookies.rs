//! Thousands of cookies (one in ten has four kilobytes), and cookies for foreign domains.
//!
//! N12; RFC 6265, 5.3 (public suffixes, domains that do not match) and 6.1 (50 per domain, 3,000 in total, 4,096
//! bytes). The cookie jar must stay small, and no cookie from this site may be sent to another site. The log records
//! the cookies of every request.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

const EACH: usize = 40;
const PAGES: usize = 200;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let page = request.number().unwrap_or(0);
    let mut header = String::new();
    for number in 0..EACH {
        let filler = "x".repeat(if number % 10 == 0 { 4000 } else { 20 });
        let name = page * EACH + number;
        let _ = write!(
            header,
            "Set-Cookie: flood{name}={filler}; Path=/; Max-Age=31536000\r\n"
        );
    }
    for domain in [
        "lab",
        ".lab",
        "com",
        "co.uk",
        "site000.lab",
        "www.site000.lab",
        "localhost",
        "127.166.0.1",
    ] {
        let _ = write!(header, "Set-Cookie: super=1; Domain={domain}; Path=/\r\n");
    }
    header.push_str(
        "Set-Cookie: =nameless\r\nSet-Cookie: \r\nSet-Cookie: __Host-a=1; Domain=lab\r\n",
    );
    header.push_str(
        "Set-Cookie: control=a\x1b[31mb; Expires=never; Max-Age=99999999999999999999\r\n",
    );
    let next = (page + 1) % PAGES;
    let body = format!(
        "<title>Cookies {page}</title><p>Have {EACH} more.</p><a href=/jar/{next}>more</a>"
    );
    request.answer(200, &header, body).await
}
