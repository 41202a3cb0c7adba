//! The number of pages without new text (barren pages) that a site may have before its visits are postponed (D5, D7;
//! Chakrabarti 2.3.6).
//!
//! This number is the allowance of the site. For a new site to which one other site links, it is a fifth of
//! `thresholds.trap_pages` (10 of 50). Each page with new text adds one page, and each further site that links to the
//! site adds a fifth. When the allowance is used up, the site is not blocked, because a large honest site may begin
//! with barren pages. Instead its next visit is postponed by a day, and the allowance is granted again. After each
//! further allowance, the wait is twice as long. If the barren pages reach the limit ([`max_stretch`]), the site may be
//! blocked, which [`novelty`](super::novelty) decides. The visits of a site with a seed are never postponed, because
//! the user has asked for the site.
//!
//! Everything here is a pure function of counters. `docs/decisions/0008-novelty.md` has the figures.

/// Each site that links to a site adds `thresholds.trap_pages` divided by this number to its allowance.
const LIMIT_SHARE: u32 = 5;
/// For each group of this many pages with new text, the limit for barren pages rises by one.
const PAGES_PER_ALLOWANCE: u32 = 2;
/// The first wait after the allowance is used up, in milliseconds: one day. Each further wait is twice as long.
const FIRST_WAIT_MS: i64 = 24 * 3600 * 1000;
/// The wait is doubled at most this number of times, up to 16 days.
const MAX_DOUBLINGS: u32 = 4;

/// The facts about a site that increase its allowance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credit {
    /// Whether a seed is on the site.
    pub(crate) is_seed: bool,
    /// Approximate number of independent sites that link to the site.
    pub(crate) sources: u32,
    /// Number of pages of the site with new text.
    pub(crate) fruitful: u32,
}

/// The number of barren pages after which a visit of the site is postponed; `None` if its visits are not postponed.
/// `limit` is `thresholds.trap_pages`.
pub(crate) fn allowance(limit: u32, credit: Credit) -> Option<u32> {
    let share = (limit / LIMIT_SHARE).max(1);
    let bought = share.saturating_mul(credit.sources.max(1));
    let allowance = bought.saturating_add(credit.fruitful);
    (!credit.is_seed && allowance < limit).then_some(allowance)
}

/// The number of barren pages at which a site with `fruitful` pages with new text may be blocked.
pub(crate) fn max_stretch(limit: u32, fruitful: u32) -> u32 {
    limit.saturating_add(fruitful / PAGES_PER_ALLOWANCE)
}

/// The wait in milliseconds after a page has raised a counter from `before` to `now`. `None` if the counter has not
/// reached a further multiple of the allowance.
pub(crate) fn wait(before: u32, now: u32, allowance: u32) -> Option<i64> {
    let times = now / allowance.max(1);
    let is_spent = times > before / allowance.max(1);
    is_spent.then(|| FIRST_WAIT_MS << (times - 1).min(MAX_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = FIRST_WAIT_MS;

    #[test]
    fn sites_earn_their_allowance() {
        let check = |limit, is_seed, sources, fruitful, expected| {
            let credit = Credit {
                is_seed,
                sources,
                fruitful,
            };
            assert_eq!(allowance(limit, credit), expected, "{limit} {credit:?}");
        };
        // A new site, known from one other site or from its own sitemap.
        check(50, false, 1, 0, Some(10));
        check(50, false, 0, 0, Some(10));
        // Each further site adds the same number again, and a page with new text adds one.
        check(50, false, 2, 0, Some(20));
        check(50, false, 4, 9, Some(49));
        check(50, false, 5, 0, None);
        check(50, false, 1, 20, Some(30));
        check(50, false, 1, 39, Some(49));
        check(50, false, 1, 40, None);
        check(50, true, 0, 0, None);
        // Unusual limits.
        check(1, false, 1, 0, None);
        check(3, false, 1, 0, Some(1));
        check(0, false, 1, 0, None);
        check(u32::MAX, false, u32::MAX, u32::MAX, None);
    }

    #[test]
    fn waits_double() {
        let check = |before, now, expected: Option<i64>| {
            assert_eq!(wait(before, now, 8), expected, "{before} to {now}");
        };
        check(0, 7, None);
        check(7, 8, Some(DAY));
        check(8, 9, None);
        check(15, 16, Some(2 * DAY));
        // A sampled page stands for several pages.
        check(5, 17, Some(2 * DAY));
        check(39, 40, Some(16 * DAY));
        check(79, 80, Some(16 * DAY));
        // A page with new text has lowered the counter.
        check(8, 0, None);
    }

    #[test]
    fn the_limit_grows_with_novel_pages() {
        assert_eq!(max_stretch(50, 0), 50);
        assert_eq!(max_stretch(50, 1001), 550);
        assert_eq!(max_stretch(u32::MAX, 9), u32::MAX);
    }

    proptest::proptest! {
        #[test]
        fn more_credit_never_buys_less(limit in 1..200_u32, sources in 0..9_u32, fruitful in 0..300_u32) {
            let bought = |sources, fruitful| {
                allowance(limit, Credit { is_seed: false, sources, fruitful }).unwrap_or(u32::MAX)
            };
            let now = bought(sources, fruitful);
            proptest::prop_assert!(now > 0);
            proptest::prop_assert!(bought(sources + 1, fruitful) >= now);
            proptest::prop_assert!(bought(sources, fruitful + 1) >= now);
        }
    }
}
