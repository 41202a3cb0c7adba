//! The fence: stops the requests of a node in a crawl on many machines when the node's deadline has passed.
//!
//! A node that does not renew its registration is declared dead, and other nodes then visit its sites. By then, its
//! last request must have ended. So a node stops in three steps, at least an eighth of the time to live apart:
//! 1. From [`Term::deadline`] on it sends no request, and it aborts its requests under way ([`Fence::enter`],
//!    [`Fence::close`]).
//! 2. An eighth of the time to live later a timer of the kernel ends the process, unless [`Fence::close`] has found
//!    that no request is under way, and has cleared the timer.
//!    So a process that was stopped sends nothing when it continues.
//! 3. At its expiry on the clock of the database, other nodes may declare it dead.
//!
//! The deadline is counted from a time before the node asked for the renewal. It is on `CLOCK_BOOTTIME`, which also
//! runs while the machine sleeps. So it does not depend on the clocks of other machines. In a simulation the fence
//! follows tokio's paused clock, and there is no timer.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Notify, watch};

use crate::kill_timer::KillTimer;

/// The deadline is a quarter of the time to live before the expiry, and the timer an eighth.
const DEADLINE_MARGIN: u32 = 4;
const TIMER_MARGIN: u32 = 8;

/// Milliseconds since the machine was started, including the time in which it slept.
pub fn boot_time() -> i64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// The clock of a fence.
#[derive(Clone, Copy, Debug)]
enum FenceClock {
    /// [`boot_time`].
    Machine,
    /// Milliseconds since this instant of tokio's clock, which a simulation sets.
    Simulated(tokio::time::Instant),
}

/// The right of a node to send requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Term {
    /// Number of the node. It changes when the node was declared dead and has registered again.
    pub node: u64,
    /// The time until which requests may be sent, on the clock of the fence.
    pub deadline: i64,
}

/// Whether a node may send requests.
#[derive(Debug)]
pub struct Fence {
    clock: FenceClock,
    term: watch::Sender<Term>,
    /// Requests that have passed the fence and have not ended.
    under_way: AtomicUsize,
    /// Notified when no request is under way any more.
    idle: Notify,
    /// `None` until [`Fence::guard_process`] is called.
    timer: Mutex<Option<KillTimer>>,
}

/// A request under way. Dropping it ends the request.
#[derive(Debug)]
pub struct Pass<'a>(&'a Fence);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, SeqCst) == 1 {
            self.0.idle.notify_one();
        }
    }
}

impl Fence {
    pub(crate) fn new() -> Fence {
        Fence::with_clock(FenceClock::Machine)
    }

    /// A fence on tokio's clock. Call this within a runtime whose clock is paused.
    pub(crate) fn simulated() -> Fence {
        Fence::with_clock(FenceClock::Simulated(tokio::time::Instant::now()))
    }

    fn with_clock(clock: FenceClock) -> Fence {
        Fence {
            clock,
            term: watch::Sender::new(Term::default()),
            under_way: AtomicUsize::new(0),
            idle: Notify::new(),
            timer: Mutex::new(None),
        }
    }

