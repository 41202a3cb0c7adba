//! Chance without state: numbers that depend only on where they are asked for.
//!
//! A [`Chance`] is opened for a place (seed, site, page, purpose) and gives the same numbers each time it is
//! opened there. That is what makes every answer of the lab a pure function of the plan. `SplitMix64` (Steele,
//! Lea, Flood 2014): integers only, so that the numbers are the same on every machine.

/// A stream of numbers for one place.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Opens the stream of a place; different places have unrelated streams.
    pub fn of(seed: u64, place: &[u64]) -> Chance {
        Chance(place.iter().fold(mix(seed), |state, part| {
            mix(state ^ mix(part.wrapping_add(1)))
        }))
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream without an end is no iterator to collect"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`, 0 for a bound of 0. The bias of the shortcut is below 2^-32 for all our bounds.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True in so many of a hundred places.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices, which are not none.
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
    fn a_place_has_its_own_numbers() {
        let draw = |place: &[u64]| Chance::of(7, place).next();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[0]), draw(&[0, 0]));
        assert_ne!(Chance::of(8, &[1]).next(), draw(&[1]));
    }

    #[test]
    fn bounds_hold() {
        let mut chance = Chance::of(1, &[]);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[chance.below(10)] += 1;
        }
        assert!(seen.iter().all(|&n| (60..140).contains(&n)), "{seen:?}");
        assert_eq!(chance.below(0), 0);
    }
}
