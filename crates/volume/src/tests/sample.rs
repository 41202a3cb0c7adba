//! Sample exchanges for tests.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Archive, Exchange, LargeBody, Options, Stored};

/// A temporary folder, in memory if possible, because some tests sync a thousand times.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = tempfile::tempdir_in(memory);
    folder.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Options with one worker, so that the volumes are written in the same order every time.
pub(crate) fn small_options() -> Options {
    Options {
        threads: 1,
        dedupe_minimum: 10,
        ..Options::default()
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A page whose content depends on the number.
pub(crate) fn page(number: u32) -> Exchange {
    let payload = format!(
        "<title>Página {number}</title>{}",
        "teia ".repeat(number as usize % 7 + 4)
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    Exchange {
        url: format!("http://example.org/{number}"),
        time_ms: 1_794_764_880_000 + i64::from(number),
        address: Some([192, 0, 2, 1].into()),
        request: Bytes::from_static(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        response: Bytes::from(format!("{head}{payload}")),
        large: None,
        with_record_end: None,
        head_length: head.len(),
        payload: Bytes::from(payload),
        status: 200,
        media_type: "text/html".to_owned(),
        truncated: None,
        metadata: [("hopsFromSeed", "L")].into_iter().collect(),
        not_modified: None,
    }
}

/// The exchange with a large body, in a file, that cannot be compressed.
pub(crate) fn noise(exchange: Exchange, size: u32) -> Exchange {
    let noise: Vec<u8> = (0..size)
        .map(|n| (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&noise).unwrap();
    Exchange {
        large: Some(Box::new(LargeBody {
            file: Arc::new(file),
            length: noise.len() as u64,
            payload_length: noise.len() as u64,
            payload_digest: crate::record::digest::sha1(&noise),
        })),
        ..exchange
    }
}

/// Writes the exchanges one after the other and closes the archive.
pub(crate) fn write_all(
    folder: &Path,
    options: Options,
    exchanges: impl IntoIterator<Item = Exchange>,
) -> Vec<Stored> {
    runtime().block_on(async {
        let (archive, _) = Archive::open(folder, options).unwrap();
        let mut stored = Vec::new();
        for exchange in exchanges {
            stored.push(archive.append(exchange).await.unwrap().await.unwrap());
        }
        archive.close().await.unwrap();
        stored
    })
}
