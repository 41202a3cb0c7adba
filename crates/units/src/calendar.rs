//! The Gregorian calendar in UTC. Converts unix milliseconds to a date and a time of day, a date to days since
//! 1970-01-01, and a time to its written forms.
//!
//! This is the only code that converts between dates and unix time. Parsers of date formats (HTTP dates and cookie
//! dates in `aranha-fetch`, sitemap and feed dates in `aranha-page`) split the text and call [`days_since_epoch`]. Four
//! times are written for every archived page, so the conversion must be fast. It uses integer arithmetic and no
//! library.
//!
//! A time outside [`MIN_MS`]`..=`[`MAX_MS`] is written as 1970-01-01T00:00:00Z.

/// Milliseconds in a day.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Earliest supported time in unix milliseconds: -009999-01-02T01:59:59Z, the earliest that `jiff::Timestamp` accepts.
pub const MIN_MS: i64 = -377_705_023_201_000;

/// Latest supported time in unix milliseconds: 9999-12-30T22:00:00Z, the latest that `jiff::Timestamp` accepts.
pub const MAX_MS: i64 = 253_402_207_200_000;

/// Days in 400 years. The calendar repeats after this period.
const DAYS_PER_ERA: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: i64 = 719_468;

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// A date and a time of day in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CivilTime {
    /// Astronomical year: 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
    /// 0 to 999.
    pub millisecond: u32,
}

impl CivilTime {
    /// The date and time at `time_ms` unix milliseconds.
    pub fn from_unix_ms(time_ms: i64) -> Self {
        // Days and years are counted from -10000-03-01, so that no number below is negative.
        const ERAS_BEFORE_YEAR_0: i64 = 25;
        const SHIFT_MS: i64 = (ERAS_BEFORE_YEAR_0 * DAYS_PER_ERA + EPOCH_DAY) * DAY_MS;
        let shifted = (in_range(time_ms) + SHIFT_MS) as u64;
        let (days, rest) = (
            (shifted / DAY_MS as u64) as u32,
            (shifted % DAY_MS as u64) as u32,
        );
        let (year, month, day) = civil(days);
        Self {
            year: year as i32 - 400 * ERAS_BEFORE_YEAR_0 as i32,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
        }
    }
}

/// Year, month and day of the date that is `days` days after 1 March of year 0. The algorithm is `civil_from_days` of
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms". Its years begin in March, so that the leap day is the
/// last day of a year.
fn civil(days: u32) -> (u32, u32, u32) {
    const ERA: u32 = DAYS_PER_ERA as u32;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (400 * era + year_of_era + u32::from(month <= 2), month, day)
}

/// `time_ms` itself, or 0 if it is outside [`MIN_MS`]`..=`[`MAX_MS`].
pub fn in_range(time_ms: i64) -> i64 {
    if (MIN_MS..=MAX_MS).contains(&time_ms) {
        time_ms
    } else {
        0
    }
}

/// Days from 1970-01-01 to a date. The month must be in 1..=12. A day beyond the end of the month counts as a day of
/// the next month. Call [`is_date`] first to reject such dates.
pub fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - EPOCH_DAY
}

