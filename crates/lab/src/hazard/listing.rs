//! Directory listings with links that sort the files: eight more URLs for every directory.
//!
//! U5, Viuva Negra 4.1 (Figure 2) and 5.4 (such URLs were 0.5% of 1.2 million). Apache's `mod_autoindex` has used
//! `?C=M;O=A` since version 2.0. Older versions used `?M=A`, as the directories under `/old/` do.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

const FILES: usize = 6;
const DIRECTORIES: [&str; 4] = ["/", "/pub/", "/pub/docs/", "/old/"];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let path = request.path().to_owned();
    let query = &request.target()[path.len()..];
    if !path.ends_with('/') {
        let body = HazardRequest::prose(&mut request.chance_at(&path), 2);
        return request.page(&body).await;
    }
    if !DIRECTORIES.contains(&path.as_str()) {
        return request
            .answer(404, "", "<title>404 Not Found</title>")
            .await;
    }
    let down = query.ends_with('D');
    let other = if down { 'A' } else { 'D' };
    let mut body = format!("<title>Index of {path}</title><h1>Index of {path}</h1><pre>\n");
    for (key, name) in [
        ('N', "Name"),
        ('M', "Last modified"),
        ('S', "Size"),
        ('D', "Description"),
    ] {
        let _ = match path.as_str() {
            "/old/" => writeln!(body, "<a href=\"?{key}={other}\">{name}</a>"),
            _ => writeln!(body, "<a href=\"?C={key};O={other}\">{name}</a>"),
        };
    }
    for directory in DIRECTORIES
        .iter()
        .filter(|d| d.len() > path.len() && d.starts_with(&path))
    {
        let _ = writeln!(body, "<a href=\"{directory}\">{directory}</a>  -");
    }
    for place in 1..=FILES {
        let file = if down { FILES + 1 - place } else { place };
        let _ = writeln!(
            body,
            "<a href=\"file-{file}.html\">file-{file}.html</a>  {}K",
            file * 7 % 10
        );
    }
    body.push_str("</pre>");
    request.page(&body).await
}
