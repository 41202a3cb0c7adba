//! Servers that a test starts: nginx, Apache, DNS servers. Each is one process on a free port. Dropping the value kills
//! the process.
//!
//! nginx and Apache serve the folder `tree`. They have different addresses, because the courtesy pause is kept by
//! address.

#![allow(dead_code, reason = "every test file uses a part of this module")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Daemon {
    child: Child,
    pub address: &'static str,
    pub port: u16,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// Writes the configuration to a file in the folder, and starts the server with that file as its last argument.
    pub fn start(
        folder: &Path,
        program: &str,
        address: &'static str,
        arguments: &[&str],
        configuration: impl FnOnce(u16) -> String,
    ) -> Self {
        assert!(
            Path::new(program).exists(),
            "{program} is missing: run ./test once to install the tools of the tests"
        );
        let port = free_port(address);
        let name = Path::new(program).file_name().unwrap();
        let file = folder.join(name).with_extension("conf");
        fs::write(&file, configuration(port)).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).arg(&file);
        let log = folder.join(name).with_extension("out");
        Self::wait(&mut command, address, port, &log)
    }

    /// Starts a server and waits until it accepts connections. Its stderr goes to the file `log`.
    pub fn wait(command: &mut Command, address: &'static str, port: u16, log: &Path) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let mut daemon = Self {
            child,
            address,
            port,
        };
        while TcpStream::connect((address, port)).is_err() {
            let ended = daemon.child.try_wait().unwrap();
            let errors = || fs::read_to_string(log).unwrap_or_default();
            assert!(ended.is_none(), "{command:?} ended: {}", errors());
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon
    }
}

/// A TCP port that is free at the moment.
pub fn free_port(address: &str) -> u16 {
    let free = TcpListener::bind((address, 0)).unwrap();
    free.local_addr().unwrap().port()
}

/// Starts nginx, which logs to `nginx.log`.
pub fn nginx(folder: &Path, log_format: &str, server: &str) -> Daemon {
    let here = folder.display();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
        .concat();
    let (address, arguments) = ("127.0.0.3", ["-e", "stderr", "-c"]);
    Daemon::start(folder, "/usr/sbin/nginx", address, &arguments, |port| {
        format!(
            "daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx.err;\n\
             events {{ worker_connections 256; }}\n\
             http {{\n{places}types {{ text/html html; text/plain txt; text/xml xml; }}\n\
             log_format seen '{log_format}'; access_log {here}/nginx.log seen;\n\
             server {{ listen {address}:{port}; root {here}/tree; {server} }} }}\n"
        )
    })
}

/// Starts Apache, which logs to `apache.log`. It loads the given modules, and also `mpm_event` and `authz_core`.
pub fn apache(folder: &Path, modules: &[&str], log_format: &str, server: &str) -> Daemon {
    let here = folder.display();
    let load = |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let modules = [&["mpm_event", "authz_core"], modules].concat();
    let modules = modules.into_iter().map(load).collect::<Vec<_>>().concat();
    let (address, arguments) = ("127.0.0.2", ["-X", "-d", "/", "-f"]);
    Daemon::start(folder, "/usr/sbin/apache2", address, &arguments, |port| {
        format!(
            "ServerName apache.test\nListen {address}:{port}\nPidFile {here}/apache.pid\n\
             DefaultRuntimeDir {here}\nErrorLog {here}/apache.err\n{modules}\
             User www-data\nGroup www-data\nDocumentRoot {here}/tree\n\
             <Directory {here}/tree>\nRequire all granted\n</Directory>\n{server}\
             LogFormat \"{log_format}\" seen\nCustomLog {here}/apache.log seen\n"
        )
    })
}
