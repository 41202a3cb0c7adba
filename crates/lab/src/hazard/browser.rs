//! A site that serves only one browser, and tells every other client that its browser is not supported.
//!
//! This is called cloaking (Viuva Negra 4.2, T9). The crawler must recognise and report cloaking. It must not claim to
//! be a browser (N9). Every path serves the same page.

use std::io;

use super::{HazardRequest, request::ordinary};

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let agent = &request.head.agent;
    let browser = agent.starts_with("Mozilla/5.0 (") && !agent.contains("compatible");
    if browser {
        return ordinary(request).await;
    }
    let body = "<title>Unsupported browser</title><h1>Your browser is not supported</h1>\
        <p>This site uses technology that your browser does not support. Please enable JavaScript and upgrade to \
        the latest version of Chrome, Firefox, Edge or Safari.</p><a href=/one.html>Continue anyway</a>";
    request.page(body).await
}
