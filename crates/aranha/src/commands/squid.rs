//! `aranha squid`: the helper by which a Squid proxy tells which pages people ask for (I5; C 2.6, 3).
//!
//! ```text
//! Squid ─ stdin ─► line ─► answer: no rewriting ─ stdout ─► Squid
//!                   └► bounded queue ─► clerk: filters ─► signals.jsonl ─► a running crawl
//! ```
//!
//! What always holds: **every line is answered at once and alike, and nothing that happens to the collection delays or ends
//! the answering**. The thread that answers touches no file; the clerk, a thread of its own, may be as late as it likes, and
//! what finds the queue full is dropped and counted. The program ends at the end of its input, as Squid wants it.
//!
//! Read first: `line.rs` (Squid's protocol), then `clerk.rs` (what is taken, and what never).

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

What is taken is set under [proxy_cache] in the collection's aranha.toml; by default pages in
scope without a query string, once a day. Try it by hand:
  echo '0 http://example.org/ 192.0.2.1/- - GET' | aranha squid -c example";

/// Requests that wait for the clerk.
const QUEUE: usize = 4096;

/// How long the clerk may take to finish when Squid has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// Answer a Squid proxy at once, and note for the crawl which pages its users ask for
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
}

pub(crate) fn run(arguments: &Arguments) -> ExitStatus {
    let (sender, receiver) = mpsc::sync_channel(QUEUE);
    let (done, ended) = mpsc::channel::<()>();
    let tally = Arc::new(Tally::default());
    let clerk = SignalWriter::new(&arguments.collection, tally.clone());
    let spawned = std::thread::Builder::new()
        .name("clerk".to_owned())
        .spawn(move || {
            clerk.work(&receiver);
            drop(done);
        });
    if let Err(error) = spawned {
        message(format_args!("aranha squid: no pages are taken: {error}"));
    }
    serve(io::stdin().lock(), io::stdout().lock(), &sender, &tally);
    drop(sender);
    // Whatever holds the clerk up, Squid does not wait for it.
    let _ = ended.recv_timeout(FAREWELL);
    message(format_args!("aranha squid: {tally}"));
    ExitStatus::Done
}

/// Answers until the input ends.
fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    queue: &SyncSender<ProxyRequest>,
    tally: &Tally,
) {
    let clock = Clock::new();
    let mut lines = LineSplitter::default();
    let mut answers = Vec::new();
    loop {
        let bytes = match input.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let count = bytes.len();
        answers.clear();
        let mut told = Vec::new();
        lines.push(bytes, |line| {
            let RequestLine { channel, url } = protocol::read(line);
            answers.extend_from_slice(channel);
            answers.extend_from_slice(if channel.is_empty() {
                b"ERR\n"
            } else {
                b" ERR\n"
            });
            tally.requests();
            told.extend(url.map(str::to_owned));
        });
        input.consume(count);
        // A proxy that does not listen any more has closed our input too, or will.
        let _ = output.write_all(&answers).and_then(|()| output.flush());
        for url in told {
            let at = clock.now();
            if queue.try_send(ProxyRequest { url, at }).is_err() {
                tally.dropped();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of an input: the answers, and the URLs that reach the queue.
    fn answered(input: &[u8], room: usize) -> (String, Vec<String>) {
        let (sender, receiver) = mpsc::sync_channel(room);
        let mut output = Vec::new();
        serve(input, &mut output, &sender, &Tally::default());
        drop(sender);
        let urls = receiver.iter().map(|heard| heard.url).collect();
        (String::from_utf8(output).expect("answers are text"), urls)
    }

    #[test]
    fn every_line_has_its_answer() {
        let input = b"0 http://a.example/ 127.0.0.1/- - GET myip=- myport=3128\n\
            7 http://b.example/ 127.0.0.1/- - POST\n\
            12 c.example:443 127.0.0.1/- - CONNECT\n\
            http://d.example/ 127.0.0.1/- - GET\n\
            \xff\xfe\x00 \x01\n\
            \n\
            99\n\
            3 http://\xff.example/ 127.0.0.1/- - GET\n";
        let (answers, urls) = answered(input, 100);
        assert_eq!(
            answers,
            "0 ERR\n7 ERR\n12 ERR\nERR\nERR\nERR\n99 ERR\n3 ERR\n"
        );
        assert_eq!(urls, ["http://a.example/", "http://d.example/"]);
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_is_answered_once() {
        let mut input = b"5 http://a.example/".to_vec();
        input.resize(3 << 20, b'x');
        input.extend_from_slice(b" 127.0.0.1/- - GET\n6 http://b.example/ 127.0.0.1/- - GET\n");
        let (answers, urls) = answered(&input, 100);
        assert_eq!(answers, "5 ERR\n6 ERR\n");
        assert_eq!(urls, ["http://b.example/"]);
    }

    #[test]
    fn a_full_queue_delays_nothing() {
        let line = "1 http://a.example/ 127.0.0.1/- - GET\n";
        let (sender, _receiver) = mpsc::sync_channel(2);
        let tally = Tally::default();
        let mut output = Vec::new();
        serve(line.repeat(10).as_bytes(), &mut output, &sender, &tally);
        assert_eq!(output, "1 ERR\n".repeat(10).as_bytes());
        assert!(tally.to_string().contains("8 dropped"), "{tally}");
    }
}
