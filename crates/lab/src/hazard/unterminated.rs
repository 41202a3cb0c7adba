//! Attributes, strings, comments, scripts and tags without an end, and other faults of hand-written HTML.
//!
//! T1, Castillo A.4.1: mixed quotes, mixed empty tags, unbalanced tags, mixed case, unterminated strings. Each page has
//! a link to `/before.html` before the fault, and a link to `/after.html` after the fault.

use std::io;

use super::HazardRequest;

const VARIANTS: [(&str, &str); 12] = [
    ("/attribute", "<img alt=\"This is a photo src=photo.jpg>"),
    ("/quote", "<img alt='This is a photo src=photo.jpg>"),
    ("/tag", "<img alt=photo <br <p "),
    ("/comment", "<!-- nothing to see"),
    ("/dashes", "<!--> <!---> <!-- -- > --!> <!- x ->"),
    ("/script", "<script>var a = \"</scr\" + \"ipt>\";"),
    ("/style", "<style> a { content: \"</p>\" "),
    ("/title", "<title>never closed"),
    ("/textarea", "<textarea> <p>"),
    ("/cdata", "<![CDATA[ <p> ]]"),
    (
        "/balance",
        "<SMALL><B>bold</SMALL></B></p></td></table><li><BR/><Br><IMG ALT=\"a\" SRC='b' border=1>",
    ),
    (
        "/entity",
        "&#xFFFFFFFF; &#99999999999999999999; &amp &nbsp &notit; &#x1b; &#0;",
    ),
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    if target == "/" {
        let links: Vec<&str> = VARIANTS.iter().map(|(path, _)| *path).collect();
        return request.index("Unterminated", &links).await;
    }
    let fault = VARIANTS.iter().find(|(path, _)| *path == target);
    let fault = fault.map_or("", |(_, fault)| fault);
    let body = format!(
        "<html><body><p>{target}</p><a href=/before.html>before</a>\n{fault}\n<a href=/after.html>after</a>\n"
    );
    request.page(&body).await
}
