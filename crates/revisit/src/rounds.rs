//! Visiting times move from day to day (F12; B 3.1 and 5), without a random number generator: where in its round a page
//! comes is a hash of its key and the round, so every node and every restart agrees.

/// Where in `[0, 1)` the page `key` comes at its turn `turn`.
pub(crate) fn unit_hash(key: u64, turn: u64) -> f64 {
    (mix(key ^ mix(turn)) >> 11) as f64 / (1u64 << 53) as f64
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014) after its increment.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Rounds of a fixed length, numbered from the epoch: a function of time alone.
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

    pub(crate) fn number(self, at: i64) -> i64 {
        at.div_euclid(self.length)
    }

    /// When the page `key` comes in round `number`: in its first part, as long as the spread.
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
    fn the_time_of_day_moves() {
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
    fn a_round_is_a_function_of_time() {
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
