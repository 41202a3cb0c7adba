//! A private PostgreSQL server for the tests of one process: in a temporary folder, on a unix socket, with a schema for
//! each test. Only tests depend on this crate.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Runs the server until its standard input is closed, also because the process of the tests has ended in any way. Then
/// it ends the server and removes the folder. A line `kill` kills the server, a line `start` starts it.
const RUN: &str = r#"
start() {
    "$0/postgres" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c max_connections=300 -c shared_buffers=64MB \
        -c max_locks_per_transaction=256 >>"$1/log" 2>&1 </dev/null &
}
start "$1"
while read -r order; do
    case $order in
        kill)
            kill -STOP $!
            kill -9 $! $(cat /proc/$!/task/$!/children)
            wait $!
            rm -f "$1/data/postmaster.pid"
            ;;
        start) start "$1" ;;
    esac
done
kill -INT $!
wait $!
rm -rf "$1"
"#;

/// A running server.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    /// Its standard input stays open as long as the server is needed.
    server: Mutex<Child>,
    schemas: AtomicU32,
}

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::start().expect("PostgreSQL starts"));

/// A role that must log in with a password. It does not exist until a test creates it.
pub const ROLE_WITH_PASSWORD: &str = "with_password";

/// The address of a new schema on the server of this process. The role may do everything and needs no password.
pub fn new_address() -> String {
    let number = CLUSTER.schemas.fetch_add(1, Relaxed);
    CLUSTER.address("aranha", &format!("test_{number}"))
}

/// The address of the schema for another role.
pub fn address_for(role: &str, schema: &str) -> String {
    CLUSTER.address(role, schema)
}

/// Runs SQL statements on the server of this process. Returns what psql prints, without headers.
///
/// # Panics
///
/// If a statement fails.
pub fn sql(statements: &str) -> String {
    CLUSTER.sql(statements)
}

impl Cluster {
    /// Starts a server of its own.
    pub fn start() -> io::Result<Cluster> {
        let programs = programs()?;
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = memory?.keep();
        let user = server_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid))?;
        }
        let mut create = as_user(Command::new(programs.join("initdb")), user);
        create.arg("-D").arg(folder.join("data"));
        create.args([
            "--username=aranha",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ]);
        let output = create.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        // The first line that fits counts.
        let rules = folder.join("data/pg_hba.conf");
        let trust = std::fs::read_to_string(&rules)?;
        let password = format!("local all {ROLE_WITH_PASSWORD} scram-sha-256\n");
        std::fs::write(&rules, password + &trust)?;
        let mut run = as_user(Command::new("sh"), user);
        run.arg("-c").arg(RUN).arg(&programs).arg(&folder);
        let server = run.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let cluster = Cluster {
            folder,
            server: Mutex::new(server),
            schemas: AtomicU32::new(0),
        };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// Wait until the server has written that it is ready. It writes this to its process file.
    fn wait_until_ready(&self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let state = std::fs::read_to_string(self.folder.join("data/postmaster.pid"));
            if state.is_ok_and(|state| {
                state
                    .lines()
                    .nth(7)
                    .is_some_and(|line| line.trim() == "ready")
            }) {
                return Ok(());
            }
            if begun.elapsed() > Duration::from_mins(2) {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("the server is not ready: {log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills all processes of the server.
    ///
    /// # Panics
    ///
    /// If another thread has panicked while it gave an order to the server.
    pub fn crash(&self) {
        self.order("kill");
        while self.folder.join("data/postmaster.pid").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Start the server after a crash.
    ///
    /// # Panics
    ///
    /// If another thread has panicked while it gave an order to the server.
    pub fn restart(&self) -> io::Result<()> {
        self.order("start");
        self.wait_until_ready()
    }

    /// Runs SQL statements. Returns what psql prints, without headers.
    ///
    /// # Panics
    ///
    /// If a statement fails.
    pub fn sql(&self, statements: &str) -> String {
        let programs = programs().expect("PostgreSQL is installed");
        let mut psql = Command::new(programs.join("psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "aranha",
            "-d",
            "postgres",
            "-h",
        ]);
        psql.arg(&self.folder).args(["-c", statements]);
        let output = psql.stdin(Stdio::null()).output().expect("psql runs");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {problem}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The socket on which the server listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    fn order(&self, line: &str) {
        use std::io::Write as _;
        let mut server = self.server.lock().expect("no panic");
        let input = server.stdin.as_mut().expect("it is a pipe");
        writeln!(input, "{line}").expect("the server is watched");
    }

    /// The address of a schema. The role may do everything and needs no password.
    pub fn address_of(&self, schema: &str) -> String {
        self.address("aranha", schema)
    }

    fn address(&self, role: &str, schema: &str) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{host}/postgres?schema={schema}")
    }
}

/// The folder with the programs of the newest installed PostgreSQL.
fn programs() -> io::Result<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    found.sort();
    found
        .pop()
        .ok_or_else(|| io::Error::other("there is no initdb in /usr/lib/postgresql"))
}

/// The user that runs the server: PostgreSQL refuses to run as root.
fn server_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres:", "nobody:"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.starts_with(name))?;
        let mut numbers = line.split(':').skip(2).map_while(|text| text.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    })
}

fn as_user(mut command: Command, user: Option<(u32, u32)>) -> Command {
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command.current_dir(Path::new("/"));
    command
}
