//! Whether the cost of reading grows with the length of the input and not with its square.
//!
//! Shared by the crates' tests through `#[path]`. Costs are the processor time of this thread, the least of several
//! runs, so that a busy machine does not count.

use std::time::Duration;

/// The longer input, by the shorter one. Not twice: an input that just fits a cache and one that just does not would do.
const LONGER: usize = 4;
/// What it may cost: 2.5 times as much for every doubling. A linear reader costs 4, a quadratic one 16.
const MOST: f64 = 6.25;
/// Inputs are grown until one run takes at least this long: below it the clock says little.
const LEAST: Duration = Duration::from_millis(2);
/// The longest input tried.
const LONGEST: usize = 64 << 20;
/// Whole comparisons before a ratio is believed.
const TRIES: u32 = 5;

/// What `make` makes (of about so many bytes), four times as long, must cost `read` at most [`MOST`] times as much. Where it costs more,
/// four times as long once more decides: who leaves a cache, or what the allocator keeps, does so once; who reads in quadratic
/// time does so at every length.
pub fn assert_linear<T>(name: &str, make: impl Fn(usize) -> T, mut read: impl FnMut(&T)) {
    let mut size = 16 << 10;
    let mut once = least(&make(size), &mut read);
    while once < LEAST && size < LONGEST {
        size *= 2;
        once = least(&make(size), &mut read);
    }
    let first = growth(&make, size, &mut read);
    if first <= MOST {
        return;
    }
    let second = growth(&make, size * LONGER, &mut read);
    assert!(
        second <= MOST,
        "{name}: {LONGER} times {size} bytes cost {first:.2} times as much, and {LONGER} times that {second:.2} times"
    );
}

/// What an input costs that is four times as long, by one of this length.
fn growth<T>(make: &impl Fn(usize) -> T, size: usize, read: &mut impl FnMut(&T)) -> f64 {
    let (short, long) = (make(size), make(size * LONGER));
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let once = least(&short, read).max(Duration::from_micros(1));
        let more = least(&long, read);
        best = best.min(more.as_secs_f64() / once.as_secs_f64());
        if best <= MOST {
            break;
        }
    }
    best
}

fn least<T>(input: &T, read: &mut impl FnMut(&T)) -> Duration {
    (0..3)
        .map(|_| {
            let before = thread_time();
            read(input);
            thread_time().saturating_sub(before)
        })
        .min()
        .unwrap_or_default()
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
