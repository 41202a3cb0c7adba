//! The worker: a process that confines itself, and then reads one document after another.
//!
//! It is started by a [`Pool`](crate::Pool) and talks to it through stdin and stdout (`frame`). The main thread
//! exchanges frames and watches the time. Another thread, with a large stack, reads the documents. A worker ends itself
//! shortly after the time limit of a document, so that it does not survive a pool that was killed.

use std::any::Any;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::document::Fault;
use crate::{Document, Kind, Limits, Reading, frame, jail};

/// Stack of the thread that reads. Deeply nested documents need more than the usual 2 MiB.
const STACK_BYTES: usize = 64 << 20;
/// How long after the time limit of a document the worker ends itself. The pool kills it earlier.
const SELF_DESTRUCTION: Duration = Duration::from_millis(800);

/// Reads documents from stdin and answers to stdout until stdin is closed. Call it before the process has started
/// other threads, because only the calling thread is confined.
pub fn run() -> ExitCode {
    run_with(crate::read)
}

/// Like [`run`], with another reader.
pub fn run_with(read: fn(Kind, &[u8], &Limits) -> Reading) -> ExitCode {
    // A panic is reported as an outcome.
    std::panic::set_hook(Box::new(|_| {}));
    match serve(read) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(read: fn(Kind, &[u8], &Limits) -> Reading) -> io::Result<()> {
    let mut output = take_stdout()?;
    let mut input = BufReader::with_capacity(64 << 10, io::stdin());
    let Some((frame::LIMITS, limits)) = frame::read(&mut input)? else {
        return Err(invalid("the first frame has no limits"));
    };
    let limits: Limits = postcard::from_bytes(&limits).map_err(invalid)?;
    let time = limits.time;
    let missing = jail::confine(limits.memory);
    let (documents, received) = sync_channel(1);
    let (answers, answered) = sync_channel(1);
    thread::Builder::new()
        .name("reader".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || read_documents(read, &limits, &received, &answers))?;
    let missing = postcard::to_stdvec(&missing).map_err(invalid)?;
    frame::write(&mut output, frame::READY, &missing)?;
    while let Some((kind, body)) = frame::read(&mut input)? {
        let kind = Kind::from_number(kind).ok_or_else(|| invalid("unknown kind"))?;
        if documents.send((kind, body)).is_err() {
            break;
        }
        match answered.recv_timeout(time + SELF_DESTRUCTION) {
            Ok(answer) => frame::write(&mut output, frame::ANSWER, &answer)?,
            // The process ends with its threads.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

/// The loop of the thread that reads. Every document gets an answer, also after a panic.
fn read_documents(
    read: fn(Kind, &[u8], &Limits) -> Reading,
    limits: &Limits,
    documents: &Receiver<(Kind, Vec<u8>)>,
    answers: &SyncSender<Vec<u8>>,
) {
    for (kind, body) in documents {
        let reading = catch_unwind(AssertUnwindSafe(|| read(kind, &body, limits)))
            .unwrap_or_else(|panic| panicked(&*panic));
        let answer = postcard::to_stdvec(&reading)
            .expect("strings and numbers can be serialised into memory");
        if answers.send(answer).is_err() {
            return;
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Reading {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Reading::of(Err::<Document, _>(Fault::Panicked(format!(
        "the reader panicked: {message}"
    ))))
}

/// Returns stdout, and directs later output to stdout to stderr: a library that prints would damage the frames.
fn take_stdout() -> io::Result<File> {
    let output: OwnedFd = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    Ok(File::from(output))
}

fn invalid(reason: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
