//! Measures the speed of writing an archive:
//! `cargo run --release -p aranha-volume --example write_speed -- DIR [N] [LEVEL] [THREADS] [gzip|zstd] [TARGET]`.
//!
//! It appends N pages (default 20,000), using the HTML files under DIR again and again. Every page gets a comment with
//! its number, so that no page is a duplicate. It syncs after every 1,000 pages, as a crawl does. It prints pages and
//! megabytes per second, the compression ratio, the processor time per page, and the number of bytes written to the
//! disk per byte of page content. The volumes are written to a temporary folder under TARGET. `bench/storage` runs this
//! program once for each row of its table.

use std::path::{Path, PathBuf};
use std::time::Instant;

use aranha_volume::{Archive, Compression, Exchange, Options};
use bytes::Bytes;

/// The same allocator as in the binary `aranha`.
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
        Some(other) => {
            return Err(format!("unknown compression {other:?}: use gzip or zstd").into());
        }
    };
    let mut pages = Vec::new();
    read_pages(Path::new(&folder), &mut pages)?;
    if pages.is_empty() {
        return Err(format!("no .html files under {folder}").into());
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
    runtime.block_on(measure(target.path(), options, &pages, count))
}

/// Reads up to 3,000 pages into memory, so that reading them is not measured.
fn read_pages(folder: &Path, pages: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if pages.len() >= 3000 {
            break;
        }
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            pages.push(std::fs::read(path)?);
        }
    }
    Ok(())
}

async fn measure(
    target: &Path,
    options: Options,
    pages: &[Vec<u8>],
    count: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let (compression, level, threads) = (options.compression, options.level, options.threads);
    let (archive, _) = Archive::open(target, options)?;
    let (mut page_bytes, mut compressed) = (0, 0);
    let mut receipts = Vec::new();
    let (start, processor) = (Instant::now(), processor_seconds());
    for number in 0..count {
        let exchange = exchange(&pages[number % pages.len()], number);
        page_bytes += exchange.response.len();
        receipts.push(archive.append(exchange).await?);
        if receipts.len() == 1000 || number + 1 == count {
            for receipt in receipts.drain(..) {
                compressed += receipt.await?.written;
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
        page_bytes as f64 / wall / 1e6,
        page_bytes as f64 / compressed as f64,
        processor / count as f64 * 1e6,
        page_bytes as f64 / count as f64 / 1e3,
        bytes_written() as f64 / page_bytes as f64,
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
        large: None,
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
        language: String::new(),
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

/// User and system time of this process, in seconds.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// Bytes that this process has written to the disk.
fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("write_bytes: "))
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}
