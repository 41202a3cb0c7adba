//! Parses the dates in response headers and corrects implausible ones (N15).
//!
//! HTTP has three date formats (RFC 9110, 5.6.7), but servers also send wrong weekdays, years of two, three (`103`) or
//! five digits (`19103`), dashes, zones such as `GMT+1`, and ISO 8601. Every unambiguous date is accepted. A date such
//! as `05/06/2004` is ambiguous and is rejected. A `Last-Modified` date is then checked as in Castillo A.3.5: a date
//! before 1993 is rejected, because the web hardly existed; a date up to a day in the future is replaced by the current
//! time, because the server's time zone is probably wrong; a later date is rejected.
//!
//! The functions are pure and never panic. Texts of more than [`MAX_LENGTH`] bytes are rejected.

use aranha_units::calendar::{self, month_by_name};

/// Maximum length of a date. Longer texts are rejected.
const MAX_LENGTH: usize = 100;

/// The earliest plausible date: 1993-01-01T00:00:00Z in Unix milliseconds.
const EARLIEST_MS: i64 = 725_846_400_000;

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Unambiguous names of time zones, with their offset from Greenwich in hours: names of universal time, and the zones
/// of RFC 822.
const ZONES: [(&str, i64); 12] = [
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// A `Last-Modified` date in Unix milliseconds. `None` if it cannot be parsed, is before 1993, or is more than a day in
/// the future. For a date up to a day in the future, returns `now_ms`.
pub(crate) fn parse_past(text: &str, now_ms: i64) -> Option<i64> {
    let at = parse(text)?;
    let plausible = at >= EARLIEST_MS && at <= now_ms.saturating_add(calendar::DAY_MS);
    plausible.then(|| at.min(now_ms))
}

/// A date in any unambiguous format, in Unix milliseconds.
pub(crate) fn parse(text: &str) -> Option<i64> {
    if let Some(parts) = parse_imf_fixdate(text.as_bytes()) {
        return parts.finish();
    }
    parse_words(text)
}

/// Fast path for the format that nearly all servers use: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_imf_fixdate(text: &[u8]) -> Option<DateParts> {
    let [
        w0,
        w1,
        w2,
        b',',
        b' ',
        d0,
        d1,
        b' ',
        m0,
        m1,
        m2,
        b' ',
        y @ ..,
        b' ',
        h0,
        h1,
        b':',
        n0,
        n1,
        b':',
        s0,
        s1,
        b' ',
        b'G',
        b'M',
        b'T',
    ] = text
    else {
        return None;
    };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |number, digit| {
            digit
                .is_ascii_digit()
                .then(|| 10 * number + i64::from(digit - b'0'))
        })
    };
    let is_weekday = |name: &&str| name.as_bytes().eq_ignore_ascii_case(&[*w0, *w1, *w2]);
    WEEKDAYS.iter().find(|name| is_weekday(name))?;
    let month = month_by_name(&[*m0, *m1, *m2])?;
    let (hour, minute, second) = (
        number(&[*h0, *h1])?,
        number(&[*n0, *n1])?,
        number(&[*s0, *s1])?,
    );
    if y.len() != 4 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(DateParts {
        time: Some(hour * 3600 + minute * 60 + second),
        day: Some(number(&[*d0, *d1])?),
        month: Some(month),
        year: Some(number(y)?),
        zone: Some(0),
        ..DateParts::default()
    })
}

fn parse_words(text: &str) -> Option<i64> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut parts = DateParts::default();
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        parts.add_word(word)?;
    }
    parts.finish()
}

/// The parts of a date that have been parsed so far. Times and offsets are in seconds.
#[derive(Default)]
struct DateParts {
    /// Seconds since midnight.
    time: Option<i64>,
    afternoon: Option<bool>,
    day: Option<i64>,
    month: Option<i64>,
    year: Option<i64>,
    /// Offset of a zone that was given by name.
    zone: Option<i64>,
    /// A numeric offset. It takes precedence over a zone name, as in `+0000 (UTC)` or `GMT +0100`.
    offset: Option<i64>,
}

