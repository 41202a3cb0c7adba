//! The pool: sends documents to worker processes, and replaces the workers that die or take too long.
//!
//! A worker is started when a document finds no idle one, so a pool that is not used costs nothing. A worker reads many
//! documents; it is replaced when its memory has grown, so that no document fails because of the ones before it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::frame::{self, HEADER_BYTES};
use crate::{Kind, Limits, Outcome, Protection, Reading};

/// How long after the time limit a worker is killed. A reader that watches the time itself answers before.
const GRACE: Duration = Duration::from_millis(300);
/// Time limit for the start of a worker.
const START_TIME: Duration = Duration::from_secs(10);
/// Time limit for the end of a worker that has closed its output.
const END_TIME: Duration = Duration::from_millis(200);
/// A worker is replaced when its resident memory exceeds this share of the memory limit.
const MAX_KEPT_MEMORY: u64 = 8;
/// Maximum length of an answer. Readers keep their documents far below it.
const MAX_ANSWER: usize = 256 << 20;
/// Maximum length of the last words of a worker that are reported.
const MAX_LAST_WORDS: usize = 300;

/// Worker processes that read documents.
#[derive(Debug)]
pub struct Pool {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
    max_workers: usize,
    state: Mutex<State>,
    /// Signalled when a worker becomes idle or ends.
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    /// Workers that are idle or read.
    workers: usize,
    /// What the kernel lacks, until it was reported.
    missing: Vec<Protection>,
    /// Whether `missing` was set once.
    is_known: bool,
}

impl Pool {
    /// A pool of at most `workers` processes, each of them `program` with `arguments`, which must call
    /// [`run_worker`](crate::run_worker). No process is started yet.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        workers: usize,
        limits: Limits,
    ) -> Pool {
        Pool {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            limits,
            max_workers: workers.max(1),
            state: Mutex::default(),
            released: Condvar::new(),
        }
    }

    /// A pool whose workers are this program with other arguments. The file of the program may be replaced or deleted
    /// meanwhile.
    pub fn of_this_program(
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        workers: usize,
        limits: Limits,
    ) -> Pool {
        Pool::new("/proc/self/exe", arguments, workers, limits)
    }

    /// Reads a document. Blocks until a worker is free, and then at most one second longer than the time limit.
    pub fn read(&self, kind: Kind, body: &[u8]) -> Reading {
        let worker = match self.take_worker() {
            Ok(worker) => worker,
            Err(error) => {
                self.release(None);
                return Reading::failed(
                    Outcome::Crashed,
                    format!("the process that reads documents did not start: {error}"),
                );
            }
        };
        let mut worker = DiesUnlessReleased(Some(worker), self);
        let reading = worker.get().read(kind, body, self.limits.time);
        let is_usable = reading.is_ok() && !worker.get().has_grown(&self.limits);
        worker.release(is_usable);
        reading.unwrap_or_else(|reading| *reading)
    }

    /// The protections that the kernel lacks. Returns them once, after the first worker has started.
    pub fn take_missing_protections(&self) -> Vec<Protection> {
        std::mem::take(&mut self.state().missing)
    }

    /// Waits for a free place and returns an idle or new worker. After an error the place is still taken.
    fn take_worker(&self) -> io::Result<Worker> {
        let mut state = self.state();
        let worker = loop {
            if let Some(worker) = state.idle.pop() {
                break Some(worker);
            }
            if state.workers < self.max_workers {
                state.workers += 1;
                break None;
            }
            state = self
                .released
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        if let Some(mut worker) = worker {
            if worker.is_alive() {
                return Ok(worker);
            }
            worker.kill();
        }
        let (worker, missing) = Worker::start(&self.program, &self.arguments, &self.limits)?;
        let mut state = self.state();
        if !state.is_known {
            state.is_known = true;
            state.missing = missing;
        }
        Ok(worker)
    }

    /// Gives the place of a worker free. The worker stays, if there is one.
    fn release(&self, worker: Option<Worker>) {
        let mut state = self.state();
        match worker {
            Some(worker) => state.idle.push(worker),
            None => state.workers -= 1,
        }
        drop(state);
        self.released.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker that reads. It is killed if it is dropped without [`DiesUnlessReleased::release`].
struct DiesUnlessReleased<'a>(Option<Worker>, &'a Pool);

impl DiesUnlessReleased<'_> {
    fn get(&mut self) -> &mut Worker {
        self.0
            .as_mut()
            .expect("the worker is there until it is released")
    }

    fn release(mut self, keep: bool) {
        if keep {
            self.1.release(self.0.take());
        }
    }
}

