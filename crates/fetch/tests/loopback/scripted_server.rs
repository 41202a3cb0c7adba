//! A raw TCP server that does exactly what it is told, byte by byte: the other end of the tests.

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

/// What the server does next on a connection. After the last act it closes.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Reads one request head.
    Ask,
    /// Sends bytes, and lets the client read them before the next act.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Does nothing, until the client goes away.
    Hold,
    /// Ends with a TCP reset.
    Reset,
}

/// Text as bytes to send.
pub(crate) fn send(text: &str) -> Act {
    Act::Send(text.as_bytes().to_vec())
}

/// A listening script.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One list of acts per connection, in the order of their arrival; later ones are closed at once.
    pub(crate) async fn start(connections: Vec<Vec<Act>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = requests.clone();
        tokio::spawn(async move {
            let mut scripts = connections.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).expect("a socket option");
                let acts = scripts.next().unwrap_or_default();
                let heard = heard.clone();
                tokio::spawn(async move {
                    if let Some(stream) = play(stream, acts, &heard).await {
                        stream.set_zero_linger().expect("a socket option");
                    }
                });
            }
        });
        Server { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> CanonUrl {
        canon(&format!("http://{}{path}", self.address))
    }

    /// The request heads as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic elsewhere").clone()
    }
}

/// Plays the acts; gives the stream back when it is to be reset.
pub(crate) async fn play<S>(mut stream: S, acts: Vec<Act>, heard: &Mutex<Vec<String>>) -> Option<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for act in acts {
        match act {
            Act::Ask => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return None,
                    }
                }
                heard
                    .lock()
                    .expect("no panic elsewhere")
                    .push(String::from_utf8_lossy(&head).into_owned());
            }
            Act::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return None;
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
            Act::Wait(duration) => tokio::time::sleep(duration).await,
            Act::Hold => {
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
            }
            Act::Reset => return Some(stream),
        }
    }
    let _ = stream.shutdown().await;
    None
}

pub(crate) fn canon(text: &str) -> CanonUrl {
    Canonicaliser::new(UrlRules::default())
        .canon(text)
        .expect("a URL")
}

/// Loopback allowed, nothing asked of the system.
pub(crate) fn options() -> Options {
    Options {
        allow_private: true,
        resolvers: vec!["127.0.0.1:1".parse().expect("an address")],
        ..Options::default()
    }
}

pub(crate) fn web(options: Options) -> Fetcher {
    Fetcher::new(options, Blacklist::default()).expect("options that work")
}

/// One GET from the server.
pub(crate) async fn get(
    web: &Fetcher,
    session: &mut FetchSession,
    server: &Server,
    path: &str,
) -> Fetched {
    let url = server.url(path);
    web.fetch(session, FetchRequest::new(&url, server.address.ip()))
        .await
}
