//! `frequency`: a page skips rounds while it does not change (I1; Bouras, section 3.2 and the first half of section 5).
//!
//! Bouras stores two numbers with each page: `fr_max`, the number of rounds between visits, and `fr`, the rounds left
//! until the next visit. Only `fr_max` is stored here, as [`History::level`]. Rounds are numbered by time, so no
//! countdown has to be stored, and a crash loses nothing.

use crate::History;

/// The new `fr_max` (Bouras 3.2): `floor((old + b) / 2)`, at least 1. With x = min(`records`, `limit`) and `changes`
/// counted among the last x visits, b is x / `changes`, or x if there was no change.
pub(crate) fn next_level(old: u32, records: u32, limit: u32, changes: u32) -> u32 {
    let x = u64::from(records.min(limit));
    let changes = u64::from(changes.max(1)); // b is x both for 0 changes and for 1 change
    let sum = u64::from(old) * changes + x; // (old + x / changes) / 2, rounded only once
    u32::try_from(sum / (2 * changes))
        .unwrap_or(u32::MAX)
        .max(1)
}

/// Lowers the `fr_max` of an entry page if inner pages of the site have changed. `share` is the share of inner pages
/// that changed (I2, Bouras 5).
///
/// Bouras prints the rule as `[fr_max + share * fr_max] / 2`. For its example (6 and 89%) that gives 5, but the paper
/// reports 3. The share of *unchanged* pages gives the reported result: `floor((6 + 0.11 * 6) / 2) = 3`. This function
/// uses the share of unchanged pages.
pub(crate) fn lowered(level: u32, share: f32) -> u32 {
    let level = f64::from(level);
    let unchanged = 1.0 - f64::from(share.clamp(0.0, 1.0));
    (f64::midpoint(level, unchanged * level) as u32).max(1)
}

/// The new level (`fr_max`) of a page after a visit. `history` already includes the visit. Changes are counted among
/// the last `window` visits. `first` is the level after the first visit, which cannot show a change yet.
pub(crate) fn level(history: &History, window: u32, first: u32) -> u8 {
    if history.visits <= 1 {
        return u8::try_from(first.max(1)).unwrap_or(u8::MAX);
    }
    let limit = window.clamp(1, 32);
    let x = history.visits.min(limit);
    let old = match history.level {
        0 => first.max(1),
        level => u32::from(level),
    };
    let seen = history.recent & (u32::MAX >> (32 - x.max(1)));
    u8::try_from(next_level(old, history.visits, limit, seen.count_ones())).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: u32, records: u32, limit: u32, changes: u32, expected: u32) {
        assert_eq!(next_level(old, records, limit, changes), expected);
    }

    #[test]
    fn worked_example_of_the_paper() {
        // Bouras 3.2: 45 records, fr_max 3 and 10 changes among the last 20 give 2.
        check(3, 45, 20, 10, 2);
    }

    #[test]
    fn real_life_scenario_of_the_paper() {
        // Bouras 5, Table 2: both pages start with 2. After ten crawls, 9 changes give 1, and 1 change gives 6.
        check(2, 10, 20, 9, 1);
        check(2, 10, 20, 1, 6);
        // 89% of the second page's inner pages have changed: 6 becomes 3.
        assert_eq!(lowered(6, 0.89), 3);
        assert_eq!(lowered(6, 0.0), 6);
        assert_eq!(lowered(1, 1.0), 1);
    }

    #[test]
    fn boundary_values() {
        check(2, 10, 20, 0, 6);
        check(1, 1, 20, 0, 1);
        check(1, 20, 20, 20, 1);
        check(0, 0, 20, 0, 1);
        check(5, 1000, 20, 20, 3);
        check(3, 20, 20, 8, 2); // (3 + 2.5) / 2 = 2.75, rounded down once
    }

    #[test]
    fn only_changes_in_the_window_count() {
        let mut history = History {
            visits: 45,
            level: 3,
            recent: 0xfff0_0000 | 0b11_0011_0011_0011_0011,
            ..History::default()
        };
        assert_eq!(history.recent.count_ones(), 22);
        assert_eq!(level(&history, 20, 2), 2);
        history.visits = 0;
        history.recent = 0;
        history.level = 0;
        assert_eq!(level(&history, 20, 2), 2);
    }

    /// Bouras, Table 1 and Table 2: a seed begins with the level 2. If it does not change, the level grows to 6 within
    /// ten crawls; if it changes every time, it falls to 1.
    #[test]
    fn the_first_level_is_kept_until_there_is_something_to_compare() {
        let levels = |changes: bool| {
            let mut history = History::default();
            let levels = (0..10).map(|number| {
                history.count(number * 86_400_000, changes && number > 0);
                history.level = level(&history, 20, 2);
                history.level
            });
            levels.collect::<Vec<_>>()
        };
        assert_eq!(levels(false), [2, 2, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(levels(true), [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}
