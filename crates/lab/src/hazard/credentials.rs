//! A site that wants credentials and hands visitors on to others.
//!
//! RFC 9110 11.6 and 4.2.4 (user information in URLs is not to be used), 15.4 (what to leave out when a redirect
//! changes the host). Nothing given to this site, in cookies, in URLs or in answer to 401, may reach another: the
//! log keeps `Authorization` and `Cookie` of every request.

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
