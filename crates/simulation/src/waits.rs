//! How long sites waited, from being due to being visited, and whether they had to (KLWF, F7).
//!
//! The histogram and what is remembered of the order have a fixed size. Who is due waits only while every slot is taken,
//! and only for those who were due before. Between its being due and its visit, then, others have so many turns,
//! each for a quantum at most and what is under way at its end; a wait that is longer is a site that starved.

use std::collections::VecDeque;
use std::time::Duration;

/// Steps to a doubling of the wait.
const STEPS: u32 = 4;
/// Steps in all: up to some years.
const BUCKETS: usize = 41 * STEPS as usize;
/// A release may be on its way to the disk for this long, with a due time that has passed: it is not in the queue yet. And
/// a check-out looks at so many sites only: when these all prove to have nothing new, the next call goes on.
const UNDERWAY_MS: i64 = 10_000;
/// Turns are counted in steps of this many milliseconds, and so many steps are remembered. What is counted too low makes
/// the bound stricter.
const STEP_MS: i64 = 10_000;
const REMEMBERED: usize = 1 << 15;

/// Waits counted by length, each step a fifth longer than the one before.
#[derive(Clone, Debug)]
pub struct Waits {
    counts: Vec<u64>,
    /// How many.
    pub count: u64,
    /// The longest, milliseconds.
    pub longest: i64,
    /// Sites handed out after one that had waited less.
    pub passed_over: u64,
    /// Sites that were due while check-outs had room left, and were not in them.
    pub left_out: u64,
    /// Waits longer than the turns of others explain.
    pub starved: u64,
    /// The largest part of its bound that a wait took.
    pub tightest: f64,
    /// Visits at once.
    slots: u64,
    /// The longest turn, milliseconds.
    turn_ms: i64,
    /// The last check-out that had no room for more: when, and the latest due time in it.
    full: (i64, i64),
    /// From when to when one check-out after the other had room for more, the last time.
    room: (i64, i64),
    /// Whether the last check-out had no room for more.
    is_full: bool,
    /// Turns begun up to a time, in all.
    turns: VecDeque<(i64, u64)>,
}

/// A site handed out.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Since when it waited, unix milliseconds.
    pub due: i64,
    /// A seed that was never visited comes first, whatever others have waited.
    pub is_first: bool,
}

impl Waits {
    /// For a crawl with so many visits at once, none of which takes longer than `turn` while others wait.
    pub fn new(slots: usize, turn: Duration) -> Waits {
        Waits {
            counts: vec![0; BUCKETS],
            count: 0,
            longest: 0,
            passed_over: 0,
            left_out: 0,
            starved: 0,
            tightest: 0.0,
            slots: slots.max(1) as u64,
            turn_ms: turn.as_millis() as i64,
            full: (0, 0),
            room: (0, 0),
            is_full: true,
            turns: VecDeque::with_capacity(REMEMBERED),
        }
    }

    /// Whether nobody was passed over, left out or starved.
    pub fn is_fair(&self) -> bool {
        (self.passed_over, self.left_out, self.starved) == (0, 0, 0)
    }

    /// Another process took over: what was on its way to the disk was lost, and is due again.
    pub(crate) fn begin(&mut self) {
        (self.full, self.room, self.is_full) = ((0, 0), (0, 0), true);
    }

    /// What a check-out with this much room brought.
    pub fn hand_out(&mut self, now: i64, room: usize, turns: &[Turn]) {
        for turn in turns {
            self.add(now - turn.due);
            self.hold(now, turn);
        }
        let others = turns.iter().filter(|turn| !turn.is_first);
        if turns.len() < room {
            let from = if self.is_full { now } else { self.room.0 };
            self.room = (from, now);
        } else if let Some(latest) = others.map(|turn| turn.due).max() {
            self.full = (now, latest);
        }
        self.is_full = turns.len() >= room;
        self.note(now, turns.len() as u64);
    }

    fn hold(&mut self, now: i64, turn: &Turn) {
        let (time, latest) = self.full;
        if !turn.is_first && turn.due < latest && turn.due <= time - UNDERWAY_MS {
            self.passed_over += 1;
        }
        let (from, to) = self.room;
        if to - from.max(turn.due) >= UNDERWAY_MS {
            self.left_out += 1;
        }
        let turns = self.turns_since(turn.due);
        let bound = self.turn_ms as f64 * (turns as f64 / self.slots as f64 + 1.0);
        let part = (now - turn.due) as f64 / bound;
        self.tightest = self.tightest.max(part);
        self.starved += u64::from(part > 1.0);
    }

