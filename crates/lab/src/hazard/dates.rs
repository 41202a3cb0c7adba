//! Last-Modified before 1993, hours or days in the future, and invalid dates.
//!
//! N15, Castillo A.3.5 and Figure A.2 (17% of servers): dates before 1993 are ignored, dates up to 24 hours ahead count
//! as now, later ones are ignored. RFC 9110, 5.6.7 defines the three valid forms.

use std::io;
use std::time::{Duration, SystemTime};

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let now = SystemTime::now();
    let ahead = |hours| httpdate::fmt_http_date(now + Duration::from_hours(hours));
    let date = match visit.target() {
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
            return visit.index("Dates", &links).await;
        }
    };
    let header = format!("Last-Modified: {date}\r\nDate: {date}\r\nExpires: {date}\r\n");
    let body = format!("<title>Dated</title><p>{date}</p>");
    visit.answer(200, &header, body).await
}