impl Drop for DiesUnlessReleased<'_> {
    fn drop(&mut self) {
        if let Some(mut worker) = self.0.take() {
            worker.kill();
            self.1.release(None);
        }
    }
}

/// A process and its pipes, which do not block.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    errors: ChildStderr,
}

impl Worker {
    /// Starts a process and waits until it is confined.
    fn start(
        program: &PathBuf,
        arguments: &[OsString],
        limits: &Limits,
    ) -> io::Result<(Worker, Vec<Protection>)> {
        let mut child = Command::new(program)
            .args(arguments)
            // mimalloc reserves address space in steps of 1 GiB by default, more than the memory limit may allow.
            .env("MIMALLOC_ARENA_RESERVE", "64MiB")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let mut worker = Worker {
            child,
            input,
            output,
            errors,
        };
        let handshake = worker.shake_hands(limits);
        if handshake.is_err() {
            worker.kill();
        }
        Ok((worker, handshake?))
    }

    fn shake_hands(&mut self, limits: &Limits) -> io::Result<Vec<Protection>> {
        let pipes: [BorrowedFd<'_>; 3] =
            [self.input.as_fd(), self.output.as_fd(), self.errors.as_fd()];
        for pipe in pipes {
            let flags = rustix::fs::fcntl_getfl(pipe)?;
            rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        // Large documents pass with fewer context switches. The system may refuse the size.
        let _ = rustix::pipe::fcntl_setpipe_size(&self.input, 1 << 20);
        let limits = postcard::to_stdvec(limits).map_err(io::Error::other)?;
        let answer = self.exchange(frame::LIMITS, &limits, START_TIME);
        match answer {
            Ok((frame::READY, missing)) => postcard::from_bytes(&missing).map_err(io::Error::other),
            Ok(_) => Err(io::Error::other("the process gave another answer")),
            Err(Broken::TooSlow) => Err(io::ErrorKind::TimedOut.into()),
            Err(Broken::Ended) => {
                let status = self.end();
                let (words, status) = (self.last_words(), describe(status));
                Err(io::Error::other(
                    format!("{status} {words}").trim().to_owned(),
                ))
            }
        }
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Reads a document. After an error, the process must be replaced.
    fn read(&mut self, kind: Kind, body: &[u8], time: Duration) -> Result<Reading, Box<Reading>> {
        let failed = |outcome, detail: String| Box::new(Reading::failed(outcome, detail));
        match self.exchange(kind.number(), body, time + GRACE) {
            Ok((frame::ANSWER, answer)) => postcard::from_bytes(&answer).map_err(|_| {
                failed(
                    Outcome::Crashed,
                    "the answer of the reader is malformed".to_owned(),
                )
            }),
            Ok(_) => Err(failed(
                Outcome::Crashed,
                "the answer of the reader is malformed".to_owned(),
            )),
            Err(Broken::TooSlow) => {
                let time = aranha_units::duration::format(time);
                Err(failed(
                    Outcome::TooSlow,
                    format!("reading took longer than {time}"),
                ))
            }
            Err(Broken::Ended) => {
                let status = self.end();
                Err(Box::new(cause_of_death(status, &self.last_words())))
            }
        }
    }

    /// Sends a frame and receives the answer.
    fn exchange(
        &mut self,
        kind: u8,
        content: &[u8],
        time: Duration,
    ) -> Result<(u8, Vec<u8>), Broken> {
        let deadline = Instant::now() + time;
        let header = frame::header(kind, content.len()).ok_or(Broken::Ended)?;
        for mut part in [&header[..], content] {
            while !part.is_empty() {
                match self.input.write(part) {
                    Ok(length) => part = &part[length..],
                    Err(error) if is_transient(&error) => {
                        wait(self.input.as_fd(), PollFlags::OUT, deadline)?;
                    }
                    Err(_) => return Err(Broken::Ended),
                }
            }
        }
        let mut header = [0; HEADER_BYTES];
        self.receive(&mut header, deadline)?;
        let (kind, length) = frame::parse_header(header);
        if length > MAX_ANSWER {
            return Err(Broken::Ended);
        }
        let mut answer = vec![0; length];
        self.receive(&mut answer, deadline)?;
        Ok((kind, answer))
    }

    fn receive(&mut self, mut buffer: &mut [u8], deadline: Instant) -> Result<(), Broken> {
        while !buffer.is_empty() {
            match self.output.read(buffer) {
                Ok(0) => return Err(Broken::Ended),
                Ok(length) => buffer = &mut buffer[length..],
                Err(error) if is_transient(&error) => {
                    wait(self.output.as_fd(), PollFlags::IN, deadline)?;
                }
                Err(_) => return Err(Broken::Ended),
            }
        }
        Ok(())
    }

    /// Whether the process has so much memory that it should be replaced.
    fn has_grown(&self, limits: &Limits) -> bool {
        let sizes = fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        let pages: Option<u64> = sizes
            .ok()
            .and_then(|sizes| sizes.split(' ').nth(1)?.parse().ok());
        let bytes = pages.map_or(0, |pages| pages * rustix::param::page_size() as u64);
        bytes > limits.memory / MAX_KEPT_MEMORY
    }

    /// What the process wrote to stderr: the message of Rust's handler of stack overflows, for example.
    fn last_words(&mut self) -> String {
        let mut words = vec![0; MAX_LAST_WORDS];
        let length = self.errors.read(&mut words).unwrap_or_default();
        let text = String::from_utf8_lossy(&words[..length]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits for the end of a process that has closed its output. A process that goes on is killed.
    fn end(&mut self) -> Option<ExitStatus> {
        let handle = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        if let Ok(handle) = handle {
            let deadline = Instant::now() + END_TIME;
            let _ = wait(handle.as_fd(), PollFlags::IN, deadline);
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Why a frame was not answered.
#[derive(Debug)]
enum Broken {
    Ended,
    TooSlow,
}

/// Waits until a pipe is ready.
fn wait(pipe: BorrowedFd<'_>, flags: PollFlags, deadline: Instant) -> Result<(), Broken> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Broken::TooSlow);
    }
    let left = Timespec::try_from(left).map_err(|_| Broken::TooSlow)?;
    match poll(&mut [PollFd::from_borrowed_fd(pipe, flags)], Some(&left)) {
        Ok(0) => Err(Broken::TooSlow),
        // After an interruption the caller tries again.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(_) => Err(Broken::Ended),
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// The outcome of a document whose worker has died.
fn cause_of_death(status: Option<ExitStatus>, words: &str) -> Reading {
    if words.contains("memory allocation of") || words.contains("unable to allocate") {
        return Reading::failed(Outcome::TooLarge, "reading needs more memory than allowed");
    }
    let detail = if words.contains("overflowed its stack") {
        "the reader overflowed its stack".to_owned()
    } else if status.and_then(|status| status.signal()) == Some(libc::SIGSYS) {
        "the reader made a system call that is not allowed".to_owned()
    } else {
        format!("the process that reads documents {}", describe(status))
    };
    Reading::failed(Outcome::Crashed, detail)
}

fn describe(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("was ended by signal {signal}"),
        Some((_, Some(code))) => format!("ended with status {code}"),
        _ => "ended".to_owned(),
    }
}
