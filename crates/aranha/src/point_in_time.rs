//! Points in time as users write them for flags such as `--at`, `--from` and `--to`.
//!
//! A day, minute or second stands for its last millisecond. So `2026-11-01` includes all fetches on that day. A time
//! from the output of `aranha history`, which has whole seconds, includes the fetch on that line. Times are UTC unless
//! an offset is given.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use aranha_units::calendar;

/// A point in time, and whether it was written as a whole day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointInTime {
    /// The last millisecond that is included, counted from 1970.
    ms: i64,
    whole_day: bool,
}

impl PointInTime {
    /// The current time. Its label is the current day.
    pub(crate) fn today(now: i64) -> Self {
        Self {
            ms: now,
            whole_day: true,
        }
    }

    /// The point in time in milliseconds since 1970. This millisecond is still included.
    pub(crate) fn ms(self) -> i64 {
        self.ms
    }

    /// A folder name: `2026-11-01` for a whole day, otherwise `2026-11-01T120000Z`.
    pub(crate) fn label(self) -> String {
        let text = calendar::date_time(self.ms);
        match text.split_once(' ') {
            Some((date, time)) if !self.whole_day => format!("{date}T{}Z", time.replace(':', "")),
            Some((date, _)) => date.to_owned(),
            None => text,
        }
    }
}

impl FromStr for PointInTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text.trim()).ok_or_else(|| {
            "write a day (2026-11-01), a day and time in UTC (\"2026-11-01 18:30\"), \
             or RFC 3339 (2026-11-01T18:30:00+01:00)"
                .to_owned()
        })
    }
}

fn parse(text: &str) -> Option<PointInTime> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        None => (text, ""),
        Some((_, "")) => return None,
        Some(parts) => parts,
    };
    // Accept only YYYY-MM-DD. jiff would also accept forms such as 20261101 and -002026-11-01.
    if day.len() != "2026-11-01".len() || !day.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let clock = time
        .find(['Z', 'z', '+', '-'])
        .map_or(time, |end| &time[..end]);
    let precision = match (clock.contains(['.', ',']), clock.matches(':').count()) {
        (true, _) => SignedDuration::ZERO,
        (_, 2) => SignedDuration::from_secs(1),
        (_, 1) => SignedDuration::from_mins(1),
        _ if time.is_empty() => SignedDuration::from_hours(24),
        _ => return None,
    };
    let start: Timestamp = if clock.len() < time.len() {
        text.replacen(' ', "T", 1).parse().ok()?
    } else {
        let civil: DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()?
    };
    let end = start.as_millisecond() + i64::try_from(precision.as_millis()).ok()?;
    Some(PointInTime {
        ms: if precision.is_zero() { end } else { end - 1 },
        whole_day: time.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, last: &str, label: &str) {
        let when: PointInTime = text.parse().expect("a time");
        assert_eq!(calendar::rfc3339(when.ms()), last, "{text}");
        assert_eq!(when.label(), label, "{text}");
    }

    #[test]
    fn a_day_minute_or_second_includes_its_end() {
        check("2026-11-01", "2026-11-01T23:59:59.999Z", "2026-11-01");
        check(
            "2026-11-01 18:30",
            "2026-11-01T18:30:59.999Z",
            "2026-11-01T183059Z",
        );
        check(
            " 2026-11-01 18:30:05 ",
            "2026-11-01T18:30:05.999Z",
            "2026-11-01T183005Z",
        );
        check(
            "2026-11-01T18:30:05.250",
            "2026-11-01T18:30:05.250Z",
            "2026-11-01T183005Z",
        );
        check(
            "2026-11-01T18:30:05Z",
            "2026-11-01T18:30:05.999Z",
            "2026-11-01T183005Z",
        );
        check(
            "2026-11-01 00:30:00+01:00",
            "2026-10-31T23:30:00.999Z",
            "2026-10-31T233000Z",
        );
        check(
            "2026-11-01T18:30:05.25-03:00",
            "2026-11-01T21:30:05.250Z",
            "2026-11-01T213005Z",
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "yesterday",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-30",
            "20261101",
            "2026-11-01 25:00",
            "2026-11-01T",
            "2026-11-01 18",
            "18:30",
            "-002026-11-01",
            "2026-11-01Z",
            "\u{e9}026-11-01",
        ] {
            assert!(text.parse::<PointInTime>().is_err(), "{text}");
        }
    }
}
