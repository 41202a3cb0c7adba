//! Byte sizes in the configuration and on the command line: `10MiB`, `1GB`, `512`, `1.5MiB`. Binary units (KiB) are
//! powers of 1024; decimal units (kB, KB) are powers of 1000.
//!
//! With serde: `#[serde(with = "aranha_units::size")]` on a `u64` or `usize`. An integer is a number of bytes.

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserializer, Serializer, de};

/// Units and their size in bytes, largest first.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1000),
    ("B", 1),
];

/// Why a text is not a size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a size: {problem}; write for example 512, 64KiB, 10MiB or 1GB")]
pub struct SizeError {
    text: String,
    problem: &'static str,
}

/// Parses a size in bytes. Units are case-insensitive. `K`, `M`, `G` and `T` alone are binary units, as in `ls -h`.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let fail = |problem| SizeError {
        text: text.to_owned(),
        problem,
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(trimmed.len());
    if digits == 0 {
        return Err(fail("the number is missing"));
    }
    let (number, unit) = trimmed.split_at(digits);
    let scale = scale(unit.trim_start()).ok_or_else(|| fail("the unit is not known"))?;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 12 {
        return Err(fail("the number cannot be read"));
    }
    let whole: u128 = whole
        .parse()
        .map_err(|_| fail("the number cannot be read"))?;
    let part: u128 = if fraction.is_empty() {
        0
    } else {
        fraction
            .parse()
            .map_err(|_| fail("the number cannot be read"))?
    };
    let bytes = whole
        .checked_mul(u128::from(scale))
        .and_then(|bytes| {
            bytes.checked_add(part * u128::from(scale) / 10u128.pow(fraction.len() as u32))
        })
        .ok_or_else(|| fail("it is too large"))?;
    u64::try_from(bytes).map_err(|_| fail("it is too large"))
}

fn scale(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let name = match lower.as_str() {
        "" | "byte" | "bytes" => "b",
        "k" => "kib",
        "m" => "mib",
        "g" => "gib",
        "t" => "tib",
        other => other,
    };
    UNITS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, bytes)| *bytes)
}

/// Formats a size as a whole number of the largest possible unit: `10MiB`, `1GB`, `1500B`.
pub fn format(bytes: u64) -> String {
    let (unit, scale) = UNITS
        .iter()
        .find(|(_, scale)| bytes >= *scale && bytes.is_multiple_of(*scale))
        .copied()
        .unwrap_or(("B", 1));
    format!("{}{unit}", bytes / scale)
}

/// Used by `#[serde(with = "aranha_units::size")]`.
pub fn serialize<T, S>(size: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + TryInto<u64>,
    S: Serializer,
{
    let bytes = (*size)
        .try_into()
        .map_err(|_| serde::ser::Error::custom("size does not fit 64 bits"))?;
    serializer.serialize_str(&format(bytes))
}

/// Used by `#[serde(with = "aranha_units::size")]`. Reads a string with an optional unit, or an integer number of
/// bytes.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(SizeVisitor(PhantomData))
}

struct SizeVisitor<T>(PhantomData<T>);

impl<T: TryFrom<u64>> SizeVisitor<T> {
    fn narrow<E: de::Error>(bytes: u64) -> Result<T, E> {
        T::try_from(bytes).map_err(|_| E::custom("size is too large"))
    }
}

impl<T: TryFrom<u64>> de::Visitor<'_> for SizeVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a size such as \"10MiB\", or a number of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Self::narrow(parse(text).map_err(E::custom)?)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<T, E> {
        Self::narrow(bytes)
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<T, E> {
        Self::narrow(u64::try_from(bytes).map_err(|_| E::custom("a size cannot be negative"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[track_caller]
    fn check(text: &str, expected: u64, canonical: &str) {
        assert_eq!(parse(text), Ok(expected), "{text}");
        assert_eq!(format(expected), canonical, "{text}");
    }

    #[test]
    fn sizes_are_parsed_and_formatted() {
        check("10MiB", 10 << 20, "10MiB");
        check("1GB", 1_000_000_000, "1GB");
        check("512", 512, "512B");
        check("1.5 MiB", 3 << 19, "1536KiB");
        check("64k", 64 << 10, "64KiB");
        check("2kb", 2000, "2kB");
        check("0", 0, "0B");
        check("1_000 bytes", 1000, "1kB");
    }

    #[test]
    fn invalid_sizes() {
        for text in ["", "MiB", "5 apples", "-1", "1..2k", "99999999TiB", "."] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Config {
        #[serde(with = "super")]
        body: u64,
        #[serde(with = "super")]
        head: usize,
    }

    #[test]
    fn sizes_in_toml() {
        let config = Config {
            body: 10 << 20,
            head: 65536,
        };
        let text = toml::to_string(&config).expect("serializes");
        assert!(text.contains("body = \"10MiB\""), "{text}");
        assert_eq!(
            toml::from_str::<Config>(&text).expect("reads again"),
            config
        );
        let config: Config = toml::from_str("body = 5\nhead = '1k'").expect("integers are bytes");
        assert_eq!((config.body, config.head), (5, 1024));
        assert!(toml::from_str::<Config>("body = -5\nhead = 1").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn formatted_sizes_are_parsed(bytes in any::<u64>()) {
            prop_assert_eq!(parse(&format(bytes)), Ok(bytes));
        }
    }
}
