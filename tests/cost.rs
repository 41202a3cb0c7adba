//! Whether the cost of reading grows with the length of the input and not with its square.
//!
//! Shared by the crates' tests through `#[path]`. Costs are the processor time of this thread, the least of several
//! runs, so that a busy machine does not count.

use std::time::Duration;

/// The longer input, by the shorter one. Not twice: an input that just fits a cache and one that just does not would do.
const LONGER: usize = 4;
/// What it may cost: 2.5 times as much for every doubling. A linear reader costs 4, a quadratic one 16.
const MOST: f64 = 6.25;
/// What is timed takes at least this long: below it the clock says little. Inputs are grown for it, then read several times.
const LEAST: Duration = Duration::from_millis(2);
/// The longest input that is grown to: four times as much is still near the processor. Of megabytes the memory's speed is measured, which
/// others share, and of 32 MiB how fast the system clears what the allocator takes anew every time.
const LONGEST: usize = 256 << 10;
/// Whole comparisons before a ratio is believed.
const TRIES: u32 = 5;

/// What `make` makes (of about so many bytes), four times as long, must cost `read` at most [`MOST`] times as much.
pub fn assert_linear<T>(name: &str, make: impl Fn(usize) -> T, mut read: impl FnMut(&T)) {
    let mut size = 16 << 10;
    let mut once = least(&make(size), 1, &mut read);
    while once < LEAST && size < LONGEST {
        size *= 2;
        once = least(&make(size), 1, &mut read);
    }
    let times = LEAST
        .div_duration_f64(once.max(Duration::from_micros(1)))
        .ceil() as u32;
    let (short, long) = (make(size), make(size * LONGER));
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let once = least(&short, times, &mut read).max(Duration::from_micros(1));
        let more = least(&long, times, &mut read);
        best = best.min(more.as_secs_f64() / once.as_secs_f64());
        if best <= MOST {
            return;
        }
    }
    panic!("{name}: {LONGER} times {size} bytes cost {best:.2} times as much");
}

/// What it takes to read an input so many times.
fn least<T>(input: &T, times: u32, read: &mut impl FnMut(&T)) -> Duration {
    (0..3)
        .map(|_| {
            let before = thread_time();
            for _ in 0..times {
                read(input);
            }
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
