//! `aranha squid`: a Squid helper that tells the crawl which pages are requested through the proxy (I5; CoBWeb 2.6
//! and 3).
//!
//! ```text
//! Squid ─ stdin ─► request line ─► reply ERR (URL unchanged) ─ stdout ─► Squid
//!                        └► bounded queue ─► signal writer: filters ─► signals.jsonl ─► crawl
//! ```
//!
//! **Always holds**: every line gets the same reply at once, even if the collection cannot be read. The thread that
//! replies opens no file. The signal writer has its own thread. If the queue to that thread is full, a request is
//! dropped and counted. The program ends when its input ends, as Squid requires.
//!
//! Read first: [`protocol`], then [`signal_writer`] for the filters.

mod protocol;
mod recently_noted;
mod signal_writer;

use std::io::{self, BufRead, ErrorKind, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use aranha_engine::Clock;
use clap::Args;

use crate::error::ExitStatus;
use crate::output::message;
use crate::shared_args::CollectionArg;
use protocol::{LineSplitter, RequestLine};
use signal_writer::{ProxyRequest, SignalWriter, Tally};

const EXAMPLES: &str = "\
In squid.conf:
  url_rewrite_program /usr/bin/aranha squid -c /srv/national
  url_rewrite_children 2 startup=1 idle=1 concurrency=1000
  url_rewrite_bypass on
  acl aranha browser ^aranha/
  url_rewrite_access deny aranha

The section [proxy_cache] of the collection's aranha.toml selects the pages. By default, pages in \
scope that have no query string are passed on, each at most once a day.

To test it:
  echo '0 http://example.org/ 192.0.2.1/- - GET' | aranha squid -c example";

/// Capacity of the queue to the signal writer.
const QUEUE_CAPACITY: usize = 4096;

/// After the end of the input, the program waits at most this long for the signal writer to finish.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Run as a Squid helper that tells the crawl which pages are requested through the proxy
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
}

pub(crate) fn run(arguments: &Arguments) -> ExitStatus {
    let (sender, receiver) = mpsc::sync_channel(QUEUE_CAPACITY);
    let (done, ended) = mpsc::channel::<()>();
    let tally = Arc::new(Tally::default());
    let writer = SignalWriter::new(&arguments.collection, tally.clone());
    let spawned = std::thread::Builder::new()
        .name("signal writer".to_owned())
        .spawn(move || {
            writer.run(&receiver);
            drop(done);
        });
    if let Err(error) = spawned {
        message(format_args!(
            "aranha squid: no pages are passed to the crawl: cannot start a thread: {error}"
        ));
    }
    serve(io::stdin().lock(), io::stdout().lock(), &sender, &tally);
    drop(sender);
    // Squid must not wait for a slow disk.
    let _ = ended.recv_timeout(SHUTDOWN_GRACE);
    message(format_args!("aranha squid: {tally}"));
    ExitStatus::Done
}

/// Replies to every line until the end of the input.
fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    queue: &SyncSender<ProxyRequest>,
    tally: &Tally,
) {
    let clock = Clock::new();
    let mut lines = LineSplitter::default();
    let mut replies = Vec::new();
    loop {
        let bytes = match input.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let count = bytes.len();
        replies.clear();
        let mut urls = Vec::new();
        lines.push(bytes, |line| {
            let RequestLine { channel, url } = protocol::parse(line);
            replies.extend_from_slice(channel);
            replies.extend_from_slice(if channel.is_empty() {
                b"ERR\n"
            } else {
                b" ERR\n"
            });
            tally.count_request();
            urls.extend(url.map(str::to_owned));
        });
        input.consume(count);
        // An error means that Squid has closed the output. Squid then also closes the input, which ends this loop.
        let _ = output.write_all(&replies).and_then(|()| output.flush());
        for url in urls {
            let at = clock.now();
            if queue.try_send(ProxyRequest { url, at }).is_err() {
                tally.count_dropped();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replies to an input, and the URLs that are put into the queue.
    fn replies(input: &[u8], capacity: usize) -> (String, Vec<String>) {
        let (sender, receiver) = mpsc::sync_channel(capacity);
        let mut output = Vec::new();
        serve(input, &mut output, &sender, &Tally::default());
        drop(sender);
        let urls = receiver.iter().map(|request| request.url).collect();
        (String::from_utf8(output).expect("replies are text"), urls)
    }

    #[test]
    fn every_line_gets_one_reply() {
        let input = b"0 http://a.example/ 127.0.0.1/- - GET myip=- myport=3128\n\
            7 http://b.example/ 127.0.0.1/- - POST\n\
            12 c.example:443 127.0.0.1/- - CONNECT\n\
            http://d.example/ 127.0.0.1/- - GET\n\
            \xff\xfe\x00 \x01\n\
            \n\
            99\n\
            3 http://\xff.example/ 127.0.0.1/- - GET\n";
        let (replies, urls) = replies(input, 100);
        assert_eq!(
            replies,
            "0 ERR\n7 ERR\n12 ERR\nERR\nERR\nERR\n99 ERR\n3 ERR\n"
        );
        assert_eq!(urls, ["http://a.example/", "http://d.example/"]);
    }

    #[test]
    fn an_overlong_line_gets_one_reply_and_no_url_is_taken() {
        let mut input = b"5 http://a.example/".to_vec();
        input.resize(3 << 20, b'x');
        input.extend_from_slice(b" 127.0.0.1/- - GET\n6 http://b.example/ 127.0.0.1/- - GET\n");
        let (replies, urls) = replies(&input, 100);
        assert_eq!(replies, "5 ERR\n6 ERR\n");
        assert_eq!(urls, ["http://b.example/"]);
    }

    #[test]
    fn a_full_queue_does_not_delay_replies() {
        let line = "1 http://a.example/ 127.0.0.1/- - GET\n";
        let (sender, _receiver) = mpsc::sync_channel(2);
        let tally = Tally::default();
        let mut output = Vec::new();
        serve(line.repeat(10).as_bytes(), &mut output, &sender, &tally);
        assert_eq!(output, "1 ERR\n".repeat(10).as_bytes());
        assert!(tally.to_string().contains("8 dropped"), "{tally}");
    }
}
