//! Parses the expiry dates of cookies as RFC 6265, 5.1.1 prescribes. The parts of a date may have any order and any
//! delimiters.

use aranha_units::calendar::{days_since_epoch, month_by_name};

/// The date in Unix milliseconds; `None` if a part is missing or out of range.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && time_of_day(token).is_some() {
            time = time_of_day(token);
        } else if day.is_none() && number(token, 1, 2).is_some() {
            day = number(token, 1, 2);
        } else if month.is_none() && month_by_name(token.as_bytes()).is_some() {
            month = month_by_name(token.as_bytes());
        } else if year.is_none() {
            year = number(token, 2, 4);
        }
    }
    let (time, day, month) = (time?, day?, month?);
    let year = match year? {
        short @ 70..=99 => 1900 + short,
        short @ 0..=69 => 2000 + short,
        full => full,
    };
    if !(1..=31).contains(&day) || year < 1601 {
        return None;
    }
    Some((days_since_epoch(year, month, day) * 86_400 + time) * 1000)
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// The number at the start of a token, if it has `min_digits` to `max_digits` digits.
fn number(token: &str, min_digits: usize, max_digits: usize) -> Option<i64> {
    let digits = token.bytes().take_while(u8::is_ascii_digit).count();
    if !(min_digits..=max_digits).contains(&digits) {
        return None;
    }
    token[..digits].parse().ok()
}

/// The seconds since midnight of `hh:mm:ss`.
fn time_of_day(token: &str) -> Option<i64> {
    let mut parts = token.splitn(3, ':');
    let mut part = |max: i64| number(parts.next()?, 1, 2).filter(|value| *value <= max);
    let (hour, minute, second) = (part(23)?, part(59)?, part(59)?);
    Some(hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, seconds: Option<i64>) {
        assert_eq!(parse(text), seconds.map(|seconds| seconds * 1000), "{text}");
    }

    #[test]
    fn dates_in_the_forms_that_servers_use() {
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Tue, 14 Nov 2023 22:13:20 GMT", Some(1_700_000_000));
        check("Tuesday, 14-Nov-23 22:13:20 GMT", Some(1_700_000_000));
        check("Tue Nov 14 22:13:20 2023", Some(1_700_000_000));
        check("14 nov 2023 22:13:20", Some(1_700_000_000));
        check("22:13:20 2023 14x November", Some(1_700_000_000));
        check("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800));
        check("Fri, 31-Dec-99 23:59:59 GMT", Some(946_684_799));
        check("Mon, 01 Jan 69 0:0:0 GMT", Some(3_124_224_000));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799));
    }

    #[test]
    fn incomplete_and_impossible_dates_are_rejected() {
        for text in [
            "",
            "0",
            "Thu, 01 Jan 1970",
            "Thu, 01 Foo 1970 00:00:00",
            "Thu, 32 Jan 1970 00:00:00",
            "Thu, 01 Jan 1600 00:00:00",
            "Thu, 01 Jan 1970 24:00:00",
            "Thu, 01 Jan 1970 00:60:00",
            "1é:00:00 é",
        ] {
            check(text, None);
        }
    }
}
