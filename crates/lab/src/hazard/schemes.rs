//! Links and redirects to schemes other than HTTP and HTTPS: file, gopher, data, dict, ftp, jar, javascript.
//!
//! Server-side request forgery by scheme: a gopher URL can send commands to mail servers and caches, and a file URL
//! reads the local disk. The crawler must refuse the same schemes in redirects as in links. RFC 8089, RFC 4266, RFC
//! 2397.

use std::io;

use super::HazardRequest;

const TARGETS: [&str; 14] = [
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "FILE:/etc/hostname",
    "gopher://127.166.0.1:25/_MAIL%20FROM",
    "data:text/html,<a href=http://127.166.0.1/>inside</a>",
    "data:text/html;base64,PGEgaHJlZj0vPmhvbWU8L2E+",
    "dict://127.166.0.1:11211/stats",
    "ftp://127.166.0.1/",
    "ldap://127.166.0.1/",
    "jar:http://127.166.0.1!/",
    "javascript:alert(1)",
    " java\tscript:alert(1)",
    "view-source:file:///etc/passwd",
    "ws://127.166.0.1/",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    request.link_and_redirect_to("Schemes", 301, &TARGETS).await
}
