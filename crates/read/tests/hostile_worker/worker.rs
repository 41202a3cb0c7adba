//! A worker whose documents are instructions: read a file, open a socket, loop, fill the memory. Documents with other content
//! are read as usual.
//!
//! `--without NAME…` installs a filter first that makes the kernel look as if it lacked landlock or seccomp.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use aranha_read::{Kind, Limits, Outcome, Reading, run_worker_with};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

fn main() -> ExitCode {
    for protection in std::env::args()
        .skip_while(|word| word != "--without")
        .skip(1)
    {
        pretend_to_lack(&protection);
    }
    run_worker_with(obey)
}

/// Makes the system call of a protection fail as on a kernel that does not have it.
fn pretend_to_lack(protection: &str) {
    let call = match protection {
        "landlock" => libc::SYS_landlock_create_ruleset,
        "seccomp" => libc::SYS_seccomp,
        other => panic!("unknown protection {other}"),
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(call, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        TargetArch::try_from(std::env::consts::ARCH).expect("a supported architecture"),
    );
    let program: BpfProgram = filter
        .expect("valid rules")
        .try_into()
        .expect("valid filter");
    seccompiler::apply_filter(&program).expect("the kernel has seccomp");
}

fn obey(kind: Kind, body: &[u8], limits: &Limits) -> Reading {
    let text = String::from_utf8_lossy(body).into_owned();
    let (order, argument) = text.split_once(' ').unwrap_or((&text, ""));
    let result = match order {
        "open" => std::fs::read_to_string(argument).map_err(|error| error.to_string()),
        "write" => std::fs::write(argument, "x")
            .map(|()| "written".to_owned())
            .map_err(|error| error.to_string()),
        "mkdir" => std::fs::create_dir(argument)
            .map(|()| "made".to_owned())
            .map_err(|error| error.to_string()),
        "list" => std::fs::read_dir(argument)
            .map(|files| format!("{} files", files.count()))
            .map_err(|error| error.to_string()),
        "tcp" => TcpStream::connect(argument)
            .map(|_| "connected".to_owned())
            .map_err(|error| error.to_string()),
        "udp" => UdpSocket::bind("127.0.0.1:0")
            .map(|_| "bound".to_owned())
            .map_err(|error| error.to_string()),
        "unix" => UnixStream::connect(argument)
            .map(|_| "connected".to_owned())
            .map_err(|error| error.to_string()),
        "start" => Command::new(argument)
            .output()
            .map(|_| "started".to_owned())
            .map_err(|error| error.to_string()),
        "loop" => loop {
            std::hint::black_box(0);
        },
        "sleep" => loop {
            std::thread::park_timeout(Duration::from_mins(1));
        },
        "allocate" => {
            let bytes = argument.parse().expect("a number");
            let mut memory = vec![0_u8; bytes];
            for page in memory.chunks_mut(4096) {
                page[0] = 1;
            }
            std::hint::black_box(&memory);
            Ok("allocated".to_owned())
        }
        "overflow" => Ok(format!("depth {}", overflow(1))),
        "panic" => panic!("{argument}"),
        "exit" => std::process::exit(argument.parse().expect("a number")),
        "print" => {
            println!("{argument}");
            eprintln!("{argument}");
            let _ = std::io::stdout().flush();
            Ok("printed".to_owned())
        }
        "input" => {
            let mut byte = [0];
            let _ = std::io::stdin().lock().read(&mut byte);
            Ok("read".to_owned())
        }
        "thread" => {
            let thread = std::thread::spawn(|| "joined".to_owned());
            thread.join().map_err(|_| "panicked".to_owned())
        }
        _ => return aranha_read::read(kind, body, limits),
    };
    let (outcome, text) = match result {
        Ok(text) => (Outcome::Text, text),
        Err(error) => (Outcome::Damaged, error),
    };
    let mut reading = aranha_read::read(Kind::Rtf, b"{\\rtf1}", limits);
    reading.outcome = outcome;
    reading.detail.clone_from(&text);
    reading.document.text = text;
    reading
}

/// Recurses until the stack overflows.
fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if frame[0] == u64::MAX {
        return depth;
    }
    overflow(depth + 1) + frame[1]
}
