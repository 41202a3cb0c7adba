//! The clock of one answer (N5): first byte, silence between bytes, lowest speed, and the whole fetch.
//!
//! One timer serves all four limits. It is not moved at every read: when it fires, the limits are looked at again,
//! and it is set to the next of them. A fast answer costs one timer, whatever the number of reads.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep};

use crate::{Options, clock::after};

/// When an answer is too late or too slow. Times are tokio's, so that a paused clock works.
#[derive(Debug)]
pub(crate) struct Pace<'a> {
    options: &'a Options,
    timer: Pin<Box<Sleep>>,
    /// End of the whole fetch.
    deadline: Instant,
    /// When bytes last came, or the request was sent.
    last: Instant,
    /// Some byte came.
    begun: bool,
    /// Start of the speed window, and bytes since then.
    window: Instant,
    bytes: u64,
}

impl<'a> Pace<'a> {
    /// Starts to wait for the first byte.
    pub(crate) fn new(options: &'a Options, deadline: Instant) -> Pace<'a> {
        let now = Instant::now();
        let first = after(now, options.first_byte_timeout).min(deadline);
        // A timer that is never polled, because the answer is there at once, is never registered either.
        let timer = Box::pin(tokio::time::sleep_until(first));
        Pace {
            options,
            timer,
            deadline,
            last: now,
            begun: false,
            window: now,
            bytes: 0,
        }
    }

    /// Bytes came; false when they come too slowly to go on.
    pub(crate) fn received(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        if !self.begun {
            self.begun = true;
            self.window = now;
        }
        self.last = now;
        self.bytes += bytes as u64;
        now < self.deadline && !self.is_slow(now)
    }

    /// Whether the last full window was below the lowest speed; begins a new window when it was not.
    fn is_slow(&mut self, now: Instant) -> bool {
        let options = self.options;
        if !self.watches_speed() || now.duration_since(self.window) < options.min_speed_window {
            return false;
        }
        let least = options.min_speed as f64 * now.duration_since(self.window).as_secs_f64();
        let slow = (self.bytes as f64) < least;
        self.window = now;
        self.bytes = 0;
        slow
    }

    fn watches_speed(&self) -> bool {
        self.begun && self.options.min_speed > 0 && !self.options.min_speed_window.is_zero()
    }

    /// When the silence has lasted too long.
    fn silence_end(&self) -> Instant {
        let most = if self.begun {
            self.options.idle_timeout
        } else {
            self.options.first_byte_timeout
        };
        after(self.last, most)
    }

    /// The nearest limit.
    fn next(&self) -> Instant {
        let next = self.silence_end().min(self.deadline);
        if self.watches_speed() {
            next.min(after(self.window, self.options.min_speed_window))
        } else {
            next
        }
    }

    fn is_late(&mut self, now: Instant) -> bool {
        now >= self.deadline || now >= self.silence_end() || self.is_slow(now)
    }

    /// Ready when a limit has passed.
    pub(crate) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let next = self.next();
            if next < self.timer.deadline() {
                self.timer.as_mut().reset(next);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.is_late(Instant::now()) {
                return Poll::Ready(());
            }
            let next = self.next();
            self.timer.as_mut().reset(next);
        }
    }
}
