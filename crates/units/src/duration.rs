//! Durations in the configuration and on the command line: `2s`, `1h30m`, `7d`, `500ms`.
//!
//! With serde: `#[serde(with = "aranha_units::duration")]` on a `Duration`, `…::duration::option` on an
//! `Option<Duration>`, `…::duration::list` on a `Vec<Duration>`. [`parse`] returns exactly the duration that
//! [`format()`] wrote.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de};

/// Units and their length in nanoseconds, longest first.
const UNITS: [(&str, u128); 8] = [
    ("w", 7 * 24 * 3600 * 1_000_000_000),
    ("d", 24 * 3600 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

/// Why a text is not a duration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a duration: {problem}; write for example 500ms, 2s, 1h30m or 7d")]
pub struct DurationError {
    text: String,
    problem: &'static str,
}

/// Parses a duration: numbers with units (`w d h m s ms us ns`) in any order, with optional fractions (`1.5s`). The
/// text `0` needs no unit.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let fail = |problem| DurationError {
        text: text.to_owned(),
        problem,
    };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(fail("it is empty"));
    }
    let mut total = 0u128;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(|| fail("the unit is missing"))?;
        if digits == 0 {
            return Err(fail("the number is missing"));
        }
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len());
        let (unit, tail) = after.split_at(letters);
        let scale = scale(unit).ok_or_else(|| fail("the unit is not known"))?;
        let nanos = nanos(number, scale).ok_or_else(|| fail("the number cannot be read"))?;
        total = total
            .checked_add(nanos)
            .ok_or_else(|| fail("it is too long"))?;
        rest = tail.trim_start();
    }
    let seconds = u64::try_from(total / 1_000_000_000).map_err(|_| fail("it is too long"))?;
    Ok(Duration::new(seconds, (total % 1_000_000_000) as u32))
}

fn scale(unit: &str) -> Option<u128> {
    let short = match unit {
        "week" | "weeks" => "w",
        "day" | "days" => "d",
        "hour" | "hours" => "h",
        "min" | "minute" | "minutes" => "m",
        "sec" | "second" | "seconds" => "s",
        "µs" | "μs" => "us",
        other => other,
    };
    UNITS
        .iter()
        .find(|(name, _)| *name == short)
        .map(|(_, nanos)| *nanos)
}

/// Multiplies `number`, which is `whole[.fraction]`, by `scale`, the length of its unit in nanoseconds. Fractions of a
/// nanosecond are dropped.
fn nanos(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 18 || fraction.contains('.') {
        return None;
    }
    let read = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse::<u128>().ok()
        }
    };
    let below = read(fraction)?.checked_mul(scale)? / 10u128.pow(fraction.len() as u32);
    read(whole)?.checked_mul(scale)?.checked_add(below)
}

/// Formats a duration as `1h30m`, `2s` or `0s`.
pub fn format(duration: Duration) -> String {
    use std::fmt::Write as _;
    let mut rest = duration.as_nanos();
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, nanos) in &UNITS[1..] {
        let count = rest / nanos;
        if count > 0 {
            rest %= nanos;
            let _ = write!(text, "{count}{unit}");
        }
    }
    text
}

/// Used by `#[serde(with = "aranha_units::duration")]` on a `Duration`.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration))
}

/// Used by `#[serde(with = "aranha_units::duration")]` on a `Duration`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(de::Error::custom)
}

/// Used by `#[serde(with = "aranha_units::duration::option")]` on an `Option<Duration>`.
pub mod option {
    use super::{Deserialize, Deserializer, Duration, Serializer, de, format, parse};

    /// `None` is written as null, or as an absent key in TOML.
    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&format(*duration)),
            None => serializer.serialize_none(),
        }
    }

    /// The field also needs `#[serde(default)]`, so that an absent key is `None`.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| parse(&text).map_err(de::Error::custom))
            .transpose()
    }
}

/// Used by `#[serde(with = "aranha_units::duration::list")]` on a `Vec<Duration>`.
pub mod list {
    use super::{Deserialize, Deserializer, Duration, Serializer, de, format, parse};

    /// Writes an array of strings.
    pub fn serialize<S: Serializer>(
        durations: &[Duration],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(durations.iter().map(|duration| format(*duration)))
    }

    /// Reads an array of strings.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Duration>, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .iter()
            .map(|text| parse(text).map_err(de::Error::custom))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Serialize;

    #[track_caller]
    fn check(text: &str, expected: Duration, canonical: &str) {
        assert_eq!(parse(text), Ok(expected), "{text}");
        assert_eq!(format(expected), canonical, "{text}");
    }

    #[test]
    fn durations_are_parsed_and_formatted() {
        check("2s", Duration::from_secs(2), "2s");
        check("1h30m", Duration::from_mins(90), "1h30m");
        check("7d", Duration::from_hours(7 * 24), "7d");
        check("2w", Duration::from_hours(14 * 24), "14d");
        check("500ms", Duration::from_millis(500), "500ms");
        check("1.5s", Duration::from_millis(1500), "1s500ms");
        check("0.25h", Duration::from_mins(15), "15m");
        check(" 1 h 30 min ", Duration::from_mins(90), "1h30m");
        check("0", Duration::ZERO, "0s");
        check("10µs", Duration::from_micros(10), "10us");
        check("90 seconds", Duration::from_secs(90), "1m30s");
    }

    #[test]
    fn invalid_durations() {
        for text in [
            "",
            "5",
            "s",
            "5 parsecs",
            "1..5s",
            "-1s",
            "1h30",
            "99999999999999999999d",
            ".s",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("5").expect_err("no unit").to_string(),
            "`5` is not a duration: the unit is missing; write for example 500ms, 2s, 1h30m or 7d"
        );
    }

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Config {
        #[serde(with = "super")]
        pause: Duration,
        #[serde(default, with = "super::option")]
        limit: Option<Duration>,
        #[serde(with = "super::list")]
        retries: Vec<Duration>,
    }

    #[test]
    fn durations_in_toml() {
        for limit in [None, Some(Duration::from_mins(1))] {
            let config = Config {
                pause: Duration::from_secs(2),
                limit,
                retries: vec![Duration::from_hours(1)],
            };
            let text = toml::to_string(&config).expect("serializes");
            assert_eq!(text.contains("limit = \"1m\""), limit.is_some());
            assert_eq!(
                toml::from_str::<Config>(&text).expect("reads again"),
                config
            );
        }
        assert!(toml::from_str::<Config>("pause = '2 apples'\nretries = []").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn formatted_durations_are_parsed(seconds in any::<u64>(), nanos in 0..1_000_000_000u32) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }
    }
}
