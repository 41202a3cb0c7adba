//! How fast pages become WARC records:
//! `cargo run --release -p aranha-volume --example write_speed -- DIR [N] [LEVEL] [THREADS] [gzip|zstd] [TARGET]`.
//!
//! Takes the HTML files under DIR round and round until N pages (20,000) were appended, each with a comment that makes
//! its payload differ, so that none is a duplicate; syncs every 1,000 pages as a crawl does; prints pages and megabytes
//! a second, the ratio, processor time a page, and how many bytes went to the disk for a byte of page. TARGET is where the
//! volumes are written (a temporary folder). `bench/storage` makes a table of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use aranha_volume::{Archive, Compression, Exchange, Options};
use bytes::Bytes;

/// The same allocator as aranha's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: write_speed DIR [N] [LEVEL] [THREADS] [gzip|zstd] [TARGET]")?;
    let count: usize = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let level = arguments
        .next()
        .map_or(Ok(Options::default().level), |text| text.parse())?;
    let threads = arguments
        .next()
        .map_or(Ok(Options::default().threads), |text| text.parse())?;
    let compression = match arguments.next().as_deref() {
        Some("zstd") => Compression::Zstd,
        Some("gzip") | None => Compression::Gzip,
        Some(other) => return Err(format!("gzip or zstd, not {other}").into()),
    };
    let mut pages = Vec::new();
    gather(Path::new(&folder), &mut pages)?;
    if pages.is_empty() {
        return Err("no .html files there".into());
    }
    let target = match arguments.next() {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let options = Options {
        compression,
        level,
        threads,
        ..Options::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(target.path(), options, &pages, count))
}

/// Up to 3,000 pages, in memory: the disk that holds them is not what is measured.
fn gather(folder: &Path, pages: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if pages.len() >= 3000 {
            break;
        }
        if path.is_dir() {
            gather(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            pages.push(std::fs::read(path)?);
        }
    }
    Ok(())
}

async fn run(
    target: &Path,
    options: Options,
    pages: &[Vec<u8>],
    count: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let (compression, level, threads) = (options.compression, options.level, options.threads);
    let (archive, _) = Archive::open(target, options)?;
    let (mut plain, mut packed) = (0, 0);
    let mut receipts = Vec::new();
    let (start, processor) = (Instant::now(), processor_seconds());
    for number in 0..count {
        let exchange = exchange(&pages[number % pages.len()], number);
        plain += exchange.response.len();
        receipts.push(archive.append(exchange).await?);
        if receipts.len() == 1000 || number + 1 == count {
            for receipt in receipts.drain(..) {
                packed += receipt.await?.written;
            }
            archive.sync().await?;
        }
    }
    let (wall, processor) = (
        start.elapsed().as_secs_f64(),
        processor_seconds() - processor,
    );
    let closing = Instant::now();
    archive.close().await?;
    let closing = closing.elapsed();
    println!(
        "{compression:?} level {level}, {threads} threads: {:.0} pages/s, {:.0} MB/s, {:.2}:1, {:.0} µs of processor a page of {:.1} kB, \
         {:.3} bytes to the disk a byte; closing {:.2} s",
        count as f64 / wall,
        plain as f64 / wall / 1e6,
        plain as f64 / packed as f64,
        processor / count as f64 * 1e6,
        plain as f64 / count as f64 / 1e3,
        written() as f64 / plain as f64,
        closing.as_secs_f64(),
    );
    Ok(())
}

fn exchange(page: &[u8], number: usize) -> Exchange {
    let mut response = format!(
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        page.len() + 17
    )
    .into_bytes();
    let head_length = response.len();
    response.extend_from_slice(page);
    response.extend_from_slice(format!("<!-- {number:08} -->").as_bytes());
    let response = Bytes::from(response);
    Exchange {
        url: format!("http://example.org/page/{number}.html"),
        time_ms: 1_794_764_880_000 + number as i64,
        address: Some([127, 0, 0, 1].into()),
        request: Bytes::from(format!(
            "GET /page/{number}.html HTTP/1.1\r\nHost: example.org\r\nUser-Agent: aranha/0.1.0\r\nAccept: */*\r\n\r\n"
        )),
        payload: response.slice(head_length..),
        response,
        head_length,
        status: 200,
        media_type: "text/html".to_owned(),
        truncated: None,
        metadata: [
            ("via", "http://example.org/"),
            ("hopsFromSeed", "LL"),
            ("fetchTimeMs", "12"),
        ]
        .into_iter()
        .collect(),
        with_record_end: None,
        not_modified: None,
    }
}

/// User and system time of this process.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// What this process sent to the disk.
fn written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("write_bytes: "))
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}
