//! Points in time as records and indexes write them. Every page has four of them: what the calendar's library does for all
//! dates is done by hand for those of our era, and by the library for the others.

use jiff::Timestamp;

/// A point in time, whatever number comes in.
pub(crate) fn timestamp(time_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(time_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `WARC-Date` with milliseconds.
pub(crate) fn put_date(time_ms: i64, out: &mut Vec<u8>) {
    let Some(moment) = Moment::of(time_ms) else {
        let text = format!("{:.3}", timestamp(time_ms));
        out.extend_from_slice(text.as_bytes());
        return;
    };
    let mut text = *b"YYYY-MM-DDThh:mm:ss.000Z";
    digits(moment.year, &mut text[..4]);
    digits(moment.month, &mut text[5..7]);
    digits(moment.day, &mut text[8..10]);
    digits(moment.hour, &mut text[11..13]);
    digits(moment.minute, &mut text[14..16]);
    digits(moment.second, &mut text[17..19]);
    digits(moment.millisecond, &mut text[20..23]);
    out.extend_from_slice(&text);
}

/// Fourteen digits, as in CDX.
pub(crate) fn put_stamp(time_ms: i64, out: &mut Vec<u8>) {
    let Some(moment) = Moment::of(time_ms) else {
        let text = timestamp(time_ms).strftime("%Y%m%d%H%M%S").to_string();
        out.extend_from_slice(text.as_bytes());
        return;
    };
    let mut text = *b"YYYYMMDDhhmmss";
    digits(moment.year, &mut text[..4]);
    digits(moment.month, &mut text[4..6]);
    digits(moment.day, &mut text[6..8]);
    digits(moment.hour, &mut text[8..10]);
    digits(moment.minute, &mut text[10..12]);
    digits(moment.second, &mut text[12..]);
    out.extend_from_slice(&text);
}

/// Fills the places with the last digits of a number.
fn digits(mut number: u32, places: &mut [u8]) {
    for place in places.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// A point in time by the calendar.
struct Moment {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    millisecond: u32,
}

impl Moment {
    /// None before 1970, and from the year 9999 on, in which the library's time ends.
    fn of(time_ms: i64) -> Option<Self> {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        const END: i64 = 253_370_764_800_000;
        if !(0..END).contains(&time_ms) {
            return None;
        }
        let (days, rest) = ((time_ms / DAY) as u32, (time_ms % DAY) as u32);
        let (year, month, day) = civil(days);
        Some(Self {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
        })
    }
}

/// Year, month and day of a count of days since 1970. H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`: years begin in March, so that the leap day is their last, and 400 of them have always as many days.
fn civil(days: u32) -> (u32, u32, u32) {
    const ERA: u32 = 146_097;
    let days = days + 719_468; // from the first of March of the year 0 on
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(put: fn(i64, &mut Vec<u8>), time_ms: i64) -> String {
        let mut out = Vec::new();
        put(time_ms, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[track_caller]
    fn check(time_ms: i64) {
        let time = timestamp(time_ms);
        assert_eq!(text(put_date, time_ms), format!("{time:.3}"), "{time_ms}");
        let stamp = time.strftime("%Y%m%d%H%M%S").to_string();
        assert_eq!(text(put_stamp, time_ms), stamp, "{time_ms}");
    }

    #[test]
    fn dates() {
        assert_eq!(
            text(put_date, 1_794_764_880_123),
            "2026-11-15T17:48:00.123Z"
        );
        assert_eq!(text(put_date, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(put_date, i64::MAX), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(put_stamp, 1_794_764_880_123), "20261115174800");
    }

    /// Every day until the calendar repeats itself, many before and behind, and where the ways part.
    #[test]
    fn every_day_is_the_librarys() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let (first, last) = (
            Timestamp::MIN.as_millisecond() / DAY,
            Timestamp::MAX.as_millisecond() / DAY,
        );
        let once = 0..146_097;
        for day in once.chain((first..=last).step_by(97)) {
            // Another time of the day each day.
            check(day * DAY + (day * 7_654_321).rem_euclid(DAY));
        }
        let ends = [
            first * DAY,
            0,
            253_370_764_800_000,
            last * DAY,
            (last + 1) * DAY,
        ];
        for end in ends
            .into_iter()
            .chain([i64::MIN, i64::MAX, Timestamp::MAX.as_millisecond()])
        {
            for beside in -2..=2 {
                check(end.saturating_add(beside));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_time_is_the_librarys(near in -400_000_000_000_000..400_000_000_000_000_i64, any in any::<i64>()) {
            check(near);
            check(any);
        }
    }
}
