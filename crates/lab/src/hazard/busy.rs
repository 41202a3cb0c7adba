//! A server that answers 429 and 503 with Retry-After in seconds, as a date, and as an invalid value.
//!
//! RFC 6585, 4; RFC 9110, 10.2.3 (seconds or a date). The first two requests for a page are refused. Later requests are
//! served. `/never` refuses every request. `/year` asks for a delay of one year.

use std::io;
use std::time::{Duration, SystemTime};

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let now = SystemTime::now();
    let (status, after) = match request.target() {
        "/seconds" | "/never" => (429, "1".to_owned()),
        "/date" => (429, httpdate::fmt_http_date(now + Duration::from_secs(1))),
        "/past" => (429, "Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
        "/nonsense" => (429, "soon".to_owned()),
        "/negative" => (429, "-5".to_owned()),
        "/overflow" => (429, "99999999999999999999".to_owned()),
        "/unavailable" => (503, "1".to_owned()),
        "/year" => (503, "31536000".to_owned()),
        _ => {
            let links = [
                "/seconds",
                "/date",
                "/past",
                "/nonsense",
                "/negative",
                "/overflow",
                "/unavailable",
                "/year",
                "/never",
            ];
            return request.index("Busy", &links).await;
        }
    };
    if request.count_request() >= 2 && request.target() != "/never" {
        let body = HazardRequest::prose(&mut request.chance(), 2);
        return request.page(&body).await;
    }
    let header = format!("Retry-After: {after}\r\n");
    request.answer(status, &header, "<title>Busy</title>").await
}
