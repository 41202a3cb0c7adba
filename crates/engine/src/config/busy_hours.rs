//! Hours of the day in which sites are busy (R3; Bouras 3.1), and the time zones of sites.
//!
//! `crawl.busy_hours` is in the local time of a site. `crawl.time_zones` gives the offset from UTC of all hosts of a
//! domain.

use std::fmt;
use std::str::FromStr;

use aranha_units::calendar::DAY_MS;
use serde::{Deserialize, Serialize};

const MINUTE_MS: i64 = 60_000;

/// A part of the day, such as `08:00-20:00`. It may include midnight: `22:00-06:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DayHours {
    /// The first minute of the day that is part of these hours.
    from: u16,
    /// The first minute of the day after these hours.
    to: u16,
}

/// Offset of local time from UTC, such as `+01:00` or `-03:00`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcOffset {
    minutes: i16,
}

impl DayHours {
    /// Whether these hours include the time `now` (unix milliseconds) at a place with this offset.
    pub(crate) fn include(self, now: i64, offset: UtcOffset) -> bool {
        let local = now + i64::from(offset.minutes) * MINUTE_MS;
        let minute = (local.rem_euclid(DAY_MS) / MINUTE_MS) as u16;
        if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl FromStr for DayHours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hours = text.split_once('-').and_then(|(from, to)| {
            let (from, to) = (minutes(from)?, minutes(to)?);
            (from != to && from < MINUTES_PER_DAY).then_some(Self { from, to })
        });
        hours.ok_or_else(|| "expected two times of day, such as 08:00-20:00".to_owned())
    }
}

impl fmt::Display for DayHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        let (from_hour, to_hour) = (from / 60, to / 60);
        write!(
            f,
            "{from_hour:02}:{:02}-{to_hour:02}:{:02}",
            from % 60,
            to % 60
        )
    }
}

impl FromStr for UtcOffset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sign, time) = match text.as_bytes() {
            [b'+', ..] => (1, &text[1..]),
            [b'-', ..] => (-1, &text[1..]),
            _ => (1, text),
        };
        let minutes = minutes(time).filter(|minutes| *minutes <= MAX_OFFSET);
        minutes
            .map(|minutes| Self {
                minutes: sign * minutes as i16,
            })
            .ok_or_else(|| "expected an offset from UTC, such as +01:00 or -03:00".to_owned())
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.minutes < 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

const MINUTES_PER_DAY: u16 = 24 * 60;

/// The largest offset in use is 14 hours.
const MAX_OFFSET: u16 = 14 * 60;

/// Parses `HH:MM`, up to `24:00`, as a number of minutes.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let digits = |text: &str| {
        let valid = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let total = hours * 60 + minutes;
    (minutes < 60 && total <= MINUTES_PER_DAY).then_some(total)
}

impl TryFrom<String> for DayHours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<DayHours> for String {
    fn from(hours: DayHours) -> Self {
        hours.to_string()
    }
}

impl TryFrom<String> for UtcOffset {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<UtcOffset> for String {
    fn from(offset: UtcOffset) -> Self {
        offset.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 60 * MINUTE_MS;

    #[track_caller]
    fn check(hours: &str, offset: &str, utc_hour: i64, expected: bool) {
        let parsed: DayHours = hours.parse().expect(hours);
        assert_eq!(parsed.to_string(), hours);
        let offset: UtcOffset = offset.parse().expect(offset);
        let now = 20_000 * DAY_MS + utc_hour * HOUR_MS;
        assert_eq!(
            parsed.include(now, offset),
            expected,
            "{hours} {offset} {utc_hour}"
        );
    }

    #[test]
    fn hours_are_local() {
        check("08:00-20:00", "+00:00", 7, false);
        check("08:00-20:00", "+00:00", 8, true);
        check("08:00-20:00", "+00:00", 20, false);
        check("08:00-20:00", "+01:00", 7, true);
        check("08:00-20:00", "-03:00", 10, false);
        check("08:00-20:00", "-03:00", 22, true);
        check("22:00-06:00", "+00:00", 23, true);
        check("22:00-06:00", "+00:00", 5, true);
        check("22:00-06:00", "+00:00", 6, false);
        check("00:00-24:00", "+14:00", 3, true);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "8-20",
            "08:00",
            "08:00-08:00",
            "24:00-06:00",
            "08:60-09:00",
            "25:00-26:00",
        ] {
            text.parse::<DayHours>().expect_err(text);
        }
        for text in ["", "1", "+1", "Europe/Lisbon", "+15:00", "é"] {
            text.parse::<UtcOffset>().expect_err(text);
        }
    }
}