    /// How many sites were handed out since then.
    fn turns_since(&self, due: i64) -> u64 {
        let after = self.turns.partition_point(|(time, _)| *time < due);
        let before = self.turns.get(after.saturating_sub(1));
        let all = self.turns.back().map_or(0, |(_, all)| *all);
        all - before.map_or(0, |(_, before)| *before).min(all)
    }

    fn note(&mut self, now: i64, turns: u64) {
        match self.turns.back_mut() {
            Some((time, all)) if now - *time < STEP_MS => *all += turns,
            last => {
                let all = last.map_or(0, |(_, all)| *all) + turns;
                if self.turns.len() == REMEMBERED {
                    self.turns.pop_front();
                }
                self.turns.push_back((now, all));
            }
        }
    }

    fn add(&mut self, ms: i64) {
        let ms = ms.max(0);
        self.counts[bucket(ms)] += 1;
        self.count += 1;
        self.longest = self.longest.max(ms);
    }

    /// What this share of the waits did not exceed, to a step of the histogram.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut sum = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= wanted.max(1) {
                return Duration::from_millis(limit(bucket).min(self.longest as u64));
            }
        }
        Duration::ZERO
    }

    /// Seconds, and the share of the waits that were no longer.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let mut sum = 0;
        let mut curve = Vec::new();
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if *count > 0 {
                let share = sum as f64 / self.count as f64;
                curve.push((limit(bucket) as f64 / 1000.0, share));
            }
        }
        curve
    }
}

fn bucket(ms: i64) -> usize {
    let steps = (ms as f64 + 1.0).log2() * f64::from(STEPS);
    (steps.ceil() as usize).min(BUCKETS - 1)
}

/// The longest wait of a bucket.
fn limit(bucket: usize) -> u64 {
    let ms = (bucket as f64 / f64::from(STEPS)).exp2() - 1.0;
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(due: i64) -> Turn {
        Turn {
            due,
            is_first: false,
        }
    }

    #[test]
    fn quantiles_are_within_a_step() {
        let mut waits = Waits::new(1, Duration::from_mins(1));
        for ms in 0..10_000 {
            waits.add(ms);
        }
        for (share, expected) in [(0.5, 5000.0), (0.9, 9000.0), (1.0, 9999.0)] {
            let found = waits.quantile(share).as_millis() as f64;
            assert!(
                (expected..expected * 1.2).contains(&found),
                "{share}: {found}"
            );
        }
        assert_eq!(waits.longest, 9999);
        assert!((waits.curve().last().expect("some").1 - 1.0).abs() < 1e-9);
    }

    /// Check-outs with room for two, a minute apart from the first on; then what was found wrong.
    fn check(check_outs: &[&[i64]], expected: [u64; 3]) {
        let mut waits = Waits::new(2, Duration::from_mins(2));
        for (minute, dues) in (1_i64..).zip(check_outs) {
            let turns: Vec<Turn> = dues.iter().map(|due| turn(*due)).collect();
            waits.hand_out(minute * 60_000, 2, &turns);
        }
        let found = [waits.passed_over, waits.left_out, waits.starved];
        assert_eq!(found, expected, "{check_outs:?}");
    }

    #[test]
    fn who_waits_longest_comes_first() {
        check(&[&[0, 1], &[2, 3], &[4, 5]], [0, 0, 0]);
        check(&[&[0, 20_000], &[10_000, 30_000]], [1, 0, 0]);
        // It may have been released after that.
        check(&[&[0, 59_000], &[58_000, 90_000]], [0, 0, 0]);
        // Room was left at two check-outs, a minute apart.
        check(&[&[1], &[2], &[50_000, 115_000]], [0, 1, 0]);
        check(&[&[1], &[2, 3], &[50_000, 115_000]], [0, 0, 0]);
    }

    #[test]
    fn a_wait_is_bounded_by_the_turns_of_others() {
        let mut waits = Waits::new(2, Duration::from_mins(1));
        for minute in 0..100 {
            waits.hand_out(minute * 60_000, 2, &[turn(0), turn(0)]);
        }
        assert_eq!(waits.starved, 0, "{}", waits.tightest);
        assert!(waits.tightest > 0.9, "{}", waits.tightest);
        waits.hand_out(102 * 60_000, 2, &[turn(0)]);
        assert_eq!(waits.starved, 1);
    }
}
