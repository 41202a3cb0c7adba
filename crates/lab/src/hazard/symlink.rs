//! A directory `/spider` that is a symbolic link to `/`: every page exists at every depth.
//!
//! Chakrabarti 2.3.6 and Viuva Negra 4.1 describe this trap. The defence is the rejection of growing URLs (U6).

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let mut path = request.path();
    while let Some(rest) = path.strip_prefix("/spider").filter(|r| r.starts_with('/')) {
        path = rest;
    }
    if path.ends_with("/spider") {
        let location = format!("{}{}/", request.origin(), request.path());
        return request.redirect(301, &location).await;
    }
    let body = match path {
        "/" | "/index.html" => {
            "<title>Tree</title><h1>Tree</h1><a href=\"spider/\">spider</a> <a href=\"about.html\">about</a>"
        }
        "/about.html" => "<title>About</title><p>About this tree.</p><a href=\"./\">up</a>",
        _ => return request.answer(404, "", "<title>Not Found</title>").await,
    };
    request.page(body).await
}
