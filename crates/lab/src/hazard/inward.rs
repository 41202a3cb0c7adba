//! Links and redirects to refused loopback addresses (`trespass.rs`), in every notation of an address.
//!
//! Server-side request forgery (OWASP; Tsai, "A New Era of SSRF", 2017): a URL parser and an address check may disagree
//! about the host. Every notation stands for 127.166.0.1 or another loopback address. `trespass.rs` counts the
//! connections to these addresses.

use std::io;

use super::HazardRequest;

/// The URLs. `P` is replaced by the port, and `H` by the site's host name.
const FORMS: [&str; 25] = [
    "http://127.166.0.1:P/dotted",
    "http://2141585409:P/decimal",
    "http://0x7fa60001:P/hexadecimal",
    "http://017751400001:P/octal",
    "http://0177.0246.0.1:P/octal-parts",
    "http://0x7f.0xa6.0.1:P/hexadecimal-parts",
    "http://127.10878977:P/two-parts",
    "http://127.166.1:P/three-parts",
    "http://127.166.0.1.:P/final-dot",
    "http://[::ffff:127.166.0.1]:P/mapped",
    "http://[::ffff:7fa6:1]:P/mapped-hexadecimal",
    "http://[0:0:0:0:0:ffff:7fa6:0001]:P/mapped-long",
    "http://[::127.166.0.1]:P/compatible",
    "http://%31%32%37.166.0.1:P/encoded",
    "http://\u{ff11}\u{ff12}\u{ff17}\u{3002}166.0.1:P/full-width",
    "http://\u{2460}27.166.0.1:P/circled",
    "http://H\\@127.166.0.1:P/backslash",
    "http://H@127.166.0.1:P/user",
    "http://127.166.0.1:P\\@H/backslash-behind",
    "http://H#@127.166.0.1:P/fragment",
    "http:\\\\127.166.0.1:P\\backslashes",
    "//127.166.0.1:P/relative",
    "http:///127.166.0.1:P/slashes",
    "http://0:P/zero",
    "http://[::1]:P/six",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let port = request.web.port().to_string();
    let host = format!("{}:{port}", request.head.host);
    let forms = FORMS.map(|form| fill(form, &host, &port));
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    request.link_and_redirect_to("Inward", 302, &forms).await
}

fn fill(form: &str, host: &str, port: &str) -> String {
    form.replace(":P", &format!(":{port}")).replace('H', host)
}
