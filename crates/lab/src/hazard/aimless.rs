//! Redirects without a usable target: Location is missing, is empty, occurs twice, or is not a URL.
//!
//! N10, Castillo A.3.3 (incomplete headers): a redirect without a target is an error. RFC 9110, 10.2.2 and 15.4.

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let header = match request.target() {
        "/none" => "",
        "/empty" => "Location: \r\n",
        "/two" => "Location: /one.html\r\nLocation: /two.html\r\n",
        "/broken" => "Location: http://[::1/\r\n",
        "/scheme" => "Location: ://nowhere\r\n",
        "/port" => "Location: http://aimless.lab:99999/\r\n",
        "/fragment" => "Location: #here\r\n",
        "/choices" => return request.answer(300, "", "<a href=/>several</a>").await,
        "/unasked" => return request.raw(304, "HTTP/1.1 304 Not Modified\r\n\r\n").await,
        _ => {
            let links = [
                "/none",
                "/empty",
                "/two",
                "/broken",
                "/scheme",
                "/port",
                "/fragment",
                "/choices",
                "/unasked",
            ];
            return request.index("Aimless", &links).await;
        }
    };
    request.answer(302, header, "<p>moved</p>").await
}
