//! Rounds of fixed length, and the time of a page within a round.
//!
//! Visit times change from round to round (F12; Bouras 3.1 and 5). The position of a page in its round is computed from
//! a hash of its key and of the round number. It is not random, so every node computes the same time, also after a
//! restart.

/// A number in `[0, 1)`, computed from the key of a page and the number of a round or visit.
pub(crate) fn unit_hash(key: u64, turn: u64) -> f64 {
    (mix(key ^ mix(turn)) >> 11) as f64 / (1u64 << 53) as f64
}

/// One step of splitmix64 (Steele, Lea and Flood 2014): the increment and the finaliser.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Rounds of a fixed length, numbered from 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    length: i64,
    spread: f64,
}

impl Rounds {
    pub(crate) fn new(length: std::time::Duration, spread: f32) -> Self {
        Rounds {
            length: i64::try_from(length.as_millis())
                .unwrap_or(i64::MAX)
                .clamp(1, i64::MAX / 4),
            spread: f64::from(spread.clamp(0.0, 1.0)),
        }
    }

    pub(crate) fn length(self) -> i64 {
        self.length
    }

    /// Length in milliseconds of the first part of a round. All visits of the round are planned in this part.
    pub(crate) fn spread(self) -> i64 {
        (self.spread * self.length as f64) as i64
    }

    pub(crate) fn number(self, at: i64) -> i64 {
        at.div_euclid(self.length)
    }

    /// Visit time of the page `key` in round `number`. The time is in the first part of the round. `spread` is the
    /// length of that part as a share of the round.
    pub(crate) fn time_in_round(self, number: i64, key: u64) -> i64 {
        let moved = unit_hash(key, number as u64) * self.spread * self.length as f64;
        number
            .saturating_mul(self.length)
            .saturating_add(moved as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_time_of_day_changes() {
        let days = Rounds::new(Duration::from_hours(24), 0.25);
        let times: Vec<i64> = (20_000..20_030)
            .map(|day| days.time_in_round(day, 77) - day * days.length())
            .collect();
        assert!(times.iter().all(|time| (0..6 * 3_600_000).contains(time)));
        let same = times
            .windows(2)
            .filter(|pair| (pair[0] - pair[1]).abs() < 60_000)
            .count();
        assert!(same <= 1, "{times:?}");
        let mean = times.iter().sum::<i64>() / 30;
        assert!((2 * 3_600_000..4 * 3_600_000).contains(&mean), "{mean}");
    }

    #[test]
    fn times_lie_in_their_round() {
        let rounds = Rounds::new(Duration::from_hours(24), 0.25);
        let turn = rounds.time_in_round(20_000, 5);
        assert_eq!(rounds.number(turn), 20_000);
        assert_eq!(rounds.number(-1), -1);
        assert_eq!(
            Rounds::new(Duration::from_hours(24), 0.0).time_in_round(3, 5),
            3 * 86_400_000
        );
    }
}
