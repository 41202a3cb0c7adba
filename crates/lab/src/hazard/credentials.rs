//! A site that asks for credentials and redirects to other sites.
//!
//! RFC 9110, 4.2.4 (user information in URLs), 11.6 (401) and 15.4 (fields to drop when a redirect changes the host).
//! Cookies and credentials of this site must not reach another one. The log records both fields of every request.

use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let port = visit.web.port();
    let elsewhere = visit.web.seeds().into_iter().next().unwrap_or_default();
    let cookie = "Set-Cookie: secret=credentials; Path=/\r\n";
    match visit.path() {
        "/private" => {
            let header = "WWW-Authenticate: Basic realm=\"lab\"\r\n";
            visit
                .answer(401, header, "<title>Who are you?</title>")
                .await
        }
        "/leave" => {
            let header = format!("Location: {elsewhere}?from=credentials\r\n{cookie}");
            visit.answer(302, &header, "").await
        }
        "/named" => {
            let location = elsewhere.replace("http://", "http://user:password@");
            visit.redirect(302, &location).await
        }
        _ => {
            let host = &visit.head.host;
            let body = format!(
                "<title>Credentials</title><a href=/private>private</a> <a href=/leave>leave</a>\n\
                <a href=/named>named</a> <a href=\"http://user:password@{host}:{port}/private\">in</a>"
            );
            visit.answer(200, cookie, body).await
        }
    }
}
