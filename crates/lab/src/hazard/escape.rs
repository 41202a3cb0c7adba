//! Control characters (CR, LF, ESC, BEL), HTML markup and long lines in titles, headers, URLs and reason phrases.
//!
//! Imitates terminal escape injection (CWE-150), log forging (CWE-117) and header injection (CWE-93). The crawler must
//! escape such text in its terminal output, its logs, its WARC headers and its later requests.

use std::io;

use super::HazardRequest;

const HEAD: &[u8] = b"HTTP/1.1 200 \x1b[2J\x1b[31mOK\x07\r\nContent-Type: text/html\r\n\
    Server: lab\x1b]0;owned\x07\r\nX-Bare: one\rX-Injected: two\r\nX-Html: <script>alert(1)</script>\r\n\
    ETag: \"\x1b[1mtag\"\r\nLast-Modified: \x1b[5m\r\nX-Line: \xe2\x80\xa8separator\xc2\x85next\r\n\r\n";
const BODY: &[u8] = b"<title>\x1b[2J\x1b]0;owned\x07 \r\nWARC/1.1\r\n\r\n &lt;script&gt; &#27;[31m &#x9b;31m \
    \xe2\x80\xaereversed</title>\n<p>text \x1b[31m &#x1b;[2J \xc2\x9b31m</p>\n\
    <a href=\"/esc\x1b[31m.html\">raw</a> <a href=\"/lf\r\nX-Injected: 1\r\n.html\">lines</a>\n\
    <a href=\"/%0d%0aX-Injected:%201.html\">encoded</a> <a href=\"/%1b[31m.html\">encoded</a>\n\
    <a href=\"/&lt;script&gt;alert(1)&lt;/script&gt;\">html</a> <a href=\"/redirect\">redirect</a>\n\
    <a href=\"http://escape.lab\r\nHost: elsewhere/\">host</a> <a href=\"http://\x1b[2Jhost/\">no host</a>\n\
    <a href=\"/\xe2\x80\xaetxt.exe\">reversed</a>\n";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    match request.target() {
        "/" => request.raw(200, [HEAD, BODY].concat()).await,
        "/redirect" => {
            let location = "/to/\x1b[31m%0d%0aSet-Cookie:%20injected=1\x07\tend";
            request.redirect(302, location).await
        }
        _ => {
            request
                .page("<title>Escape</title><p>Found all the same.</p>")
                .await
        }
    }
}
