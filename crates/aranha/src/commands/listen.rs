//! `aranha listen`: an HTTP server that receives change notifications (IndexNow, WebSub) and passes them to the crawl.
//!
//! ```text
//! connection ─► request (size and time limits) ─► indexnow | websub (authentication) ─► scope ─► signals.jsonl
//! ```
//!
//! **Always holds**: a notification is accepted only with a key, topic or signature that the user has configured. The
//! only effect of a notification is an earlier visit of a page in scope. Each connection carries one request. The size
//! of a request, the duration of a connection and the number of connections are limited. The server does not support
//! TLS. On a public network, put a web server with TLS in front of it.
//!
//! Read first: [`Listener::respond`], then [`indexnow`] and [`websub`].

mod indexnow;
mod request;
mod websub;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aranha_engine::{Clock, Collection as Folder, Signal, signal};
use clap::Args;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::commands::crawl;
use crate::error::{CommandError, ExitStatus};
use crate::live_scope::{LiveScope, ScopeSnapshot};
use crate::output::{Output, counted, message};
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;
use aranha_units::calendar;
use indexnow::Keys;
use request::Request;
use websub::Subscription;

const EXAMPLES: &str = "\
Examples:
  aranha listen -c example --port 8080 --key example.org=5f0c7e1a9b3d4c26
  aranha listen -c example --port 8080 --topic https://example.org/feed.xml
  curl 'localhost:8080/indexnow?url=https://example.org/&key=5f0c7e1a9b3d4c26'

The paths are /indexnow for IndexNow and /websub for WebSub hubs. IndexNow keys can also be written to \
indexnow-keys.txt in the collection, one per line: example.org=5f0c7e1a9b3d4c26. Ctrl-C stops the server.";

/// Maximum number of concurrent connections. Further connections wait in the accept queue.
const MAX_CONNECTIONS: usize = 32;

/// Time limit of a connection, from accepting it to the end of the response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Receive change notifications over HTTP (IndexNow, WebSub), and pass them to the crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// TCP port; 0 selects a free one and prints it
    #[arg(long, value_name = "N")]
    port: u16,
    /// IP address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: IpAddr,
    /// Accept IndexNow notifications from this host with this key (repeatable)
    #[arg(long = "key", value_name = "HOST=KEY")]
    keys: Vec<String>,
    /// Accept WebSub notifications about this topic (repeatable)
    #[arg(long = "topic", value_name = "URL")]
    topics: Vec<String>,
    /// Secret with which WebSub hubs sign notifications; `@FILE` reads it from a file
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// Print one JSON object per request on stdout
    #[arg(long)]
    json: bool,
}

/// The response to a request, with the signals that the request causes.
#[derive(Debug, Default)]
struct Response {
    status: u16,
    /// Body of the response, as plain text.
    body: String,
    signals: Vec<Signal>,
    /// Remark for the log. It is not sent.
    remark: String,
}

impl Response {
    fn new(status: u16, remark: impl Into<String>) -> Self {
        Self {
            status,
            remark: remark.into(),
            ..Self::default()
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let extra = match self.status {
            405 => "Allow: GET, POST\r\n",
            429 => "Retry-After: 3600\r\n",
            _ => "",
        };
        let Self { status, body, .. } = self;
        format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n\
             {extra}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            reason(*status),
            body.len()
        )
        .into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let keys = Keys::new(
        &arguments.keys,
        arguments.collection.folder.join("indexnow-keys.txt"),
    )?;
    let listener = Arc::new(Listener {
        signals: Folder::at(&arguments.collection.folder).signals(),
        subscription: Subscription::new(&arguments.topics, arguments.secret.as_deref())?,
        state: Mutex::new(ListenerState {
            scope: LiveScope::new(&arguments.collection),
            keys,
        }),
        json: arguments.json,
    });
    if let Err(reason) = listener.state().scope.current() {
        return Err(CommandError::usage(reason)
            .hint("name a collection with -c, or create one with `aranha seed add`"));
    }
    let target = SocketAddr::new(arguments.address, arguments.port);
    crawl::runtime()?.block_on(async {
        let socket = TcpListener::bind(target).await.map_err(|error| {
            CommandError::failed(format!("cannot listen on {target}: {error}"))
                .hint("choose another --port or --address")
        })?;
        let bound = socket.local_addr().unwrap_or(target);
        message(format_args!(
            "listening on http://{bound}/indexnow and http://{bound}/websub; Ctrl-C stops"
        ));
        tokio::select! {
            () = accept(socket, listener) => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(ExitStatus::Done)
    })
}

async fn accept(socket: TcpListener, listener: Arc<Listener>) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            return;
        };
        // An error means that the client has gone, or that too many files are open at the moment.
        let Ok((stream, from)) = socket.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let listener = listener.clone();
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_TIMEOUT, serve(stream, from, listener)).await;
            drop(slot);
        });
    }
}

