//! `frequency`: pages skip rounds as long as they do not change (I1; B 3.2 and the first half of B 5).
//!
//! B keeps two numbers with each page: `fr_max`, in which of so many rounds it is visited, and `fr`, the rounds still to
//! pass. Here only `fr_max` is kept, as the history's level: the round of the next visit is a function of time, so there
//! is nothing to count down and nothing to lose in a crash.

use crate::History;

/// B's new `fr_max`: with x the smaller of `records` and `limit`, and `changes` those among the last x,
/// `floor((old + b) / 2)` where b is x without a change and x / changes otherwise. Never below one round.
pub(crate) fn next_level(old: u32, records: u32, limit: u32, changes: u32) -> u32 {
    let x = u64::from(records.min(limit));
    let changes = u64::from(changes.max(1)); // no change and one change: b is x in both cases
    let sum = u64::from(old) * changes + x; // (old + x / changes) / 2, without rounding before the end
    u32::try_from(sum / (2 * changes))
        .unwrap_or(u32::MAX)
        .max(1)
}

/// `fr_max` of an entry page, lowered by what changes behind it (I2, B 5): `share` of the inner pages have changed.
///
/// B prints the rule as `[fr_max + share * fr_max] / 2`, which for its example (6 and 89%) is 5 and would hardly move
/// where all inner pages change; the outcome it tells, 3, and the purpose it gives follow from the share of pages that
/// have *not* changed: `floor((6 + 0.11 * 6) / 2) = 3`. That is what is done here.
pub(crate) fn lowered(level: u32, share: f32) -> u32 {
    let level = f64::from(level);
    let unchanged = 1.0 - f64::from(share.clamp(0.0, 1.0));
    (f64::midpoint(level, unchanged * level) as u32).max(1)
}

/// The level of a page after a visit that is already counted.
pub(crate) fn level(history: &History, window: u32, first: u32) -> u8 {
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
    fn the_worked_example() {
        // B 3.2: 45 records, max_fr 3, 10 changes among the last 20: every two days and not three.
        check(3, 45, 20, 10, 2);
    }

    #[test]
    fn the_real_life_scenario() {
        // B 5, Table 2: both pages began with 2; after ten crawls, 9 changes lead to 1 and 1 change to 6.
        check(2, 10, 20, 9, 1);
        check(2, 10, 20, 1, 6);
        // 89% of the second page's inner pages had changed: 6 becomes 3.
        assert_eq!(lowered(6, 0.89), 3);
        assert_eq!(lowered(6, 0.0), 6);
        assert_eq!(lowered(1, 1.0), 1);
    }

    #[test]
    fn the_edges() {
        check(2, 10, 20, 0, 6);
        check(1, 1, 20, 0, 1);
        check(1, 20, 20, 20, 1);
        check(0, 0, 20, 0, 1);
        check(5, 1000, 20, 20, 3);
        check(3, 20, 20, 8, 2); // (3 + 2.5) / 2 = 2.75: only the end is rounded
    }

    #[test]
    fn the_last_records_are_looked_at() {
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
        assert_eq!(level(&history, 20, 2), 1);
    }
}
