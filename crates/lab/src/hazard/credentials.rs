//! A site that asks for credentials and redirects to other sites.
//!
//! RFC 9110, 4.2.4 (user information in URLs), 11.6 (401) and 15.4 (header fields to drop when a redirect changes the
//! host). Cookies and credentials of this site must not be sent to another site. The log records the fields Cookie and
//! Authorization of every request.

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let port = request.web.port();
    let elsewhere = request.web.seeds().into_iter().next().unwrap_or_default();
    let cookie = "Set-Cookie: secret=credentials; Path=/\r\n";
    match request.path() {
        "/private" => {
            let header = "WWW-Authenticate: Basic realm=\"lab\"\r\n";
            request
                .answer(401, header, "<title>Who are you?</title>")
                .await
        }
        "/leave" => {
            let header = format!("Location: {elsewhere}?from=credentials\r\n{cookie}");
            request.answer(302, &header, "").await
        }
        "/named" => {
            let location = elsewhere.replace("http://", "http://user:password@");
            request.redirect(302, &location).await
        }
        _ => {
            let host = &request.head.host;
            let body = format!(
                "<title>Credentials</title><a href=/private>private</a> <a href=/leave>leave</a>\n\
                <a href=/named>named</a> <a href=\"http://user:password@{host}:{port}/private\">in</a>"
            );
            request.answer(200, cookie, body).await
        }
    }
}