async fn serve(mut stream: TcpStream, from: SocketAddr, listener: Arc<Listener>) {
    let read = request::read(&mut stream).await;
    let responded = tokio::task::spawn_blocking(move || {
        let (line, response) = match read {
            Ok(request) => (request.line(), listener.respond(&request)),
            Err(status) => (String::new(), Response::new(status, "invalid request")),
        };
        listener.log(from, &line, &response);
        response.bytes()
    });
    if let Ok(bytes) = responded.await {
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
    }
}

struct Listener {
    signals: PathBuf,
    subscription: Subscription,
    state: Mutex<ListenerState>,
    json: bool,
}

struct ListenerState {
    scope: LiveScope,
    keys: Keys,
}

impl Listener {
    fn state(&self) -> std::sync::MutexGuard<'_, ListenerState> {
        // Every update is one assignment, so the state is valid even after a panic in another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Responds to a request. Its signals are written to `signals.jsonl` before the response is sent.
    fn respond(&self, request: &Request) -> Response {
        let now = Clock::new().now();
        let mut state = self.state();
        let ListenerState { scope, keys } = &mut *state;
        let snapshot = match scope.current() {
            Ok(snapshot) => snapshot,
            Err(reason) => return Response::new(503, reason),
        };
        let mut response = match (request.path.as_str(), request.method.as_str()) {
            ("/indexnow", "GET" | "POST") => keys.respond(request, snapshot, now),
            ("/websub", "GET") => self.subscription.verify(request),
            ("/websub", "POST") => self.subscription.receive(request, snapshot, now),
            ("/indexnow" | "/websub", _) => Response::new(405, "method not allowed"),
            _ => Response::new(404, "unknown path"),
        };
        if !response.signals.is_empty()
            && let Err(error) = signal(&self.signals, &response.signals)
        {
            let remark = format!("cannot write {}: {error}", self.signals.display());
            response = Response::new(503, remark);
        }
        response
    }

    fn log(&self, from: SocketAddr, line: &str, response: &Response) {
        let now = Clock::new().now();
        let (status, signals) = (response.status, response.signals.len());
        if self.json {
            let mut output = Output::new();
            let _ = output
                .json(
                    &json!({"time": calendar::rfc3339(now), "from": from.ip(), "request": line,
                              "status": status, "signals": signals, "remark": response.remark}),
                )
                .and_then(|()| output.finish());
        } else {
            message(format_args!(
                "{} {} {} {status}, {} passed to the crawl{}",
                calendar::date_time(now),
                from.ip(),
                Escaped(line),
                counted(signals as u64, "signal"),
                Escaped(&match response.remark.as_str() {
                    "" => String::new(),
                    remark => format!(": {remark}"),
                })
            ));
        }
    }
}

/// The URL for a signal; `None` if the page is not in scope.
fn in_scope(snapshot: &ScopeSnapshot, url: &aranha_url::CanonUrl) -> Option<String> {
    snapshot.accepts(url).then(|| url.as_str().to_owned())
}
