//! A TCP proxy between the nodes and a server, which a test breaks in several ways.

use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What is wrong with the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Connections are closed, new ones at once.
    Closed,
    /// Nothing passes, and no connection is closed, as if a cable were cut. What was sent arrives when the fault is over.
    Silent,
    /// Each connection is closed after this number of bytes from the client.
    ClosedAfter(usize),
    /// Uploads by HTTP are answered with this status, and do not reach the server.
    Refused(u16),
}

/// Where the server listens.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Socket(PathBuf),
    Port(u16),
}

/// A running proxy. Dropping it closes all connections.
#[derive(Debug)]
pub(crate) struct BreakingProxy {
    pub(crate) port: u16,
    fault: watch::Sender<Fault>,
    _accepting: JoinSet<()>,
}

/// Why a connection ends.
enum End {
    Closed,
    /// The client gets this HTTP status.
    Refused(u16),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl BreakingProxy {
    pub(crate) async fn start(server: Server) -> BreakingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("an address").port();
        let fault = watch::Sender::new(Fault::None);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, server, fault.clone()));
        BreakingProxy {
            port,
            fault,
            _accepting: accepting,
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

async fn accept(listener: TcpListener, server: Server, fault: watch::Sender<Fault>) {
    // When this task is aborted, the set is dropped, and all connections are closed.
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.expect("accepts");
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(client, server.clone(), fault.subscribe()));
    }
}

async fn serve(client: TcpStream, server: Server, mut fault: watch::Receiver<Fault>) {
    let is_reachable = |fault: &Fault| *fault != Fault::Silent;
    let at_start = *fault.wait_for(is_reachable).await.expect("the proxy runs");
    if at_start == Fault::Closed {
        return;
    }
    let upstream: Box<dyn Stream> = match server {
        Server::Socket(path) => match UnixStream::connect(path).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
        Server::Port(port) => match TcpStream::connect(("127.0.0.1", port)).await {
            Ok(stream) => Box::new(stream),
            Err(_) => return,
        },
    };
    let (mut from_client, mut to_client) = split(client);
    let (from_server, to_server) = split(upstream);
    let end = tokio::select! {
        end = pass(&mut from_client, to_server, fault.clone(), true) => end,
        end = pass(from_server, &mut to_client, fault, false) => end,
    };
    if let End::Refused(status) = end {
        let body =
            "<Error><Code>Refused</Code><Message>the proxy refuses uploads</Message></Error>";
        let answer = format!(
            "HTTP/1.1 {status} Refused\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        // The client may have closed the connection.
        let _ = to_client.write_all(answer.as_bytes()).await;
        let _ = to_client.shutdown().await;
        // Without this, the rest of the upload would reset the connection before the answer is read.
        let _ = tokio::io::copy(&mut from_client, &mut tokio::io::sink()).await;
    }
}

/// Passes bytes on until one side ends the connection or the proxy is broken.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut fault: watch::Receiver<Fault>,
    is_client: bool,
) -> End {
    let mut closed = fault.clone();
    let mut bytes = vec![0; 16 << 10];
    let mut passed = 0;
    loop {
        let count = tokio::select! {
            count = from.read(&mut bytes) => count.unwrap_or(0),
            _ = closed.wait_for(|fault| *fault == Fault::Closed) => return End::Closed,
        };
        // The end of a connection is hidden, too.
        let now = fault.wait_for(|fault| *fault != Fault::Silent).await;
        let now = now.map_or(Fault::Closed, |fault| *fault);
        let bytes = &bytes[..count];
        let is_upload = bytes.starts_with(b"PUT ") || bytes.starts_with(b"POST ");
        passed += count;
        match now {
            Fault::Refused(status) if is_client && is_upload => return End::Refused(status),
            Fault::ClosedAfter(most) if is_client && passed > most => return End::Closed,
            Fault::Closed => return End::Closed,
            _ => {}
        }
        if count == 0 || to.write_all(bytes).await.is_err() {
            return End::Closed;
        }
    }
}
