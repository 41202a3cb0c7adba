//! Serialisation of optional limits: a value, or `"none"`.
//!
//! TOML has no null, so `"none"` lets a file remove a limit that a profile sets. Each module here is a serde `with`
//! module for an `Option`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, Visitor};

/// The text that stands for an absent limit.
pub(super) const NONE: &str = "none";

/// Reads `"none"`, a number (converted by `number`) or a text (converted by `text`).
struct Limit<T> {
    expected: &'static str,
    number: fn(u64) -> Option<T>,
    text: fn(&str) -> Result<T, String>,
    marker: PhantomData<T>,
}

impl<T> Visitor<'_> for Limit<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        let error = || E::invalid_value(de::Unexpected::Signed(value), &self.expected);
        let value = u64::try_from(value).map_err(|_| error())?;
        (self.number)(value).map(Some).ok_or_else(error)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        let error = || E::invalid_value(de::Unexpected::Unsigned(value), &self.expected);
        (self.number)(value).map(Some).ok_or_else(error)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        if value == NONE {
            return Ok(None);
        }
        (self.text)(value).map(Some).map_err(E::custom)
    }
}

fn read<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
    number: fn(u64) -> Option<T>,
    text: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Limit {
        expected,
        number,
        text,
        marker: PhantomData,
    })
}

/// A count: `5000` or `"none"`.
pub(crate) mod count {
    use serde::{Deserializer, Serialize, Serializer};

    const EXPECTED: &str = "a whole number or \"none\"";

    #[expect(clippy::ref_option, reason = "signature required by serde")]
    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(super::NONE),
        }
    }

    pub(crate) fn deserialize<'de, T: TryFrom<u64>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let text = |text: &str| Err(format!("{text:?} is not {EXPECTED}"));
        super::read(
            deserializer,
            EXPECTED,
            |number| T::try_from(number).ok(),
            text,
        )
    }
}

/// A duration: `"8h"` or `"none"`.
pub(crate) mod time {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "signature required by serde")]
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => aranha_units::duration::serialize(value, serializer),
            None => serializer.serialize_str(super::NONE),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text =
            |text: &str| aranha_units::duration::parse(text).map_err(|error| error.to_string());
        super::read(
            deserializer,
            "a duration such as \"8h\", or \"none\"",
            |_| None,
            text,
        )
    }
}

/// A number of bytes: `"100GiB"`, `4096` or `"none"`.
pub(crate) mod size {
    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "signature required by serde")]
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => aranha_units::size::serialize(value, serializer),
            None => serializer.serialize_str(super::NONE),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let text = |text: &str| aranha_units::size::parse(text).map_err(|error| error.to_string());
        super::read(
            deserializer,
            "a size such as \"10GiB\", or \"none\"",
            Some,
            text,
        )
    }
}

/// Hours of the day: `"08:00-20:00"` or `"none"`.
pub(crate) mod day_hours {
    use serde::{Deserializer, Serialize, Serializer};

    use crate::config::DayHours;

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "signature required by serde"
    )]
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<DayHours>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(super::NONE),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DayHours>, D::Error> {
        super::read(
            deserializer,
            "hours such as \"08:00-20:00\", or \"none\"",
            |_| None,
            str::parse,
        )
    }
}
