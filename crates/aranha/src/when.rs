//! A point in the life of a collection, as people write it for `--at`, `--from` and `--to`.
//!
//! A day, a minute or a second is meant to its end: `2026-11-01` is everything known on that day, and a time copied from
//! what `aranha history` shows, which has no milliseconds, finds the fetch that it was shown for. Always UTC, unless an
//! offset is written.

use std::str::FromStr;

use aranha_units::calendar;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time, and how finely it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    /// The last millisecond that is meant.
    ms: i64,
    /// Only a day was written.
    day: bool,
}

/// `--at`, the same for every command that has it.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct At {
    /// As it was then: a day (to its end), a day and a time in UTC, or RFC 3339
    #[arg(long = "at", value_name = "WHEN")]
    pub(crate) moment: Option<When>,
}

impl When {
    /// The day that `ms` lies in, up to now.
    pub(crate) fn today(ms: i64) -> Self {
        Self { ms, day: true }
    }

    /// The last millisecond that is meant, since 1970.
    pub(crate) fn ms(self) -> i64 {
        self.ms
    }

    /// A name for a folder: `2026-11-01`, or `2026-11-01T120000Z` when more than a day was written.
    pub(crate) fn label(self) -> String {
        let text = calendar::date_time(self.ms);
        match text.split_once(' ') {
            Some((date, time)) if !self.day => format!("{date}T{}Z", time.replace(':', "")),
            Some((date, _)) => date.to_owned(),
            None => text,
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text.trim()).ok_or_else(|| {
            "write a day (2026-11-01), a day and a time in UTC (\"2026-11-01 18:30\"), \
             or RFC 3339 (2026-11-01T18:30:00+01:00)"
                .to_owned()
        })
    }
}

fn read(text: &str) -> Option<When> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        None => (text, ""),
        Some((_, "")) => return None,
        Some(parts) => parts,
    };
    // A year of four digits, two of the month, two of the day: anything else jiff reads would surprise somebody.
    if day.len() != "2026-11-01".len() || !day.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let clock = time
        .find(['Z', 'z', '+', '-'])
        .map_or(time, |end| &time[..end]);
    let rest = match (clock.contains(['.', ',']), clock.matches(':').count()) {
        (true, _) => SignedDuration::ZERO,
        (_, 2) => SignedDuration::from_secs(1),
        (_, 1) => SignedDuration::from_mins(1),
        _ if time.is_empty() => SignedDuration::from_hours(24),
        _ => return None,
    };
    let began = if clock.len() < time.len() {
        text.replacen(' ', "T", 1).parse().ok()?
    } else {
        let civil: DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()?
    };
    let began: Timestamp = began;
    let ms = began.as_millisecond() + i64::try_from(rest.as_millis()).ok()?;
    Some(When {
        ms: if rest.is_zero() { ms } else { ms - 1 },
        day: time.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, last: &str, label: &str) {
        let when: When = text.parse().expect("a time");
        assert_eq!(calendar::rfc3339(when.ms()), last, "{text}");
        assert_eq!(when.label(), label, "{text}");
    }

    #[test]
    fn what_is_written_is_meant_to_its_end() {
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
    fn anything_else_is_refused() {
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
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
