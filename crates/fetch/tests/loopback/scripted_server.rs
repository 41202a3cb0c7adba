//! A TCP server that performs a scripted list of actions on each connection.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use aranha_fetch::{FetchRequest, FetchSession, Fetched, Fetcher, Options};
use aranha_url::{Blacklist, CanonUrl, Canonicaliser, UrlRules};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

/// An action of the server on a connection. After the last action, the server closes the connection.
#[derive(Clone, Debug)]
pub(crate) enum ServerAction {
    /// Reads one request head.
    ReadRequest,
    /// Sends bytes, and gives the client time to read them before the next action.
    Send(Vec<u8>),
    Wait(Duration),
    /// Keeps the connection open until the client closes it.
    Hold,
    /// Ends the connection with a TCP reset.
    Reset,
}

/// Sends a text.
pub(crate) fn send(text: &str) -> ServerAction {
    ServerAction::Send(text.as_bytes().to_vec())
}

/// A listening server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server. The n-th list of actions is for the n-th connection. Further connections are closed at once.
    pub(crate) async fn start(connections: Vec<Vec<ServerAction>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        tokio::spawn(async move {
            let mut scripts = connections.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                stream
                    .set_nodelay(true)
                    .expect("the socket option can be set");
                let actions = scripts.next().unwrap_or_default();
                let received = received.clone();
                tokio::spawn(async move {
                    if let Some(stream) = perform(stream, actions, &received).await {
                        stream
                            .set_zero_linger()
                            .expect("the socket option can be set");
                    }
                });
            }
        });
        Server { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> CanonUrl {
        canon(&format!("http://{}{path}", self.address))
    }

    /// The request heads in order of arrival.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic elsewhere").clone()
    }
}

/// Performs the actions. Returns the stream if the caller must reset it.
pub(crate) async fn perform<S>(
    mut stream: S,
    actions: Vec<ServerAction>,
    received: &Mutex<Vec<String>>,
) -> Option<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for action in actions {
        match action {
            ServerAction::ReadRequest => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return None,
                    }
                }
                received
                    .lock()
                    .expect("no panic elsewhere")
                    .push(String::from_utf8_lossy(&head).into_owned());
            }
            ServerAction::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return None;
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
            ServerAction::Wait(duration) => tokio::time::sleep(duration).await,
            ServerAction::Hold => {
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
            }
            ServerAction::Reset => return Some(stream),
        }
    }
    let _ = stream.shutdown().await;
    None
}

pub(crate) fn canon(text: &str) -> CanonUrl {
    Canonicaliser::new(UrlRules::default())
        .canon(text)
        .expect("the URL is valid")
}

/// Options that allow loopback addresses and do not use the system's name servers.
pub(crate) fn options() -> Options {
    Options {
        allow_private: true,
        resolvers: vec!["127.0.0.1:1".parse().expect("the address is valid")],
        ..Options::default()
    }
}

pub(crate) fn fetcher(options: Options) -> Fetcher {
    Fetcher::new(options, Blacklist::default()).expect("the options are valid")
}

/// Sends one GET request to the server.
pub(crate) async fn get(
    fetcher: &Fetcher,
    session: &mut FetchSession,
    server: &Server,
    path: &str,
) -> Fetched {
    let url = server.url(path);
    fetcher
        .fetch(session, FetchRequest::new(&url, server.address.ip()))
        .await
}
