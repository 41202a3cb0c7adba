//! Formats counts and sizes for people.

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

#[cfg(test)]
mod tests {
    use super::*;

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
