//! Links that contain null bytes: raw, encoded, and 68 KB of them in one link.
//!
//! T1, Chakrabarti 2.3.6 (URLs with up to 68 KB of nulls). One component of a crawler may end the URL at the null byte,
//! while another component reads the whole URL.

use std::io;

use super::HazardRequest;

const NULLS: usize = 68 * 1024;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if request.target() != "/" {
        return request
            .page("<title>Nulls</title><p>Found behind nulls.</p>")
            .await;
    }
    let mut body = b"<title>Nu\0lls</title>\n<a href=\"/a\0b.html\">raw</a>\n<a href=\"/c%00d.html\">encoded</a>\n\
        <a href=\"http://nulls.lab\0.example.org/\">host</a>\n<a href=\"/e&#0;f.html\">reference</a>\n<a href=\"/g"
        .to_vec();
    body.resize(body.len() + NULLS, 0);
    body.extend(b".html\">many</a>\n<a href=\"/after.html\">after</a>\n");
    request.answer(200, "", body).await
}
