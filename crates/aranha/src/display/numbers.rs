//! Formats counts, sizes and durations for people.

use std::time::Duration;

use aranha_units::duration;

/// A size in decimal units with one digit after the point: `1.4 MB`.
pub(crate) fn about(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut number = bytes as f64;
    let mut unit = 0;
    while number >= 999.95 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{number:.1} {}", UNITS[unit]),
    }
}

/// A number with its digits in groups of three: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration, rounded down. Below one minute it has tenths of a second (`23.9s`). From one minute on, it has whole
/// seconds (`2m5s`).
pub(crate) fn elapsed(took: Duration) -> String {
    if took < Duration::from_mins(1) {
        format!("{}.{}s", took.as_secs(), took.subsec_millis() / 100)
    } else {
        duration::format(Duration::from_secs(took.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_tenths_of_a_second_below_one_minute() {
        for (ms, text) in [
            (0, "0.0s"),
            (999, "0.9s"),
            (23_950, "23.9s"),
            (60_999, "1m"),
            (125_400, "2m5s"),
        ] {
            assert_eq!(elapsed(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn sizes_have_decimal_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_960, "1.0 MB"),
            (1_234_567, "1.2 MB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(about(bytes), text);
        }
    }
}
