//! URLs of 68 KB in a link, a redirect and a base element, a host name of 68 KB, and a URL of 3 KB, which is valid.
//!
//! U6, T1, Chakrabarti 2.3.6, Viuva Negra 5.4 (URLs above a maximum length are discarded). RFC 9110, 4.1 recommends
//! support for 8,000 octets.

use std::io;

use super::HazardRequest;

const LENGTH: usize = 68 * 1024;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let long = "abcdefgh/".repeat(LENGTH / 9);
    match request.target() {
        "/" => {
            let labels = "label.".repeat(LENGTH / 6);
            let longish = "word-".repeat(600);
            let body = format!(
                "<title>Lengthy</title><a href=\"/path/{long}\">path</a> <a href=\"/?q={long}\">query</a>\n\
                <a href=\"http://{labels}lab/\">host</a> <a href=\"/{longish}.html\">longish</a>\n\
                <a href=\"/redirect\">redirect</a> \
                <a href=\"/based\">base</a> <a href=\"/after.html\">after</a>"
            );
            request.page(&body).await
        }
        "/redirect" => request.redirect(301, &format!("/moved/{long}")).await,
        "/based" => {
            let body = format!("<base href=\"/base/{long}\"><title>Base</title><a href=x>x</a>");
            request.page(&body).await
        }
        _ => {
            request
                .page("<title>Lengthy</title><p>The end of a long way.</p>")
                .await
        }
    }
}
