//! The floor under a crawl's cost: the work that no archiving crawler can leave out, and nothing else.
//!
//! ```text
//! cargo run --release -p aranha-page --example floor -- 127.0.0.1:8480 PATHS OUT [CONNECTIONS]
//! ```
//!
//! PATHS has one path a line. Each of a few threads (4) keeps one connection, asks for the next path, reads the answer,
//! reads the page with `aranha_page` as a crawl does, takes both digests of a WARC record (of the payload and of the
//! whole block), compresses the answer at the crawl's default level, and appends it to one file in large writes. No
//! names, scope, courtesy, frontier, records, index, log, nor sync. `bench/run` holds aranha's processor time a page
//! against this program's. Answers must have a Content-Length, as nginx gives files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use libdeflater::{CompressionLvl, Compressor};

/// The same allocator as aranha's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The default of `volume.level`.
const LEVEL: i32 = 1;
/// Bytes gathered before they are written.
const BLOCK: usize = 1 << 20;

/// What all threads share.
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
    // As aranha: a tenth of the time went into clearing huge pages.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let connections = rest.first().map_or(Ok(4), |text| text.parse())?;
    let floor = Floor {
        server: server.clone(),
        paths: std::fs::read_to_string(paths)?
            .lines()
            .map(str::to_owned)
            .collect(),
        next: AtomicUsize::new(0),
        file: Mutex::new((File::create(out)?, Vec::with_capacity(2 * BLOCK))),
        links: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| floor.work()))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    let (mut file, block) = floor.file.into_inner().expect("no thread panicked");
    file.write_all(&block)?;
    eprintln!(
        "{} pages, {} links",
        floor.paths.len(),
        floor.links.into_inner()
    );
    Ok(())
}

impl Floor {
    fn work(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect(&self.server)?;
        stream.set_nodelay(true)?;
        let level = CompressionLvl::new(LEVEL).expect("a level of libdeflate");
        let mut compressor = Compressor::new(level);
        let (mut answer, mut packed) = (vec![0; 64 << 10], Vec::new());
        while let Some(path) = self.paths.get(self.next.fetch_add(1, Relaxed)) {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: floor\r\n\r\n",
                self.server
            );
            stream.write_all(request.as_bytes())?;
            let (head, end) = receive(&mut stream, &mut answer)?;
            let url = format!("http://{}{path}", self.server);
            self.keep(&url, &answer[..end], head, &mut compressor, &mut packed)?;
        }
        Ok(())
    }

    /// Reads, hashes, compresses and appends one answer.
    fn keep(
        &self,
        url: &str,
        answer: &[u8],
        head: usize,
        compressor: &mut Compressor,
        packed: &mut Vec<u8>,
    ) -> io::Result<()> {
        let page = aranha_page::read(
            &aranha_page::Input {
                url,
                content_type: Some("text/html"),
                body: &answer[head..],
                content_language: None,
            },
            &aranha_page::Options::default(),
        );
        self.links.fetch_add(page.links.len() as u64, Relaxed);
        let digests = aranha_volume::sha1_pair([&answer[head..], answer]);
        packed.resize(compressor.gzip_compress_bound(answer.len()), 0);
        let length = compressor
            .gzip_compress(answer, packed)
            .map_err(|_| io::Error::other("the buffer has the size that was asked for"))?;
        let mut held = self.file.lock().expect("no thread panicked");
        let (file, block) = &mut *held;
        block.extend_from_slice(&packed[..length]);
        block.extend_from_slice(&digests.concat());
        if block.len() >= BLOCK {
            file.write_all(block)?;
            block.clear();
        }
        Ok(())
    }
}

/// One answer from the start of the buffer on: the length of its head, and of the whole.
fn receive(stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<(usize, usize)> {
    let (mut filled, mut ends) = (0, None);
    loop {
        if let Some((head, end)) = ends
            && filled >= end
        {
            return Ok((head, end));
        }
        if filled == answer.len() || ends.is_some_and(|(_, end)| end > answer.len()) {
            let wanted = ends.map_or(0, |(_, end)| end).max(2 * filled);
            answer.resize(wanted, 0);
        }
        let read = stream.read(&mut answer[filled..])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += read;
        if ends.is_none() {
            ends = frame(&answer[..filled])?;
        }
    }
}

/// Where the head ends and where the answer does, once the head is whole.
fn frame(answer: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(end) = memchr::memmem::find(answer, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = end + 4;
    let name = b"Content-Length: ";
    let length = memchr::memmem::find(&answer[..head], name)
        .map(|at| &answer[at + name.len()..head])
        .map(|value| value.iter().take_while(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| io::Error::other("an answer without Content-Length"))?
        .fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    Ok(Some((head, head + length)))
}
