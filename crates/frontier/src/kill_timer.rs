//! A timer of the kernel that ends this process.
//!
//! A process that is stopped (`SIGSTOP`, a frozen control group) does not notice that time passes. When it is
//! continued, the next instruction can be the one that sends a request. The kernel delivers the `SIGKILL` of this timer
//! before that instruction. No library of the project has such timers, so this file calls libc.

use std::io;

/// A timer on `CLOCK_BOOTTIME`, which runs while the machine sleeps.
#[derive(Debug)]
pub(crate) struct KillTimer(libc::timer_t);

#[expect(
    unsafe_code,
    reason = "the id of a timer is a number of the process, and every thread may use it"
)]
unsafe impl Send for KillTimer {}

impl KillTimer {
    /// A timer that is not set.
    pub(crate) fn new() -> io::Result<KillTimer> {
        let mut id: libc::timer_t = std::ptr::null_mut();
        #[expect(
            unsafe_code,
            reason = "all fields of a zeroed sigevent are valid, and both pointers outlive the call"
        )]
        let result = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGKILL;
            libc::timer_create(libc::CLOCK_BOOTTIME, &raw mut event, &raw mut id)
        };
        if result == 0 {
            return Ok(KillTimer(id));
        }
        Err(io::Error::last_os_error())
    }

    /// End the process at `time`, in milliseconds since the machine was started. A time in the past ends it now.
    pub(crate) fn set(&self, time: i64) -> io::Result<()> {
        // Zero would clear the timer.
        let time = time.max(1);
        self.set_time(time / 1000, time % 1000 * 1_000_000)
    }

    /// Do not end the process.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.set_time(0, 0)
    }

    fn set_time(&self, tv_sec: i64, tv_nsec: i64) -> io::Result<()> {
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let time = libc::itimerspec {
            it_interval: zero,
            it_value: libc::timespec { tv_sec, tv_nsec },
        };
        #[expect(
            unsafe_code,
            reason = "the timer exists until it is dropped, and the time outlives the call"
        )]
        let result = unsafe {
            libc::timer_settime(
                self.0,
                libc::TIMER_ABSTIME,
                &raw const time,
                std::ptr::null_mut(),
            )
        };
        if result == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}

impl Drop for KillTimer {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the timer exists, and is not used again")]
        // An error would mean that the timer does not exist.
        let _ = unsafe { libc::timer_delete(self.0) };
    }
}
