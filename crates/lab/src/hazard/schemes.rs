//! Links and redirects to other schemes: file, gopher, data, dict, ftp, jar, javascript.
//!
//! Server-side request forgery by scheme: gopher can talk to mail servers and caches, file reads the local disk. A
//! redirect must not reach what a link cannot. RFC 8089, RFC 4266, RFC 2397.

use std::io;

use super::Visit;

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

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    visit.elsewhere("Schemes", 301, &TARGETS).await
}