/// Whether the calendar has this date.
pub fn is_date(year: i64, month: i64, day: i64) -> bool {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// The month, 1 to 12, whose English name starts with the first three letters of `name`, ignoring case.
pub fn month_by_name(name: &[u8]) -> Option<i64> {
    let start: &[u8; 3] = name.first_chunk()?;
    let index = MONTHS
        .iter()
        .position(|month| month.eq_ignore_ascii_case(start))?;
    Some(index as i64 + 1)
}

/// Appends `2026-11-15T17:48:00.123Z`: RFC 3339 with milliseconds, the form of `WARC-Date`.
pub fn put_rfc3339(time_ms: i64, out: &mut Vec<u8>) {
    let time = CivilTime::from_unix_ms(time_ms);
    let mut text = *b"YYYY-MM-DDThh:mm:ss.000Z";
    put_digits(time.year.unsigned_abs(), &mut text[..4]);
    put_digits(time.month, &mut text[5..7]);
    put_digits(time.day, &mut text[8..10]);
    put_digits(time.hour, &mut text[11..13]);
    put_digits(time.minute, &mut text[14..16]);
    put_digits(time.second, &mut text[17..19]);
    put_digits(time.millisecond, &mut text[20..23]);
    if time.year < 0 {
        out.extend_from_slice(b"-00"); // ISO 8601 writes negative years with six digits.
    }
    out.extend_from_slice(&text);
}

/// Appends `20261115174800`: the 14 digits of CDX indexes.
pub fn put_digits14(time_ms: i64, out: &mut Vec<u8>) {
    put_digits17(time_ms, out);
    out.truncate(out.len() - 3);
}

/// Appends `20261115174800123`: 14 digits and the milliseconds.
pub fn put_digits17(time_ms: i64, out: &mut Vec<u8>) {
    let time = CivilTime::from_unix_ms(time_ms);
    let mut text = *b"YYYYMMDDhhmmss000";
    put_digits(time.year.unsigned_abs(), &mut text[..4]);
    put_digits(time.month, &mut text[4..6]);
    put_digits(time.day, &mut text[6..8]);
    put_digits(time.hour, &mut text[8..10]);
    put_digits(time.minute, &mut text[10..12]);
    put_digits(time.second, &mut text[12..14]);
    put_digits(time.millisecond, &mut text[14..]);
    match (time.year, text[0]) {
        (0.., _) => {}
        (_, b'0') => text[0] = b'-', // the year has four characters with the sign, as in strftime
        _ => out.push(b'-'),
    }
    out.extend_from_slice(&text);
}

/// `2026-11-15T17:48:00.123Z`, as [`put_rfc3339`] writes it.
pub fn rfc3339(time_ms: i64) -> String {
    text(time_ms, put_rfc3339)
}

/// `2026-11-15T17:48:00Z` or `2026-11-15T17:48:00.12Z`: RFC 3339 without zeros at the end of the fraction.
pub fn rfc3339_shortest(time_ms: i64) -> String {
    let mut text = rfc3339(time_ms);
    let end = text.trim_end_matches('Z').trim_end_matches('0').len();
    let end = end - usize::from(text[..end].ends_with('.'));
    text.truncate(end);
    text.push('Z');
    text
}

/// `2026-11-15 17:48:00`: date and time in UTC, for people to read.
pub fn date_time(time_ms: i64) -> String {
    let mut text = rfc3339(time_ms).replace('T', " ");
    text.truncate(text.len() - ".000Z".len());
    text
}

/// `20261115174800123`, as [`put_digits17`] writes it.
pub fn digits17(time_ms: i64) -> String {
    text(time_ms, put_digits17)
}

fn text(time_ms: i64, put: fn(i64, &mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity("-002026-11-15T17:48:00.123Z".len());
    put(time_ms, &mut out);
    String::from_utf8(out).expect("only ASCII is written")
}

/// Fills `places` with the last digits of `number`.
fn put_digits(mut number: u32, places: &mut [u8]) {
    for place in places.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn digits14(time_ms: i64) -> String {
        text(time_ms, put_digits14)
    }

    /// Compares every written form with the output of jiff.
    #[track_caller]
    fn check(time_ms: i64) {
        let time = Timestamp::from_millisecond(time_ms).unwrap_or_default();
        assert_eq!(rfc3339(time_ms), format!("{time:.3}"), "{time_ms}");
        assert_eq!(rfc3339_shortest(time_ms), time.to_string(), "{time_ms}");
        let digits = time.strftime("%Y%m%d%H%M%S%3f").to_string();
        assert_eq!(digits17(time_ms), digits, "{time_ms}");
        let digits = time.strftime("%Y%m%d%H%M%S").to_string();
        assert_eq!(digits14(time_ms), digits, "{time_ms}");
        if time_ms >= -62_167_219_200_000 {
            let text = time.strftime("%Y-%m-%d %H:%M:%S").to_string();
            assert_eq!(date_time(time_ms), text, "{time_ms}");
        }
        let civil = CivilTime::from_unix_ms(time_ms);
        let (year, month, day) = (
            i64::from(civil.year),
            i64::from(civil.month),
            i64::from(civil.day),
        );
        assert!(is_date(year, month, day), "{civil:?}");
        let days = time.as_millisecond().div_euclid(DAY_MS);
        assert_eq!(days_since_epoch(year, month, day), days, "{civil:?}");
    }

    #[test]
    fn written_forms() {
        assert_eq!(rfc3339(1_794_764_880_123), "2026-11-15T17:48:00.123Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(i64::MAX), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            rfc3339_shortest(1_794_764_880_120),
            "2026-11-15T17:48:00.12Z"
        );
        assert_eq!(rfc3339_shortest(1_794_764_880_000), "2026-11-15T17:48:00Z");
        assert_eq!(date_time(1_794_764_880_123), "2026-11-15 17:48:00");
        assert_eq!(digits14(1_794_764_880_123), "20261115174800");
        assert_eq!(digits17(1_794_764_880_123), "20261115174800123");
    }

    #[test]
    fn the_range_is_that_of_jiff() {
        let accepted = |time_ms| Timestamp::from_millisecond(time_ms).is_ok();
        assert!(accepted(MIN_MS) && !accepted(MIN_MS - 1));
        assert!(accepted(MAX_MS) && !accepted(MAX_MS + 1));
    }

    /// Checks every day of one calendar period of 400 years, every 97th day of the whole range, and the limits of the
    /// range.
    #[test]
    fn days_agree_with_jiff() {
        let (first, last) = (MIN_MS / DAY_MS, MAX_MS / DAY_MS);
        for day in (0..DAYS_PER_ERA).chain((first..=last).step_by(97)) {
            // The time of day differs from day to day.
            check(day * DAY_MS + (day * 7_654_321).rem_euclid(DAY_MS));
        }
        let limits = [
            first * DAY_MS,
            0,
            253_370_764_800_000,
            last * DAY_MS,
            (last + 1) * DAY_MS,
            i64::MIN,
            i64::MAX,
            MIN_MS,
            MAX_MS,
        ];
        for limit in limits {
            for offset in -2..=2 {
                check(limit.saturating_add(offset));
            }
        }
    }

    #[test]
    fn dates_that_do_not_exist() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2026, 4, 31),
            (2026, 13, 1),
            (2026, 0, 1),
            (2026, 1, 0),
            (2026, 12, 32),
        ] {
            assert!(!is_date(year, month, day), "{year}-{month}-{day}");
        }
        assert!(is_date(2000, 2, 29) && is_date(2024, 2, 29));
        assert_eq!(
            days_since_epoch(2023, 2, 31),
            days_since_epoch(2023, 3, 3),
            "a day beyond the end of the month is taken as a day of the next month"
        );
    }

    #[test]
    fn months_by_name() {
        assert_eq!(month_by_name(b"Jan"), Some(1));
        assert_eq!(month_by_name(b"deCember"), Some(12));
        assert_eq!(month_by_name(b"Fo"), None);
        assert_eq!(month_by_name(b"Foo"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn times_agree_with_jiff(near in -400_000_000_000_000..400_000_000_000_000_i64, any in any::<i64>()) {
            check(near);
            check(any);
        }
    }
}
