//! A connection to the server of the tests that a test can cut: a unix socket that passes bytes on to the server.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Name of the socket of a server in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// A way to the server.
pub(super) struct CutLink {
    folder: tempfile::TempDir,
    state: Arc<State>,
}

struct State {
    server: PathBuf,
    /// New connections are closed at once.
    is_cut: AtomicBool,
    /// The link is cut as soon as a client commits. The server receives the statement, but the client receives no
    /// answer.
    cut_at_commit: AtomicBool,
    is_over: AtomicBool,
    clients: Mutex<Vec<UnixStream>>,
}

impl CutLink {
    /// A link to the server of this address, and the address of the same schema through the link.
    pub(super) fn to(address: &str) -> (CutLink, String) {
        let start = address.find('@').expect("a role") + 1;
        let end = start + address[start..].find('/').expect("a database");
        let server = PathBuf::from(address[start..end].replace("%2F", "/")).join(SOCKET);
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join(SOCKET)).expect("listens");
        let state = Arc::new(State {
            server,
            is_cut: AtomicBool::new(false),
            cut_at_commit: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            clients: Mutex::default(),
        });
        let host = folder.path().display().to_string().replace('/', "%2F");
        let through = format!("{}{host}{}", &address[..start], &address[end..]);
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), false) = (client, of_thread.is_over.load(SeqCst)) else {
                    return;
                };
                if !of_thread.is_cut.load(SeqCst) {
                    of_thread.connect(client);
                }
            }
        });
        (CutLink { folder, state }, through)
    }

    pub(super) fn cut_at_commit(&self) {
        self.state.cut_at_commit.store(true, SeqCst);
    }

    /// Accept connections again.
    pub(super) fn mend(&self) {
        self.state.is_cut.store(false, SeqCst);
    }

    fn socket(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for CutLink {
    fn drop(&mut self) {
        self.state.is_over.store(true, SeqCst);
        self.state.cut();
        // The thread waits for a client.
        let _ = UnixStream::connect(self.socket().join(SOCKET));
    }
}

impl State {
    fn connect(self: &Arc<State>, client: UnixStream) {
        let Ok(server) = UnixStream::connect(&self.server) else {
            return;
        };
        let copy = |stream: &UnixStream| stream.try_clone().expect("a handle");
        let mut clients = self.clients.lock().expect("no panic");
        clients.push(copy(&client));
        drop(clients);
        let ways = [
            (copy(&client), copy(&server), true),
            (server, client, false),
        ];
        for (from, to, is_client) in ways {
            let state = Arc::clone(self);
            std::thread::spawn(move || state.pass_on(from, to, is_client));
        }
    }

    fn pass_on(&self, mut from: UnixStream, mut to: UnixStream, is_client: bool) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let bytes = &bytes[..count];
            let commits = bytes.windows(7).any(|part| part == b"COMMIT\0");
            if is_client && commits && self.cut_at_commit.swap(false, SeqCst) {
                self.is_cut.store(true, SeqCst);
                self.cut();
            }
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }

    /// End the connections of all clients, before they receive anything else.
    fn cut(&self) {
        for stream in self.clients.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
