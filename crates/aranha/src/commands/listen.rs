//! `aranha listen`: sites and hubs push what has changed, over HTTP (IndexNow, WebSub).
//!
//! ```text
//! connection ─► request (limits) ─► indexnow | websub: is it to be believed? ─► scope ─► signals.jsonl
//! ```
//!
//! A push is believed only with a key, a topic or a signature that the user knows, and even then it only ever brings a visit
//! of a page in scope forward: no request of a stranger makes the crawl go anywhere. One request a connection; size, time
//! and number of connections are bounded. For the open Internet a web server that speaks TLS belongs before it.
//!
//! Read first: `answer` here, then `indexnow.rs` and `websub.rs`.

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
use crate::output::{Output, message};
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;
use aranha_units::calendar;
use indexnow::Keys;
use request::Request;
use websub::Subscription;

const EXAMPLES: &str = "\
Examples:
  aranha listen -c example --port 8080 --key example.org=5f0c7e1a9b3d4c26
  aranha listen -c example --port 8080 --topic https://example.org/feed.xml --secret @secret.txt
  curl 'http://127.0.0.1:8080/indexnow?url=https://example.org/new&key=5f0c7e1a9b3d4c26'

IndexNow pushes go to /indexnow, WebSub hubs call /websub. More keys stand in indexnow-keys.txt
in the collection, a line each: example.org=5f0c7e1a9b3d4c26. Ctrl-C ends.";

/// Connections served at once; others wait.
const CONNECTIONS: usize = 32;

/// From a connection to its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Receive what sites and hubs say has changed (IndexNow, WebSub), and note it for the crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    /// Where to listen; 0 takes a free one and tells it
    #[arg(long, value_name = "N")]
    port: u16,
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: IpAddr,
    /// An IndexNow key that a host has published; may be repeated
    #[arg(long = "key", value_name = "HOST=KEY")]
    keys: Vec<String>,
    /// A WebSub topic that was subscribed to; may be repeated
    #[arg(long = "topic", value_name = "URL")]
    topics: Vec<String>,
    /// What the hub signs its pushes with; `@FILE` reads it from a file
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// A JSON object on stdout for every request
    #[arg(long)]
    json: bool,
}

/// What is said to a request.
#[derive(Debug, Default)]
struct Answer {
    status: u16,
    /// Escaped text.
    body: String,
    signals: Vec<Signal>,
    /// For our own log, not for the other side.
    remark: String,
}

impl Answer {
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
        state: Mutex::new(State {
            wanted: LiveScope::new(&arguments.collection),
            keys,
        }),
        json: arguments.json,
    });
    if let Err(reason) = listener.state().wanted.current() {
        return Err(CommandError::usage(reason)
            .hint("name a collection with -c, or make one with `aranha seed add`"));
    }
    let target = SocketAddr::new(arguments.address, arguments.port);
    crawl::runtime()?.block_on(async {
        let socket = TcpListener::bind(target).await.map_err(|error| {
            CommandError::failed(format!("cannot listen at {target}: {error}"))
                .hint("choose another --port or --address")
        })?;
        let bound = socket.local_addr().unwrap_or(target);
        message(format_args!(
            "listening at http://{bound}/indexnow and http://{bound}/websub; Ctrl-C ends"
        ));
        tokio::select! {
            () = accept(socket, listener) => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(ExitStatus::Done)
    })
}

async fn accept(socket: TcpListener, listener: Arc<Listener>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            return;
        };
        // What fails here is the other side's connection, or a table that is full for now.
        let Ok((stream, from)) = socket.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let listener = listener.clone();
        tokio::spawn(async move {
            let _ = timeout(PATIENCE, serve(stream, from, listener)).await;
            drop(slot);
        });
    }
}

async fn serve(mut stream: TcpStream, from: SocketAddr, listener: Arc<Listener>) {
    let read = request::read(&mut stream).await;
    let answered = tokio::task::spawn_blocking(move || {
        let (line, answer) = match read {
            Ok(request) => (request.line(), listener.answer(&request)),
            Err(status) => (String::new(), Answer::new(status, "cannot be read")),
        };
        listener.log(from, &line, &answer);
        answer.bytes()
    });
    if let Ok(bytes) = answered.await {
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
    }
}

struct Listener {
    signals: PathBuf,
    subscription: Subscription,
    state: Mutex<State>,
    json: bool,
}

struct State {
    wanted: LiveScope,
    keys: Keys,
}

impl Listener {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Every change is one assignment: a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said to a request; signals are written before it is said.
    fn answer(&self, request: &Request) -> Answer {
        let now = Clock::new().now();
        let mut state = self.state();
        let State { wanted, keys } = &mut *state;
        let snapshot = match wanted.current() {
            Ok(snapshot) => snapshot,
            Err(reason) => return Answer::new(503, reason),
        };
        let mut answer = match (request.path.as_str(), request.method.as_str()) {
            ("/indexnow", "GET" | "POST") => keys.answer(request, snapshot, now),
            ("/websub", "GET") => self.subscription.verify(request),
            ("/websub", "POST") => self.subscription.push(request, snapshot, now),
            ("/indexnow" | "/websub", _) => Answer::new(405, "method"),
            _ => Answer::new(404, "path"),
        };
        if !answer.signals.is_empty()
            && let Err(error) = signal(&self.signals, &answer.signals)
        {
            answer = Answer::new(503, format!("{}: {error}", self.signals.display()));
        }
        answer
    }

    fn log(&self, from: SocketAddr, line: &str, answer: &Answer) {
        let now = Clock::new().now();
        let (status, signals) = (answer.status, answer.signals.len());
        if self.json {
            let mut output = Output::new();
            let _ = output
                .json(
                    &json!({"time": calendar::rfc3339(now), "from": from.ip(), "request": line,
                              "status": status, "signals": signals, "remark": answer.remark}),
                )
                .and_then(|()| output.finish());
        } else {
            message(format_args!(
                "{} {} {} {status}, {signals} noted{}",
                calendar::date_time(now),
                from.ip(),
                Escaped(line),
                Escaped(&match answer.remark.as_str() {
                    "" => String::new(),
                    remark => format!(": {remark}"),
                })
            ));
        }
    }
}

/// A page in scope, as the collection writes it.
fn wanted(snapshot: &ScopeSnapshot, url: &aranha_url::CanonUrl) -> Option<String> {
    snapshot.accepts(url).then(|| url.as_str().to_owned())
}
