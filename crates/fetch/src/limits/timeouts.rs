//! The timeouts of one response (N5): first byte, idle time between reads, minimum speed, and the whole fetch.
//!
//! One timer serves all four limits. It is not reset at every read. When it expires, the limits are checked, and the
//! timer is set to the time at which the next limit could be exceeded. So a fast response sets the timer only once,
//! however many reads it takes.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use crate::{Options, clock::deadline_after};

/// Decides when a response is too late or too slow. Uses tokio's clock, which tests can pause.
#[derive(Debug)]
pub(crate) struct ResponseTimer<'a> {
    options: &'a Options,
    timer: Pin<Box<Sleep>>,
    /// Time limit of the whole fetch.
    deadline: Instant,
    /// The time at which bytes were last received. Before the first byte, the time at which the request was sent.
    last_activity: Instant,
    /// Whether any byte was received.
    begun: bool,
    window_start: Instant,
    /// Bytes received since `window_start`.
    window_bytes: u64,
}

impl<'a> ResponseTimer<'a> {
    /// Starts the wait for the first byte.
    pub(crate) fn new(options: &'a Options, deadline: Instant) -> ResponseTimer<'a> {
        let now = Instant::now();
        let first = deadline_after(now, options.first_byte_timeout).min(deadline);
        // Tokio registers the timer at its first poll. If the response arrives before that, the timer costs nothing.
        let timer = Box::pin(tokio::time::sleep_until(first));
        ResponseTimer {
            options,
            timer,
            deadline,
            last_activity: now,
            begun: false,
            window_start: now,
            window_bytes: 0,
        }
    }

    /// Moves all limits by `waited`, a time during which the crawler itself did not read.
    pub(crate) fn postpone(&mut self, waited: Duration) {
        self.deadline += waited;
        self.last_activity += waited;
        self.window_start += waited;
    }

    /// Counts received bytes. Returns false if a limit is exceeded.
    pub(crate) fn record_bytes(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        if !self.begun {
            self.begun = true;
            self.window_start = now;
        }
        self.last_activity = now;
        self.window_bytes += bytes as u64;
        now < self.deadline && !self.is_slow(now)
    }

    /// If `min_speed_window` has passed, returns whether the speed was below the minimum in that time, and starts the
    /// next measurement. Otherwise returns false.
    fn is_slow(&mut self, now: Instant) -> bool {
        let options = self.options;
        let elapsed = now.duration_since(self.window_start);
        if !self.checks_speed() || elapsed < options.min_speed_window {
            return false;
        }
        let min_bytes = options.min_speed as f64 * elapsed.as_secs_f64();
        let slow = (self.window_bytes as f64) < min_bytes;
        self.window_start = now;
        self.window_bytes = 0;
        slow
    }

    fn checks_speed(&self) -> bool {
        self.begun && self.options.min_speed > 0 && !self.options.min_speed_window.is_zero()
    }

    /// When the wait for the first or the next byte times out.
    fn idle_deadline(&self) -> Instant {
        let timeout = if self.begun {
            self.options.idle_timeout
        } else {
            self.options.first_byte_timeout
        };
        deadline_after(self.last_activity, timeout)
    }

    /// The earliest time at which a limit can be exceeded.
    fn next_check(&self) -> Instant {
        let next = self.idle_deadline().min(self.deadline);
        if self.checks_speed() {
            let window_end = deadline_after(self.window_start, self.options.min_speed_window);
            next.min(window_end)
        } else {
            next
        }
    }

    fn is_late(&mut self, now: Instant) -> bool {
        now >= self.deadline || now >= self.idle_deadline() || self.is_slow(now)
    }

    /// Ready when a limit is exceeded.
    pub(crate) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let next = self.next_check();
            if next < self.timer.deadline() {
                self.timer.as_mut().reset(next);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.is_late(Instant::now()) {
                return Poll::Ready(());
            }
            let next = self.next_check();
            self.timer.as_mut().reset(next);
        }
    }
}