impl DateParts {
    /// Adds one word. Returns `None` if it is not part of a date, or if the date has this part already.
    fn add_word(&mut self, word: &str) -> Option<()> {
        let word = word.trim_matches([';', '.', '"', '(', ')']);
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let is_signed = word.starts_with(['+', '-']);
        if word.is_empty() || is_weekday(word) {
            Some(())
        } else if is_signed && self.time.is_some() {
            set(&mut self.offset, offset(word)?)
        } else if digits == word.len() {
            self.add_number(word)
        } else if let Some((date, time)) = split_iso(word) {
            self.add_date(date)?;
            self.add_time(time)
        } else if word.contains(':') && digits > 0 {
            self.add_time(word)
        } else if digits > 0 && word.contains(['-', '/']) {
            self.add_date(word)
        } else if let Some(month) = month_by_name(word.as_bytes()) {
            set(&mut self.month, month)
        } else if word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm") {
            set(&mut self.afternoon, word.eq_ignore_ascii_case("pm"))
        } else {
            set(&mut self.zone, zone(word)?)
        }
    }

    /// Adds a number that stands alone: the first is the day, the second is the year.
    fn add_number(&mut self, word: &str) -> Option<()> {
        if self.day.is_none() && word.len() <= 2 {
            set(&mut self.day, word.parse().ok()?)
        } else {
            set(&mut self.year, year(word)?)
        }
    }

    /// Adds a date such as `14-Nov-2023`, `2023-11-14` or `2023/11/14`. Three numbers with the year at the end are
    /// ambiguous and are rejected.
    fn add_date(&mut self, word: &str) -> Option<()> {
        let mut parts = word.split(['-', '/']);
        let (first, middle, last) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        if let Some(month) = month_by_name(middle.as_bytes()) {
            let (day, year_text) = if first.len() == 4 {
                (last, first)
            } else {
                (first, last)
            };
            set(&mut self.month, month)?;
            set(&mut self.day, number(day, 2)?)?;
            return set(&mut self.year, year(year_text)?);
        }
        if first.len() != 4 {
            return None;
        }
        set(&mut self.year, year(first)?)?;
        set(&mut self.month, number(middle, 2)?)?;
        set(&mut self.day, number(last, 2)?)
    }

    /// Adds a time such as `22:13`, `22:13:20` or `22:13:20.123`. A zone may follow it.
    fn add_time(&mut self, word: &str) -> Option<()> {
        let end = word
            .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
            .unwrap_or(word.len());
        let (time, rest) = word.split_at(end);
        let time = time.split_once('.').map_or(time, |(whole, _)| whole);
        let mut parts = time.split(':');
        let mut part = |max: i64| number(parts.next()?, 2).filter(|value| *value <= max);
        let (hour, minute) = (part(23)?, part(59)?);
        // A leap second (60) is read as 59.
        let second = if time.matches(':').count() > 1 {
            part(60)?.min(59)
        } else {
            0
        };
        if parts.next().is_some() {
            return None;
        }
        set(&mut self.time, hour * 3600 + minute * 60 + second)?;
        match rest {
            "" => Some(()),
            _ if rest.starts_with(['+', '-']) => set(&mut self.offset, offset(rest)?),
            _ => set(&mut self.zone, zone(rest)?),
        }
    }

    fn finish(self) -> Option<i64> {
        let (mut time, day, month, year) = (self.time?, self.day?, self.month?, self.year?);
        if !calendar::is_date(year, month, day) {
            return None;
        }
        if let Some(afternoon) = self.afternoon {
            let hour = time / 3600;
            if !(1..=12).contains(&hour) {
                return None;
            }
            time = time % 3600 + (hour % 12 + 12 * i64::from(afternoon)) * 3600;
        }
        let days = calendar::days_since_epoch(year, month, day);
        let seconds = days * 86_400 + time - self.offset.or(self.zone).unwrap_or(0);
        Some(seconds * 1000)
    }
}

/// Sets a part of the date. `None` if the part was set before, because a date with two days or two times is ambiguous.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.replace(value).is_none().then_some(())
}

