//! `optimal`: distributes a budget of requests over the pages so that important pages are fresh for as much of the time
//! as possible. A page is fresh while the stored copy is up to date.
//!
//! Let `r = rate * t` for a page that changes `rate` times a day and is visited every t days. Such a page is fresh for
//! the share (1 - e^-r) / r of the time (Cho and Garcia-Molina, "Effective page refresh policies", 2003). The goal is
//! the largest sum of importance times freshness under a fixed budget. It is reached when one more request a day would
//! gain the same for every page. This common gain is the *price*:
//!
//! ```text
//! importance / rate * (1 - (1 + r) e^-r) = price
//! ```
//!
//! Azar et al. (2018) solve this for all pages at once in O(n log n), with visits at random times. Kolobov et al.
//! (2019, `LambdaCrawl`) note that the price is the only quantity that the pages share. So each page can be planned
//! separately when the price is known. Visits here are at regular intervals, which gives more freshness for the same
//! budget. The price is computed from a [`Census`], a grid of page counts by rate and importance. It is updated as
//! pages move on the grid. The cost of an update does not depend on the number of pages. A page may change too often to
//! be kept fresh. Its visits gain less than the price, so it is visited at the longest interval.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use serde::{Deserialize, Serialize};

/// Rows of the grid: rates from 2^-13 to 2^11 changes a day, eight steps per octave.
const RATES: usize = 192;
const MIN_LOG2_RATE: f64 = -13.0;
const RATE_STEPS_PER_OCTAVE: f64 = 8.0;
/// Columns of the grid: importances from 2^-32 to 2^32, four steps per octave.
const WEIGHTS: usize = 256;
const MIN_LOG2_WEIGHT: f64 = -32.0;
const WEIGHT_STEPS_PER_OCTAVE: f64 = 4.0;

/// The best number of days between visits of a page that changes `rate` times a day, if one request a day costs
/// `price`. Infinite if every visit gains less than it costs.
pub fn best_interval(rate: f64, importance: f64, price: f64) -> f64 {
    let paid = price * rate / importance;
    if paid < 1.0 {
        inverse(paid) / rate
    } else {
        f64::INFINITY
    }
}

/// Solves 1 - (1 + r) e^-r = `share` for r, with Newton's method on r - ln(1 + r) = -ln(1 - share), which is convex.
fn inverse(share: f64) -> f64 {
    if share < 1e-9 {
        return (2.0 * share).sqrt();
    }
    let target = -(-share).ln_1p();
    let mut r = (2.0 * target).sqrt() + 0.8 * target;
    for _ in 0..3 {
        r -= (r - r.ln_1p() - target) * (1.0 + r) / r;
    }
    r
}

/// Page counts by rate of change and importance, stored across restarts. A lost census can be rebuilt from the
/// histories with [`Schedule::count_known`](crate::Schedule::count_known).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Census {
    /// Cells that are not empty, with their page counts.
    cells: Vec<(u16, u32)>,
}

impl Census {
    /// Number of pages counted.
    pub fn pages(&self) -> u64 {
        self.cells.iter().map(|(_, pages)| u64::from(*pages)).sum()
    }
}

/// The grid of page counts and the price computed from it. Shared by all visits.
#[derive(Debug)]
pub(crate) struct Market {
    /// Number of pages in each cell of the grid. Cell 0 is unused, because a page with cell 0 is not counted.
    counts: Box<[AtomicU32]>,
    /// Number of pages in each row of the grid; rows without pages are skipped.
    rows: Box<[AtomicU32]>,
    pages: AtomicU64,
    /// Number of moves of pages between cells since the price was computed.
    moved: AtomicU64,
    /// The price, as the bits of an f64.
    price: AtomicU64,
    /// Factor by which the longest interval is multiplied, as the bits of an f64. It is above 1 if the budget does not
    /// suffice to visit all pages at the longest interval.
    stretch: AtomicU64,
    /// Held while the price is computed. Other threads continue with the old price.
    searching: Mutex<()>,
    budget: f64,
    least: f64,
    most: f64,
}

