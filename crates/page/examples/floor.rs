//! Gives a lower bound for the cost of an archival crawl: this program fetches, reads, hashes, compresses and writes
//! pages, and does nothing else.
//!
//! ```text
//! cargo run --release -p aranha-page --example floor -- 127.0.0.1:8480 PATHS OUT [CONNECTIONS]
//! ```
//!
//! PATHS has one path per line. Each of CONNECTIONS threads (default 4) keeps one connection, requests the next path,
//! reads the page with `aranha_page` and the options of a crawl, computes both digests of a WARC record (payload and
//! block), compresses the response at the crawl's default level, and appends it to one file in large writes. It uses
//! no DNS, scope, courtesy pause or frontier, writes no WARC headers, index or log, and does not sync the file.
//! `bench/run` compares the processor time per page of aranha and of this program. Responses must have a
//! Content-Length, as nginx sends for files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use libdeflater::{CompressionLvl, Compressor};

/// The allocator that aranha uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The default value of `volume.level`.
const COMPRESSION_LEVEL: i32 = 1;
/// Number of bytes that are collected before they are written.
const WRITE_BLOCK: usize = 1 << 20;

/// The state shared by all threads.
struct Floor {
    server: String,
    paths: Vec<String>,
    next: AtomicUsize,
    file: Mutex<(File, Vec<u8>)>,
    links: AtomicU64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, paths, out, rest @ ..] = arguments.as_slice() else {
        return Err("usage: floor HOST:PORT PATHS OUT [CONNECTIONS]".into());
    };
    // aranha disables huge pages too. With them, this program spent a tenth of its time on clearing memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let connections = rest.first().map_or(Ok(4), |number| number.parse())?;
    let floor = Floor {
        server: server.clone(),
        paths: std::fs::read_to_string(paths)?
            .lines()
            .map(str::to_owned)
            .collect(),
        next: AtomicUsize::new(0),
        file: Mutex::new((File::create(out)?, Vec::with_capacity(2 * WRITE_BLOCK))),
        links: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| floor.fetch_pages()))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("thread did not panic"))
    })?;
    let (mut file, block) = floor
        .file
        .into_inner()
        .expect("no thread panicked with the lock");
    file.write_all(&block)?;
    eprintln!(
        "{} pages, {} links",
        floor.paths.len(),
        floor.links.into_inner()
    );
    Ok(())
}

impl Floor {
    /// The work of one thread: fetches and stores pages until no path is left.
    fn fetch_pages(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect(&self.server)?;
        stream.set_nodelay(true)?;
        let level = CompressionLvl::new(COMPRESSION_LEVEL).expect("valid compression level");
        let mut compressor = Compressor::new(level);
        let (mut response, mut compressed) = (vec![0; 64 << 10], Vec::new());
        while let Some(path) = self.paths.get(self.next.fetch_add(1, Relaxed)) {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: floor\r\n\r\n",
                self.server
            );
            stream.write_all(request.as_bytes())?;
            let (head, end) = receive(&mut stream, &mut response)?;
            let url = format!("http://{}{path}", self.server);
            self.store(
                &url,
                &response[..end],
                head,
                &mut compressor,
                &mut compressed,
            )?;
        }
        Ok(())
    }

    /// Reads, hashes, compresses and appends one response. `head` is the length of its head.
    fn store(
        &self,
        url: &str,
        response: &[u8],
        head: usize,
        compressor: &mut Compressor,
        compressed: &mut Vec<u8>,
    ) -> io::Result<()> {
        let page = aranha_page::read(
            &aranha_page::Input {
                url,
                content_type: Some("text/html"),
                body: &response[head..],
                content_language: None,
            },
            &aranha_page::Options::default(),
        );
        self.links.fetch_add(page.links.len() as u64, Relaxed);
        let digests = aranha_volume::sha1_pair([&response[head..], response]);
        compressed.resize(compressor.gzip_compress_bound(response.len()), 0);
        let length = compressor
            .gzip_compress(response, compressed)
            .map_err(|_| io::Error::other("compression exceeds the bound of libdeflate"))?;
        let mut guard = self.file.lock().expect("no thread panicked with the lock");
        let (file, block) = &mut *guard;
        block.extend_from_slice(&compressed[..length]);
        block.extend_from_slice(&digests.concat());
        if block.len() >= WRITE_BLOCK {
            file.write_all(block)?;
            block.clear();
        }
        Ok(())
    }
}

/// Reads one response into the buffer. Returns the length of its head and its total length.
fn receive(stream: &mut TcpStream, response: &mut Vec<u8>) -> io::Result<(usize, usize)> {
    let (mut filled, mut lengths) = (0, None);
    loop {
        if let Some((head, end)) = lengths
            && filled >= end
        {
            return Ok((head, end));
        }
        if filled == response.len() || lengths.is_some_and(|(_, end)| end > response.len()) {
            let wanted = lengths.map_or(0, |(_, end)| end).max(2 * filled);
            response.resize(wanted, 0);
        }
        let read = stream.read(&mut response[filled..])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += read;
        if lengths.is_none() {
            lengths = response_lengths(&response[..filled])?;
        }
    }
}

/// The length of the head and of the whole response. `None` if the head is incomplete.
fn response_lengths(response: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(end) = memchr::memmem::find(response, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = end + 4;
    let name = b"Content-Length: ";
    let length = memchr::memmem::find(&response[..head], name)
        .map(|at| &response[at + name.len()..head])
        .map(|value| value.iter().take_while(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| io::Error::other("response without Content-Length"))?
        .fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    Ok(Some((head, head + length)))
}
