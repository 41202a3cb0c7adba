//! Whether the cost of reading grows with the length of the input and not with its square.
//!
//! Shared by the crates' tests through `#[path]`. Costs are the processor time of this thread, the least of several
//! runs, so that a busy machine does not count.

use std::time::Duration;

/// What twice the input may cost. A linear reader costs 2, a quadratic one 4.
const MOST: f64 = 2.5;
/// Inputs are grown until one run takes at least this long: below it the clock says little.
const LEAST: Duration = Duration::from_millis(4);
/// The longest input tried.
const LONGEST: usize = 64 << 20;
/// Whole comparisons before a ratio is believed.
const TRIES: u32 = 5;

/// Doubling what `make` makes (of about so many bytes) must cost `read` at most 2.5 times as much.
pub fn assert_linear<T>(name: &str, make: impl Fn(usize) -> T, mut read: impl FnMut(&T)) {
    let mut size = 16 << 10;
    let mut once = least(&make(size), &mut read);
    while once < LEAST && size < LONGEST {
        size *= 2;
        once = least(&make(size), &mut read);
    }
    let (single, double) = (make(size), make(size * 2));
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let once = least(&single, &mut read).max(Duration::from_micros(1));
        let twice = least(&double, &mut read);
        best = best.min(twice.as_secs_f64() / once.as_secs_f64());
        if best <= MOST {
            return;
        }
    }
    panic!("{name}: twice {size} bytes cost {best:.2} times as much");
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