impl Market {
    /// `budget` is in requests a day. `least` and `most` are the shortest and longest interval in days.
    pub(crate) fn new(budget: f64, least: f64, most: f64) -> Self {
        Market {
            counts: (0..=RATES * WEIGHTS).map(|_| AtomicU32::new(0)).collect(),
            rows: (0..RATES).map(|_| AtomicU32::new(0)).collect(),
            pages: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            price: AtomicU64::new(0f64.to_bits()),
            stretch: AtomicU64::new(1f64.to_bits()),
            searching: Mutex::new(()),
            budget: budget.max(1e-6),
            least,
            most: most.max(least),
        }
    }

    /// Days until the next visit. Moves the page from its old cell of the census to its new one.
    pub(crate) fn interval(&self, cell: &mut u16, rate: f64, importance: f32) -> f64 {
        let importance = if importance > 0.0 && importance.is_finite() {
            f64::from(importance)
        } else {
            MIN_LOG2_WEIGHT.exp2()
        };
        self.move_to(cell, cell_of(rate, importance));
        let most = self.most * f64::from_bits(self.stretch.load(Relaxed));
        best_interval(rate, importance, self.price()).clamp(self.least, most)
    }

    pub(crate) fn price(&self) -> f64 {
        f64::from_bits(self.price.load(Relaxed))
    }

    /// Removes a page that is gone from the census.
    pub(crate) fn leave(&self, cell: &mut u16) {
        if *cell != 0 {
            self.move_to(cell, 0);
        }
    }

    /// Restores the count of a cell after a restart: adds `pages` pages to `cell`.
    pub(crate) fn count_known(&self, cell: u16, pages: u32) {
        if (1..=RATES * WEIGHTS).contains(&usize::from(cell)) {
            self.add(cell, pages);
            self.on_move();
        }
    }

    fn add(&self, cell: u16, pages: u32) {
        self.counts[usize::from(cell)].fetch_add(pages, Relaxed);
        self.rows[row(cell)].fetch_add(pages, Relaxed);
        self.pages.fetch_add(u64::from(pages), Relaxed);
    }

    /// Removes a page from a cell. An empty cell stays empty. A page can refer to an empty cell, because counting
    /// starts again at zero when the census was lost.
    fn take(&self, cell: u16) {
        if !(1..=RATES * WEIGHTS).contains(&usize::from(cell)) {
            return;
        }
        let count = &self.counts[usize::from(cell)];
        let less = |count: u32| count.checked_sub(1);
        if count.fetch_update(Relaxed, Relaxed, less).is_ok() {
            self.rows[row(cell)].fetch_sub(1, Relaxed);
            self.pages.fetch_sub(1, Relaxed);
        }
    }

    fn move_to(&self, cell: &mut u16, new: u16) {
        let old = std::mem::replace(cell, new);
        if old == new {
            return;
        }
        self.take(old);
        if new != 0 {
            self.add(new, 1);
        }
        self.on_move();
    }

