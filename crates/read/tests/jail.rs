//! What a reader cannot do, and what it costs: an attack gets an error or ends the process, a loop or a bomb ends at its limit,
//! and the next document is read each time.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_read::{Kind, Limits, Outcome, Pool, Protection, Reading};

const TIME: Duration = Duration::from_millis(700);

fn pool_without(missing: &[&str]) -> Pool {
    let limits = Limits {
        time: TIME,
        memory: 256 << 20,
        ..Limits::default()
    };
    let mut arguments = vec!["--without"];
    arguments.extend(missing);
    Pool::new(
        env!("CARGO_BIN_EXE_aranha-hostile-worker"),
        arguments,
        1,
        limits,
    )
}

/// Gives an instruction to the worker, and checks that the next document is read.
#[track_caller]
fn obey(pool: &Pool, order: &str) -> Reading {
    let reading = pool.read(Kind::Rtf, order.as_bytes());
    let next = pool.read(Kind::Rtf, b"{\\rtf1 next}");
    assert_eq!(
        next.outcome,
        Outcome::Text,
        "after {order}: {}",
        next.detail
    );
    assert_eq!(next.document.text, "next");
    reading
}

#[track_caller]
fn check(pool: &Pool, order: &str, outcome: Outcome, detail: &str) {
    let reading = obey(pool, order);
    assert_eq!(reading.outcome, outcome, "{order}: {}", reading.detail);
    assert!(
        reading.detail.contains(detail),
        "{order}: {}",
        reading.detail
    );
}

/// A file in a temporary folder, deleted at the end.
struct TemporaryPath(PathBuf);

impl TemporaryPath {
    fn new(name: &str) -> TemporaryPath {
        let name = format!("aranha-jail-{}-{name}", std::process::id());
        TemporaryPath(std::env::temp_dir().join(name))
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const NOT_ALLOWED: &str = "a system call that is not allowed";

#[test]
fn files_cannot_be_opened() {
    let file = TemporaryPath::new("file");
    std::fs::write(&file.0, "secret").unwrap();
    let path = file.0.display();
    let new = TemporaryPath::new("new");
    // Both protections refuse, each of them alone as well.
    for missing in [&[][..], &["seccomp"], &["landlock"]] {
        let pool = pool_without(missing);
        check(&pool, &format!("open {path}"), Outcome::Damaged, "");
        check(&pool, "open /proc/self/environ", Outcome::Damaged, "");
        check(&pool, "list /", Outcome::Damaged, "");
        check(
            &pool,
            &format!("write {}", new.0.display()),
            Outcome::Damaged,
            "",
        );
        assert!(!new.0.exists());
    }
    let free = pool_without(&["landlock", "seccomp"]);
    // Without both, no descriptor is left for the file.
    check(
        &free,
        &format!("open {path}"),
        Outcome::Damaged,
        "Too many open files",
    );
}

/// Making a folder needs no descriptor, so it shows each protection alone.
#[test]
fn folders_cannot_be_made() {
    let folder = TemporaryPath::new("folder");
    let order = format!("mkdir {}", folder.0.display());
    let check = |missing: &[&str], outcome, detail: &str| {
        check(&pool_without(missing), &order, outcome, detail);
    };
    check(&[], Outcome::Damaged, "Function not implemented");
    check(&["landlock"], Outcome::Damaged, "Function not implemented");
    check(&["seccomp"], Outcome::Damaged, "Permission denied");
    assert!(!folder.0.exists());
    check(&["landlock", "seccomp"], Outcome::Text, "made");
    std::fs::remove_dir(&folder.0).unwrap();
}

#[test]
fn sockets_end_the_process() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = TemporaryPath::new("socket");
    let _listener = UnixListener::bind(&socket.0).unwrap();
    let pool = pool_without(&[]);
    check(
        &pool,
        &format!("tcp {address}"),
        Outcome::Crashed,
        NOT_ALLOWED,
    );
    check(&pool, "udp", Outcome::Crashed, NOT_ALLOWED);
    check(
        &pool,
        &format!("unix {}", socket.0.display()),
        Outcome::Crashed,
        NOT_ALLOWED,
    );
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "a connection arrived");
    let pool = pool_without(&["seccomp"]);
    check(&pool, &format!("tcp {address}"), Outcome::Damaged, "");
}

#[test]
fn programs_cannot_be_started() {
    for missing in [&[][..], &["seccomp"], &["landlock"]] {
        let reading = obey(&pool_without(missing), "start /bin/true");
        assert!(
            matches!(reading.outcome, Outcome::Damaged | Outcome::Crashed),
            "{missing:?}: {reading:?}"
        );
    }
}

#[test]
fn threads_can_be_started() {
    check(&pool_without(&[]), "thread", Outcome::Text, "joined");
}