/// A number of 1 to `max_digits` digits.
fn number(text: &str, max_digits: usize) -> Option<i64> {
    let fits =
        (1..=max_digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// A year of four or two digits, or a faulty year of three or five digits. Programs that count years from 1900 write
/// `103` or `19103` for 2003.
fn year(text: &str) -> Option<i64> {
    let value = number(text, 5)?;
    Some(match (text.len(), value) {
        (2, 70..) | (3, 100..=199) => 1900 + value,
        (2, _) => 2000 + value,
        (4, _) => value,
        (5, 19_100..=19_199) => value - 17_100,
        _ => return None,
    })
}

/// Splits `2023-11-14T22:13:20Z` into date and time.
fn split_iso(word: &str) -> Option<(&str, &str)> {
    let (date, time) = word.split_at_checked(10)?;
    let time = time.strip_prefix(['T', 't'])?;
    date.starts_with(|c: char| c.is_ascii_digit())
        .then_some((date, time))
}

/// The offset of a zone name from Greenwich, in seconds. A numeric offset may follow the name (`GMT+1`).
fn zone(word: &str) -> Option<i64> {
    let end = word.find(['+', '-']).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let (_, hours) = *ZONES
        .iter()
        .find(|(zone, _)| zone.eq_ignore_ascii_case(name))?;
    match (hours, rest) {
        (_, "") => Some(hours * 3600),
        (0, _) => offset(rest),
        _ => None,
    }
}

/// Parses an offset such as `+1`, `+01`, `-0330` or `+05:30`. Returns seconds.
fn offset(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.get(1..)?;
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let is_zone = hours <= 14 && minutes < 60;
    is_zone.then_some(sign * (hours * 3600 + minutes * 60))
}

fn is_weekday(word: &str) -> bool {
    let named = |day: &&str| {
        word.get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case(day))
    };
    WEEKDAYS.iter().any(named) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use aranha_units::calendar::CivilTime;

    use super::*;

    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];

    proptest::proptest! {
        #[test]
        fn the_fast_path_agrees_with_the_general_parser(
            weekday in "Mon|sun|Fry", day in "[0-3][0-9]|[0-9]", month in "Jan|feb|Sep|DEC|Juno",
            year in "(19|20|00)[0-9]{2}|[0-9]{3,5}", time in "[0-2][0-9]:[0-6][0-9]:[0-6][0-9]|[0-9]:[0-9]{2}",
            zone in "GMT|UTC|gmt",
        ) {
            let text = format!("{weekday}, {day} {month} {year} {time} {zone}");
            proptest::prop_assert_eq!(parse(&text), parse_words(&text), "{}", text);
        }
    }

    #[test]
    fn the_preferred_format_takes_the_fast_path() {
        assert!(parse_imf_fixdate(b"Sun, 06 Nov 1994 08:49:37 GMT").is_some());
        assert_eq!(
            parse("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777_000)
        );
        assert!(parse_imf_fixdate(b"Sun, 06 Nov 1994 08:49:60 GMT").is_none());
    }

    /// 2023-11-14T22:13:20Z in Unix seconds.
    const THEN: i64 = 1_700_000_000;

    fn check(text: &str, seconds: Option<i64>) {
        assert_eq!(parse(text), seconds.map(|seconds| seconds * 1000), "{text}");
    }

    #[test]
    fn http_formats_and_common_deviations_are_parsed() {
        for text in [
            "Tue, 14 Nov 2023 22:13:20 GMT",
            "Tuesday, 14-Nov-23 22:13:20 GMT",
            "Tue Nov 14 22:13:20 2023",
            "Fri, 14 Nov 2023 22:13:20 GMT",
            "14 Nov 2023 22:13:20",
            "  Tue,14 Nov 2023  22:13:20 gmt ",
            "Tue, 14-Nov-2023 22:13:20 GMT",
            "Tue, 14 November 2023 22:13:20 UTC",
            "Tue, 14 Nov 123 22:13:20 GMT",
            "Tue, 14 Nov 19123 22:13:20 GMT",
            "Tue, 14 Nov 2023 23:13:20 GMT+1",
            "Tue, 14 Nov 2023 23:13:20 GMT +0100",
            "Tue, 14 Nov 2023 23:13:20 +0100",
            "Wed, 15 Nov 2023 03:43:20 UTC+05:30",
            "Tue, 14 Nov 2023 17:13:20 -0500 (EST)",
            "Tue, 14 Nov 2023 17:13:20 EST",
            "Tue, 14 Nov 2023 10:13:20 PM GMT",
            "2023-11-14T22:13:20Z",
            "2023-11-14T22:13:20.512Z",
            "2023-11-14T23:13:20+01:00",
            "2023-11-14 22:13:20",
            "2023/11/14 22:13:20 GMT",
            "Tue Nov 14 22:13:20 UTC 2023",
            "\"Tue, 14 Nov 2023 22:13:20 GMT\"",
        ] {
            check(text, Some(THEN));
        }
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sat, 31 Dec 2016 23:59:60 GMT", Some(1_483_228_799));
        check("Thu, 29 Feb 2024 12:00 GMT", Some(1_709_208_000));
    }

    #[test]
    fn ambiguous_and_invalid_dates_are_rejected() {
        for text in [
            "",
            "0",
            "-1",
            "now",
            "05/06/2004 10:00:00",
            "05-06-2004 10:00:00",
            "Tue, 14 Nov 2023",
            "Tue, 14 Nov 22:13:20 GMT",
            "Tue, 14 Nov 2023 22:13:20 14:00",
            "Tue, 14 15 Nov 2023 22:13:20 GMT",
            "Tue, 14 Nov Dec 2023 22:13:20",
            "Tue, 31 Feb 2023 22:13:20 GMT",
            "Thu, 29 Feb 2023 00:00:00 GMT",
            "Tue, 00 Nov 2023 22:13:20 GMT",
            "Tue, 14 Nov 2023 24:00:00 GMT",
            "Tue, 14 Nov 2023 22:60:00 GMT",
            "Tue, 14 Nov 2023 22:13:20 XYZ",
            "Tue, 14 Nov 2023 22:13:20 GMT+99",
            "Tue, 14 Nov 2023 22:13:20 PM",
            "Tue, 14 Nov 20234 22:13:20 GMT",
            "1é:00:00 é",
            "Tué 14 Nov 2023 22:13:20",
        ] {
            check(text, None);
        }
        check(&"1 ".repeat(60), None);
    }

    /// Implements Castillo A.3.5.
    #[test]
    fn implausible_modification_dates_are_corrected_or_rejected() {
        let now = THEN * 1000;
        for (text, expected) in [
            ("Tue, 14 Nov 2023 22:13:19 GMT", Some(now - 1000)),
            ("Tue, 14 Nov 2023 22:13:20 GMT", Some(now)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", Some(now)),
            ("Wed, 15 Nov 2023 22:13:20 GMT", Some(now)),
            ("Wed, 15 Nov 2023 22:13:21 GMT", None),
            ("Wed, 15 Nov 2034 22:13:21 GMT", None),
            ("Fri, 01 Jan 1993 00:00:00 GMT", Some(EARLIEST_MS)),
            ("Thu, 31 Dec 1992 23:59:59 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("Mon, 01-Jan-69 00:00:00 GMT", None),
            ("", None),
        ] {
            assert_eq!(parse_past(text, now), expected, "{text}");
        }
        assert_eq!(parse_past("Tue, 14 Nov 2023 22:13:20 GMT", i64::MIN), None);
        assert_eq!(
            parse_past("Tue, 14 Nov 2023 22:13:20 GMT", i64::MAX),
            Some(now)
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(500))]
        #[test]
        fn any_text_is_parsed_without_panic(text in r"([0-9]{0,6}|[-+/:., TZ]|Nov|Tue|GMT|PM|é|\PC){0,20}", now: i64) {
            if let Some(at) = parse_past(&text, now) {
                proptest::prop_assert!(at >= EARLIEST_MS && at <= now);
            }
        }

        /// A date in any of the HTTP formats is parsed to the same time.
        #[test]
        fn every_http_format_round_trips(day in 0_i64..20_000, second in 0_i64..86_400) {
            let at = (day * 86_400 + second) * 1000;
            let CivilTime { year, month, day: date, .. } = CivilTime::from_unix_ms(at);
            let name = MONTHS[month as usize - 1];
            let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            for text in [
                format!("Xxx, {date:02} {name} {year} {clock} GMT").replace("Xxx", "Mon"),
                format!("Monday, {date:02}-{name}-{:02} {clock} GMT", year % 100),
                format!("Mon {name} {date:2} {clock} {year}"),
                format!("{year}-{month:02}-{date:02}T{clock}Z"),
            ] {
                proptest::prop_assert_eq!(parse(&text), Some(at), "{}", text);
            }
        }
    }
}