    /// Cells that are not empty, with their page counts.
    fn occupied(&self) -> impl Iterator<Item = (u16, u32)> {
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, pages)| pages.load(Relaxed) > 0)
            .flat_map(|(row, _)| 1 + row * WEIGHTS..=(row + 1) * WEIGHTS)
            .map(|cell| (cell as u16, self.counts[cell].load(Relaxed)))
            .filter(|(_, pages)| *pages > 0)
    }

    /// Counts a move. Recomputes the price when as many moves were counted as there are pages divided by 32. This
    /// number is limited to the range from 8 to 65,536.
    fn on_move(&self) {
        let due = (self.pages.load(Relaxed) / 32).clamp(8, 1 << 16);
        if self.moved.fetch_add(1, Relaxed) >= due
            && let Ok(_searching) = self.searching.try_lock()
        {
            self.moved.store(0, Relaxed);
            self.update_price();
        }
    }

    pub(crate) fn update_price(&self) {
        let cells: Vec<Cell> = self
            .occupied()
            .map(|(cell, pages)| Cell::new(cell, pages))
            .collect();
        let rarest = cells.iter().map(|cell| cell.pages).sum::<f64>() / self.most;
        let (price, stretch) = if rarest >= self.budget {
            (f64::MAX, rarest / self.budget)
        } else {
            (self.balance(&cells), 1.0)
        };
        self.price.store(price.to_bits(), Relaxed);
        self.stretch.store(stretch.to_bits(), Relaxed);
    }

    /// The price at which all pages together spend the budget; 0 if the budget suffices to visit every page at the
    /// shortest interval.
    fn balance(&self, cells: &[Cell]) -> f64 {
        let spent = |price: f64| -> f64 {
            let each = |cell: &Cell| {
                cell.pages
                    / best_interval(cell.rate, cell.weight, price).clamp(self.least, self.most)
            };
            cells.iter().map(each).sum()
        };
        if spent(0.0) <= self.budget {
            return 0.0;
        }
        let old = self.price();
        let (mut low, mut high) = if old > 0.0 && old < f64::MAX {
            (old / 1.1, old * 1.1)
        } else {
            (0.5, 2.0)
        };
        while spent(low) < self.budget && low > f64::MIN_POSITIVE {
            (low, high) = (low * low / high, low);
        }
        while spent(high) > self.budget && high < 1e300 {
            (low, high) = (high, high * high / low);
        }
        while high > low * 1.003 {
            let middle = low.sqrt() * high.sqrt();
            if spent(middle) > self.budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.sqrt() * high.sqrt()
    }

    pub(crate) fn census(&self) -> Census {
        Census {
            cells: self.occupied().collect(),
        }
    }

    pub(crate) fn restore(&self, census: &Census) {
        for (cell, pages) in &census.cells {
            self.count_known(*cell, *pages);
        }
        self.update_price();
    }
}

/// A cell of the grid that is not empty.
struct Cell {
    rate: f64,
    weight: f64,
    pages: f64,
}

impl Cell {
    fn new(cell: u16, pages: u32) -> Self {
        let middle =
            |index: usize, steps: f64, first: f64| (first + (index as f64 + 0.5) / steps).exp2();
        Cell {
            rate: middle(row(cell), RATE_STEPS_PER_OCTAVE, MIN_LOG2_RATE),
            weight: middle(
                usize::from(cell - 1) % WEIGHTS,
                WEIGHT_STEPS_PER_OCTAVE,
                MIN_LOG2_WEIGHT,
            ),
            pages: f64::from(pages),
        }
    }
}

/// The row of a cell. `cell` must not be 0.
fn row(cell: u16) -> usize {
    usize::from(cell - 1) / WEIGHTS
}