#[test]
fn a_missing_protection_is_reported_once() {
    for (missing, expected) in [
        (&[][..], vec![]),
        (&["landlock"], vec![Protection::Landlock]),
        (
            &["landlock", "seccomp"],
            vec![Protection::Landlock, Protection::Seccomp],
        ),
    ] {
        let pool = pool_without(missing);
        assert_eq!(pool.take_missing_protections(), []);
        check(&pool, "thread", Outcome::Text, "joined");
        assert_eq!(pool.take_missing_protections(), expected);
        // Another worker is started.
        check(&pool, "exit 7", Outcome::Crashed, "ended with status 7");
        assert_eq!(pool.take_missing_protections(), []);
    }
}

#[test]
fn a_loop_ends_at_the_time_limit() {
    let pool = pool_without(&[]);
    for order in ["loop", "sleep"] {
        let started = Instant::now();
        let reading = pool.read(Kind::Rtf, order.as_bytes());
        let took = started.elapsed();
        assert_eq!(reading.outcome, Outcome::TooSlow, "{}", reading.detail);
        assert_eq!(reading.detail, "reading took longer than 700ms");
        assert!(
            took >= TIME && took < TIME + Duration::from_secs(1),
            "{took:?}"
        );
    }
    check(&pool, "thread", Outcome::Text, "joined");
}

#[test]
fn memory_is_limited() {
    let pool = pool_without(&[]);
    check(
        &pool,
        "allocate 2147483648",
        Outcome::TooLarge,
        "more memory than allowed",
    );
    check(
        &pool,
        "allocate 400000000",
        Outcome::TooLarge,
        "more memory than allowed",
    );
    check(&pool, "allocate 50000000", Outcome::Text, "allocated");
}

#[test]
fn a_crash_costs_one_document() {
    let pool = pool_without(&[]);
    check(&pool, "overflow", Outcome::Crashed, "overflowed its stack");
    check(
        &pool,
        "panic at page 7",
        Outcome::Crashed,
        "the reader panicked: at page 7",
    );
    check(&pool, "exit 3", Outcome::Crashed, "ended with status 3");
    check(&pool, "print \u{7}abc", Outcome::Text, "printed");
}

/// The pool was killed, or its program: the worker ends by itself.
#[test]
fn a_worker_does_not_survive_its_pool() {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    let mut worker = Command::new(env!("CARGO_BIN_EXE_aranha-hostile-worker"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    // The limits as the pool sends them: 300 ms.
    let limits = [
        0, 0x80, 0xC6, 0x86, 0x8F, 1, 0x80, 0x80, 0x80, 0x80, 4, 0x80, 1, 10,
    ];
    let frame = |kind: u8, content: &[u8]| {
        [&[kind], &(content.len() as u32).to_le_bytes()[..], content].concat()
    };
    input.write_all(&frame(200, &limits)).unwrap();
    input.write_all(&frame(10, b"loop")).unwrap();
    drop(input);
    let started = Instant::now();
    let mut answer = Vec::new();
    worker
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut answer)
        .unwrap();
    let took = started.elapsed();
    worker.wait().unwrap();
    assert_eq!(
        answer.first(),
        Some(&201),
        "the worker was ready: {answer:?}"
    );
    assert!(took >= Duration::from_millis(300), "{took:?}");
    assert!(
        took < Duration::from_millis(300) + Duration::from_secs(5),
        "{took:?}"
    );
}

#[test]
fn a_program_that_is_no_worker_is_reported() {
    for (program, detail) in [
        ("/nonexistent/aranha", "did not start: No such file"),
        ("/bin/true", "did not start: ended with status 0"),
    ] {
        let pool = Pool::new(program, ["--worker"], 1, Limits::default());
        for _ in 0..2 {
            let reading = pool.read(Kind::Rtf, b"{\\rtf1 a}");
            assert_eq!(reading.outcome, Outcome::Crashed);
            assert!(reading.detail.contains(detail), "{}", reading.detail);
        }
    }
}

#[test]
fn documents_are_read_in_parallel() {
    let limits = Limits::default();
    let program = env!("CARGO_BIN_EXE_aranha-hostile-worker");
    let pool = Pool::new(program, [] as [&str; 0], 3, limits);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for number in 0..20 {
                    let text = format!("document {thread} {number}");
                    let reading = pool.read(Kind::Rtf, format!("{{\\rtf1 {text}}}").as_bytes());
                    assert_eq!(reading.document.text, text);
                }
            });
        }
    });
}

/// A document that is larger than a pipe, and its text.
#[test]
fn large_documents_pass() {
    let pool = pool_without(&[]);
    let text = "word ".repeat(1_000_000);
    let reading = pool.read(Kind::Rtf, format!("{{\\rtf1 {text}}}").as_bytes());
    assert_eq!(reading.outcome, Outcome::Text);
    assert_eq!(reading.document.text.len(), Limits::default().max_text);
    assert_eq!(reading.document.remarks, ["the text is cut"]);
}
