//! Asserts that processing time is linear in the length of the input.
//!
//! Included by the tests of several crates through `#[path]`. Measures the processor time of the thread and takes the
//! minimum of several rounds, so that other load on the machine does not matter.

use std::time::Duration;

/// Ratio of the two input lengths that are compared.
const LENGTH_RATIO: usize = 4;
/// Maximum ratio of their times: 2.5 for every doubling. Linear time gives 4, quadratic time 16.
const MAX_TIME_RATIO: f64 = 6.25;
/// Inputs are doubled until one call takes at least this long. The clock is too coarse for less.
const MIN_MEASURED_TIME: Duration = Duration::from_millis(2);
/// Maximum input length in bytes.
const MAX_INPUT_LENGTH: usize = 64 << 20;
/// Attempts before a ratio above the maximum is accepted as real.
const MAX_ATTEMPTS: u32 = 5;

/// Asserts that `read` takes at most [`MAX_TIME_RATIO`] times as long for an input of four times the length.
///
/// `make` builds an input of about the given number of bytes. If the first comparison fails, a second one with inputs of
/// four times the length decides. Leaving a cache raises the ratio at one length only; quadratic time does so at every
/// length.
pub fn assert_linear<T>(name: &str, make: impl Fn(usize) -> T, mut read: impl FnMut(&T)) {
    let mut size = 16 << 10;
    let mut once = min_time(&make(size), &mut read);
    while once < MIN_MEASURED_TIME && size < MAX_INPUT_LENGTH {
        size *= 2;
        once = min_time(&make(size), &mut read);
    }
    let first = time_ratio(&make, size, &mut read);
    if first <= MAX_TIME_RATIO {
        return;
    }
    let second = time_ratio(&make, size * LENGTH_RATIO, &mut read);
    assert!(
        second <= MAX_TIME_RATIO,
        "{name}: {LENGTH_RATIO} times {size} bytes took {first:.2} times as long, and {LENGTH_RATIO} times that {second:.2} times"
    );
}

/// Ratio of the time for an input of four times `size` to that for `size`.
fn time_ratio<T>(make: &impl Fn(usize) -> T, size: usize, read: &mut impl FnMut(&T)) -> f64 {
    let (short, long) = (make(size), make(size * LENGTH_RATIO));
    let mut best = f64::INFINITY;
    for _ in 0..MAX_ATTEMPTS {
        let once = min_time(&short, read).max(Duration::from_micros(1));
        let more = min_time(&long, read);
        best = best.min(more.as_secs_f64() / once.as_secs_f64());
        if best <= MAX_TIME_RATIO {
            break;
        }
    }
    best
}

fn min_time<T>(input: &T, read: &mut impl FnMut(&T)) -> Duration {
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
