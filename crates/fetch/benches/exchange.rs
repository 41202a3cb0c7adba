//! Measures the client's CPU time per fetch over loopback. Run by `cargo bench -p aranha-fetch`.
//!
//! A server thread with blocking sockets responds over one kept-alive connection. The client uses a current-thread
//! runtime, so its CPU time, including system calls, is the CPU time of one thread (`/proc/thread-self/schedstat`).

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    time::Instant,
};

use aranha_fetch::{FetchRequest, FetchSession, Fetcher, Options};
use aranha_url::{Blacklist, Canonicaliser, UrlRules};

const EXCHANGES: u32 = 20_000;

fn main() {
    let page = vec![b'x'; 20 << 10];
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let lines = (0..4000).map(|n| format!("<p>Paragraph {n} of {}</p>\n", n * 7919 % 1000));
    let text = lines.collect::<Vec<_>>().concat();
    coder
        .write_all(text.as_bytes())
        .expect("a write to memory cannot fail");
    let coded = coder.finish().expect("a write to memory cannot fail");
    let plain = response("", &page);
    let mut chunked = head("Transfer-Encoding: chunked\r\n");
    for chunk in page.chunks(4 << 10) {
        chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    report("20 KB, Content-Length", plain);
    report("20 KB, five chunks", chunked);
    report(
        &format!("gzip {} to {} bytes", coded.len(), text.len()),
        response("Content-Encoding: gzip\r\n", &coded),
    );
    report("empty", response("", b""));
}

fn head(fields: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nServer: nginx/1.26.0\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n\
         Content-Type: text/html; charset=utf-8\r\nLast-Modified: Sat, 14 Nov 2026 12:00:00 GMT\r\n\
         Connection: keep-alive\r\nETag: \"5f3e-62\"\r\nAccept-Ranges: bytes\r\nVary: Accept-Encoding\r\n{fields}\r\n"
    )
    .into_bytes()
}

fn response(fields: &str, body: &[u8]) -> Vec<u8> {
    let mut wire = head(&format!("Content-Length: {}\r\n{fields}", body.len()));
    wire.extend_from_slice(body);
    wire
}

fn serve(response: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("the listener is bound");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client connects");
        stream
            .set_nodelay(true)
            .expect("the socket option can be set");
        let mut request = [0; 4096];
        while stream.read(&mut request).is_ok_and(|length| length > 0) {
            if stream.write_all(&response).is_err() {
                return;
            }
        }
    });
    address
}

fn report(name: &str, response: Vec<u8>) {
    let address = serve(response);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    let options = Options {
        allow_private: true,
        resolvers: vec!["127.0.0.1:1".parse().expect("the address is valid")],
        ..Options::default()
    };
    let fetcher = Fetcher::new(options, Blacklist::default()).expect("the options are valid");
    let url = Canonicaliser::new(UrlRules::default())
        .canon(&format!("http://{address}/page"))
        .expect("the URL is valid");
    runtime.block_on(async {
        let mut session = FetchSession::new();
        let (begun, before) = (Instant::now(), cpu_ns());
        for _ in 0..EXCHANGES {
            let fetched = fetcher
                .fetch(&mut session, FetchRequest::new(&url, address.ip()))
                .await;
            assert!(
                fetched
                    .result
                    .is_ok_and(|response| response.truncated.is_none())
            );
        }
        let cpu = (cpu_ns() - before) as f64 / f64::from(EXCHANGES) / 1000.0;
        let wall = begun.elapsed().as_secs_f64() * 1e6 / f64::from(EXCHANGES);
        println!("{name:<32} {cpu:6.1} µs CPU, {wall:6.1} µs wall");
    });
}

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")
        .expect("the benchmark runs on Linux");
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .expect("the first field is a number")
}
