//! Reproducible random numbers.
//!
//! A [`Chance`] is the stream of random numbers of one key. A key is a list of numbers, such as seed, purpose, site and
//! page. The same key always gives the same stream, so every response of the lab is a pure function of the plan. The
//! generator is `SplitMix64` (Steele, Lea, Flood 2014). It uses integers only, so the numbers are the same on every
//! machine.

/// The stream of random numbers of one key.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The stream of this key. The streams of two different keys are not correlated.
    pub fn of(seed: u64, key: &[u64]) -> Chance {
        Chance(key.iter().fold(mix(seed), |state, part| {
            mix(state ^ mix(part.wrapping_add(1)))
        }))
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "the stream is infinite and not meant to be collected"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`; 0 if `bound` is 0. For bounds below 2^32 the bias is less than 2^-32.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A random element of `choices`. Panics if `choices` is empty.
    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_own_numbers() {
        let draw = |key: &[u64]| Chance::of(7, key).next();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[0]), draw(&[0, 0]));
        assert_ne!(Chance::of(8, &[1]).next(), draw(&[1]));
    }

    #[test]
    fn numbers_are_below_the_bound_and_evenly_distributed() {
        let mut chance = Chance::of(1, &[]);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[chance.below(10)] += 1;
        }
        assert!(seen.iter().all(|&n| (60..140).contains(&n)), "{seen:?}");
        assert_eq!(chance.below(0), 0);
    }
}
