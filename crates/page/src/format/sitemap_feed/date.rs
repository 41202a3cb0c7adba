//! Parses the dates of sitemaps and feeds into milliseconds since 1970.
//!
//! Sitemaps and Atom use the W3C profile of ISO 8601 (`2026-11-15T17:48:00+01:00`), in which all parts after the year
//! may be missing. RSS uses the format of RFC 822 (`Sun, 15 Nov 2026 17:48:00 GMT`). Dates are not checked for
//! plausibility, because this crate has no clock.

use aranha_units::calendar::{DAY_MS, days_since_epoch, is_date, month_by_name};

/// Parses a date in either format. `None` if the text has neither.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    parse_iso_8601(text).or_else(|| parse_rfc_822(text))
}

/// Parses the W3C profile of ISO 8601 (NOTE-datetime). A space is accepted in place of the `T`.
fn parse_iso_8601(text: &[u8]) -> Option<i64> {
    let mut rest = DateCursor(text);
    let year = rest.number(4, 4)?;
    let month = if rest.take(b"-") {
        rest.number(2, 2)?
    } else {
        1
    };
    let day = if rest.take(b"-") {
        rest.number(2, 2)?
    } else {
        1
    };
    let mut time = 0;
    if rest.take(b"Tt ") {
        time = rest.time()?;
        if rest.take(b".,") {
            let digits = rest.digits();
            let thousandths = digits.iter().chain(b"000").take(3);
            time += thousandths.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        }
        time -= rest.zone()?;
    }
    rest.0.is_empty().then_some(())?;
    Some(midnight(year, month, day)? + time)
}

/// Parses a date of RFC 822, section 5. Years with two or three digits are read as in RFC 2822, section 4.3.
fn parse_rfc_822(text: &[u8]) -> Option<i64> {
    let text = match memchr::memchr(b',', text) {
        Some(comma) => &text[comma + 1..],
        None => text,
    };
    let mut rest = DateCursor(text);
    rest.skip_spaces();
    let day = rest.number(1, 2)?;
    rest.skip_spaces();
    let (name, after) = rest.0.split_at_checked(3)?;
    let month = month_by_name(name)?;
    rest.0 = after;
    rest.skip_spaces();
    let digits = rest.digits();
    let year = match (digits.len(), number(digits)?) {
        (4, year) => year,
        (2, year) if year < 50 => 2000 + year,
        (2 | 3, year) => 1900 + year,
        _ => return None,
    };
    rest.skip_spaces();
    let mut time = 0;
    if !rest.0.is_empty() {
        time = rest.time()?;
        rest.skip_spaces();
        time -= rest.zone()?;
    }
    Some(midnight(year, month, day)? + time)
}

/// The unread rest of a date.
struct DateCursor<'a>(&'a [u8]);

impl<'a> DateCursor<'a> {
    /// Skips the next byte if `one_of` contains it. Returns whether it was skipped.
    fn take(&mut self, one_of: &[u8]) -> bool {
        match self.0 {
            [first, rest @ ..] if one_of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn digits(&mut self) -> &'a [u8] {
        let count = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits
    }

    /// Reads a number of `min_digits` to `max_digits` digits.
    fn number(&mut self, min_digits: usize, max_digits: usize) -> Option<i64> {
        let digits = self.digits();
        number(digits).filter(|_| (min_digits..=max_digits).contains(&digits.len()))
    }

    /// Reads `hh:mm` or `hh:mm:ss`. Returns milliseconds.
    fn time(&mut self) -> Option<i64> {
        let hours = self.number(1, 2)?;
        let minutes = if self.take(b":") {
            self.number(2, 2)?
        } else {
            return None;
        };
        let seconds = if self.take(b":") {
            self.number(2, 2)?
        } else {
            0
        };
        let possible = hours <= 24 && minutes < 60 && seconds <= 60;
        possible.then_some(((hours * 60 + minutes) * 60 + seconds) * 1000)
    }

    /// Reads a time zone. Returns its offset from UTC in milliseconds. A missing or unknown zone is taken as UTC.
    /// `None` if a sign is not followed by exactly four digits (colons are ignored).
    fn zone(&mut self) -> Option<i64> {
        let hours = match self.0 {
            [sign @ (b'+' | b'-'), rest @ ..] => {
                let digits: Vec<u8> = rest
                    .iter()
                    .filter(|byte| **byte != b':')
                    .take(5)
                    .copied()
                    .collect();
                let number = number(&digits).filter(|_| digits.len() == 4)?;
                let offset = (number / 100 * 60 + number % 100) * 60_000;
                self.0 = &[];
                return Some(if *sign == b'+' { offset } else { -offset });
            }
            [first, second, b'T' | b't', ..] => {
                match [*first, *second].to_ascii_uppercase().as_slice() {
                    b"ED" => -4,
                    b"ES" | b"CD" => -5,
                    b"CS" | b"MD" => -6,
                    b"MS" | b"PD" => -7,
                    b"PS" => -8,
                    _ => 0,
                }
            }
            _ => 0,
        };
        self.0 = &[];
        Some(hours * 3_600_000)
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    (1..=9).contains(&digits.len()).then_some(())?;
    digits.iter().try_fold(0, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

/// The start of a day in milliseconds since 1970. `None` if the day does not exist.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    is_date(year, month, day).then(|| days_since_epoch(year, month, day) * DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn dates_in_both_formats() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        };
        check("1970-01-01", Some(0));
        check(" 2026-11-15T17:48:00Z\n", Some(1_794_764_880_000));
        check("2026-11-15T18:48:00.25+01:00", Some(1_794_764_880_250));
        check("2026-11-15 12:48-0500", Some(1_794_764_880_000));
        check("2026", Some(1_767_225_600_000));
        check("2000-02-29", Some(951_782_400_000));
        check("1969-12-31", Some(-86_400_000));
        check("Sun, 15 Nov 2026 17:48:00 GMT", Some(1_794_764_880_000));
        check("15 Nov 26 12:48 EST", Some(1_794_764_880_000));
        check("Sun, 15 Nov 2026 18:48:00 +0100", Some(1_794_764_880_000));
        check("1 jan 1970", Some(0));
        for invalid in [
            "",
            "x",
            "2026-13-01",
            "2023-02-29",
            "2026-1-1",
            "20261115",
            "2026-11-15T",
            "2026-11-15Tx",
            "2026-11-15T25:00Z",
            "2026-11-15T10:61Z",
            "Sun, 31 Feb 2026 00:00 GMT",
            "1 Foo 2026",
            "15 Nov",
            "15 Nov 12345",
            "99999999999999999999",
            "2026-11-15T10:00+1",
            "é",
            "1 é",
            "-1-1-1",
            "2026-11-15x",
        ] {
            check(invalid, None);
        }
    }
}