/// The cell of a rate and an importance. Values outside the grid go to the nearest cell.
fn cell_of(rate: f64, importance: f64) -> u16 {
    let step = |value: f64, steps: f64, first: f64, last: usize| {
        (((value.log2() - first) * steps).max(0.0) as usize).min(last - 1)
    };
    let rate = step(rate, RATE_STEPS_PER_OCTAVE, MIN_LOG2_RATE, RATES);
    let weight = step(
        importance,
        WEIGHT_STEPS_PER_OCTAVE,
        MIN_LOG2_WEIGHT,
        WEIGHTS,
    );
    (1 + rate * WEIGHTS + weight) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds;

    #[test]
    fn the_inverse_solves_its_equation() {
        for step in 1..2000 {
            let share = f64::from(step) / 2000.0;
            let r = inverse(share);
            assert!(
                (1.0 - (1.0 + r) * (-r).exp() - share).abs() < 1e-6,
                "{share}: {r}"
            );
        }
        for share in [1e-14, 1e-10, 1e-8, 1e-5, 0.999_999] {
            let r = inverse(share);
            // 1 - (1 + r) e^-r, without cancellation.
            let back = -(-r).exp_m1() - r * (-r).exp();
            assert!((back / share - 1.0).abs() < 1e-2, "{share}: {r} {back}");
        }
    }

    fn freshness(rate: f64, days: f64) -> f64 {
        -(-rate * days).exp_m1() / (rate * days)
    }

    #[test]
    fn no_transfer_of_budget_gains_freshness() {
        // At the optimum, nothing is gained by moving a part of the budget from one page to another.
        let pages = [(0.01, 1.0), (0.1, 1.0), (0.5, 3.0), (2.0, 10.0), (0.3, 0.2)];
        let price = 0.3;
        let value = |index: usize, requests: f64| {
            let (rate, importance): (f64, f64) = pages[index];
            importance * freshness(rate, 1.0 / requests)
        };
        let spent: Vec<f64> = pages
            .iter()
            .map(|&(rate, importance)| 1.0 / best_interval(rate, importance, price))
            .collect();
        for from in 0..pages.len() {
            for to in 0..pages.len() {
                let some = 0.01 * spent[from].min(0.1);
                if from == to || some == 0.0 {
                    continue;
                }
                let before = value(from, spent[from])
                    + if spent[to] > 0.0 {
                        value(to, spent[to])
                    } else {
                        0.0
                    };
                let after = value(from, spent[from] - some) + value(to, spent[to] + some);
                assert!(after <= before + 1e-12, "{from} to {to}: {before} {after}");
            }
        }
        assert!(
            best_interval(0.3, 0.05, price).is_infinite(),
            "a visit gains less than the price"
        );
    }

    /// The pages have rates and importances that span orders of magnitude. The requests must meet the budget within 5%.
    #[test]
    fn the_budget_is_spent() {
        for budget in [20.0, 1000.0] {
            let market = Market::new(budget, 1.0 / 24.0, 400.0);
            let mut cells = vec![0u16; 4000];
            let page = |key: usize| {
                let rate = (rounds::unit_hash(key as u64, 1) * 14.0 - 12.0).exp2();
                let weight = (rounds::unit_hash(key as u64, 2) * 8.0 - 4.0).exp2() as f32;
                (rate, weight)
            };
            for _ in 0..2 {
                for (key, cell) in cells.iter_mut().enumerate() {
                    let (rate, weight) = page(key);
                    market.interval(cell, rate, weight);
                }
            }
            let spent: f64 = cells
                .iter_mut()
                .enumerate()
                .map(|(key, cell)| {
                    let (rate, weight) = page(key);
                    1.0 / market.interval(cell, rate, weight)
                })
                .sum();
            assert!((spent / budget - 1.0).abs() < 0.05, "{budget}: {spent}");
            assert_eq!(market.census().pages(), 4000);

            let again = Market::new(budget, 1.0 / 24.0, 400.0);
            again.restore(&market.census());
            assert!((again.price() / market.price() - 1.0).abs() < 0.1);
            let recalled = Market::new(budget, 1.0 / 24.0, 400.0);
            for cell in &cells {
                recalled.count_known(*cell, 1);
            }
            assert_eq!(recalled.census(), market.census());
        }
    }

    #[test]
    fn a_small_budget_extends_the_longest_interval() {
        let market = Market::new(10.0, 1.0, 30.0);
        let mut cells = vec![0u16; 1000];
        let mut days = 0.0;
        for _ in 0..2 {
            for cell in &mut cells {
                days = market.interval(cell, 0.1, 1.0);
            }
        }
        assert!((days - 100.0).abs() < 15.0, "{days}");
        for cell in &mut cells {
            market.leave(cell);
        }
        assert_eq!(market.census(), Census::default());
    }

    #[test]
    fn invalid_importances_give_valid_intervals() {
        let market = Market::new(10.0, 1.0, 30.0);
        for importance in [
            0.0,
            -1.0,
            f32::NAN,
            f32::INFINITY,
            f32::MIN_POSITIVE,
            f32::MAX,
        ] {
            for rate in [1e-9, 1.0, 1e9] {
                let mut cell = 0;
                let days = market.interval(&mut cell, rate, importance);
                assert!((1.0..=30.0).contains(&days), "{importance} {rate}: {days}");
                assert!(cell > 0 && usize::from(cell) <= RATES * WEIGHTS);
            }
        }
    }
}
