//! Last-Modified dates that are before 1993, hours or days in the future, or invalid.
//!
//! N15, Castillo A.3.5 and Figure A.2 (17% of servers): a date before 1993 is ignored, a date up to 24 hours in the
//! future is replaced by the current time, and a later date is ignored. RFC 9110, 5.6.7 defines the three valid date
//! formats.

use std::io;
use std::time::{Duration, SystemTime};

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let now = SystemTime::now();
    let ahead = |hours| httpdate::fmt_http_date(now + Duration::from_hours(hours));
    let date = match request.target() {
        "/zero" => "Thu, 01 Jan 1970 00:00:00 GMT".to_owned(),
        "/before" => "Thu, 31 Dec 1992 23:59:59 GMT".to_owned(),
        "/first" => "Fri, 01 Jan 1993 00:00:00 GMT".to_owned(),
        "/hours" => ahead(6),
        "/days" => ahead(72),
        "/millennium" => "Fri, 31 Dec 9999 23:59:59 GMT".to_owned(),
        "/beyond" => "Sat, 01 Jan 10000 00:00:00 GMT".to_owned(),
        "/old-form" => "Sunday, 06-Nov-94 08:49:37 GMT".to_owned(),
        "/c-form" => "Sun Nov  6 08:49:37 1994".to_owned(),
        "/weekday" => "Mon, 06 Nov 1994 08:49:37 GMT".to_owned(),
        "/impossible" => "Wed, 31 Feb 2011 25:61:61 GMT".to_owned(),
        "/words" => "yesterday".to_owned(),
        "/seconds" => "784111777".to_owned(),
        _ => {
            let links = [
                "/zero",
                "/before",
                "/first",
                "/hours",
                "/days",
                "/millennium",
                "/beyond",
                "/old-form",
                "/c-form",
                "/weekday",
                "/impossible",
                "/words",
                "/seconds",
            ];
            return request.index("Dates", &links).await;
        }
    };
    let header = format!("Last-Modified: {date}\r\nDate: {date}\r\nExpires: {date}\r\n");
    let body = format!("<title>Dated</title><p>{date}</p>");
    request.answer(200, &header, body).await
}