    /// The time on the clock of the fence, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        match self.clock {
            FenceClock::Machine => boot_time(),
            FenceClock::Simulated(start) => start.elapsed().as_millis() as i64,
        }
    }

    /// Time from now to the deadline of a term; zero if it has passed.
    pub fn remaining(&self, term: Term) -> Duration {
        Duration::from_millis(term.deadline.saturating_sub(self.now()).max(0) as u64)
    }

    /// From now on, end this process if it is stopped until after its deadline. Call this before the first request. In a
    /// simulation this does nothing.
    pub fn guard_process(&self) -> io::Result<()> {
        if matches!(self.clock, FenceClock::Simulated(_)) {
            return Ok(());
        }
        let timer = KillTimer::new()?;
        *self.timer.lock().unwrap_or_else(PoisonError::into_inner) = Some(timer);
        Ok(())
    }

    /// The current term.
    pub fn term(&self) -> Term {
        *self.term.borrow()
    }

    /// Notified when the term changes.
    pub fn watch(&self) -> watch::Receiver<Term> {
        self.term.subscribe()
    }

    /// Begin a request of a visit whose lease belongs to the node with this number. If the current term belongs to
    /// another number or is over, returns that term as `Err`.
    pub fn enter(&self, node: u64) -> Result<Pass<'_>, Term> {
        // The order matters, because `close` checks the time first, and then whether a request is under way.
        self.under_way.fetch_add(1, SeqCst);
        let pass = Pass(self);
        let term = self.term();
        if term.node == node && self.now() < term.deadline {
            return Ok(pass);
        }
        Err(term)
    }

    /// Call this after the deadline, when requests were aborted. If no request is under way, this clears the timer, so
    /// that the process is not ended. Returns false if a request is under way.
    pub fn close(&self) -> io::Result<bool> {
        let timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        // A renewal may have arrived meanwhile. It takes the same lock.
        if self.now() < self.term().deadline {
            return Ok(true);
        }
        if self.under_way.load(SeqCst) > 0 {
            return Ok(false);
        }
        if let Some(timer) = &*timer {
            timer.clear()?;
        }
        Ok(true)
    }

    /// Waits for a moment at which no request is under way. Returns at once if there was such a moment since the last
    /// wait. At most one caller may wait at a time.
    pub async fn idle(&self) {
        self.idle.notified().await;
    }

    /// Record that the node was registered or renewed. `asked` is a time before the request to the database.
    pub(crate) fn renew(&self, node: u64, asked: i64, ttl: Duration) -> io::Result<()> {
        let until = |margin: u32| asked + ttl.saturating_sub(ttl / margin).as_millis() as i64;
        let timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        if until(DEADLINE_MARGIN) <= self.now() {
            return Ok(());
        }
        if let Some(timer) = &*timer {
            // If this process was stopped after the comparison, the timer ends the process, which is safe.
            timer.set(until(TIMER_MARGIN))?;
        }
        self.term.send_replace(Term {
            node,
            deadline: until(DEADLINE_MARGIN),
        });
        Ok(())
    }

    /// Record that the node has left the crawl. It sends nothing any more.
    pub(crate) fn end(&self) {
        self.term.send_replace(Term::default());
        *self.timer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, Signal, getpid, kill_process};

    use super::*;

    #[test]
    fn requests_pass_until_the_deadline_of_their_node() {
        let fence = Fence::new();
        fence.enter(0).expect_err("not registered");
        let minute = Duration::from_mins(1);
        fence.renew(7, boot_time(), minute).expect("renews");
        let pass = fence.enter(7).expect("in time");
        assert_eq!(fence.enter(6).expect_err("another node").node, 7);
        // Three quarters of the time to live.
        let remaining = fence.remaining(fence.term());
        assert!(remaining <= minute * 3 / 4 && remaining > minute / 2);
        assert_eq!(fence.under_way.load(SeqCst), 1);
        drop(pass);
        assert_eq!(fence.under_way.load(SeqCst), 0);
    }

    /// If the process was stopped, the answer to a renewal can arrive after the granted time has passed.
    #[test]
    fn a_renewal_that_is_too_old_grants_nothing() {
        let fence = Fence::new();
        let ttl = Duration::from_secs(8);
        fence.renew(7, boot_time() - 6001, ttl).expect("ignored");
        fence.enter(7).expect_err("the deadline has passed");
        fence.renew(7, boot_time() - 3000, ttl).expect("renews");
        fence.enter(7).expect("in time");
    }

    #[test]
    fn the_timer_is_cleared_when_no_request_is_under_way() {
        let fence = Fence::new();
        fence.guard_process().expect("creates a timer");
        let ttl = Duration::from_secs(8);
        fence.renew(7, boot_time() - 5800, ttl).expect("renews");
        let pass = fence.enter(7).expect("in time");
        std::thread::sleep(fence.remaining(fence.term()) + Duration::from_millis(1));
        assert!(!fence.close().expect("looks"), "a request is under way");
        drop(pass);
        assert!(fence.close().expect("clears"));
        // If the timer were still set, it would end the tests now.
        std::thread::sleep(Duration::from_millis(1100));
    }

    #[test]
    fn a_process_that_is_stopped_past_its_deadline_is_ended() {
        const CHILD: &str = "ARANHA_TEST_STOPPED_PROCESS";
        if std::env::var_os(CHILD).is_some() {
            let fence = Fence::new();
            fence.guard_process().expect("creates a timer");
            let ttl = Duration::from_secs(8);
            fence.renew(7, boot_time() - 5500, ttl).expect("renews");
            let pass = fence.enter(7);
            println!("before: {}", pass.is_ok());
            kill_process(getpid(), Signal::STOP).expect("stops");
            // If another thread takes the signal, this thread is stopped a little later.
            std::thread::sleep(Duration::from_millis(300));
            println!("after");
            return;
        }
        let mut child = Command::new(std::env::current_exe().expect("a path"))
            .args(["--nocapture", "--exact"])
            .arg("fence::tests::a_process_that_is_stopped_past_its_deadline_is_ended")
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let pid = Pid::from_child(&child);
        // Without a timer the child would stay stopped. The parent continues it after the time of the timer.
        for _ in 0..50 {
            if child.try_wait().expect("asks").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = kill_process(pid, Signal::CONT);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.signal(), Some(Signal::KILL.as_raw()));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains("before: true") && !text.contains("after"),
            "{text}"
        );
    }
}
