//! CDXJ lines. A line has a key without spaces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some((key, _)) = aranha_volume::fuzzing::cdxj_line(data) {
        assert!(!key.contains(' ') && data.starts_with(key.as_bytes()));
    }
    // Any URL and media type can be written to a line and read again.
    let text = String::from_utf8_lossy(data);
    let (url, media_type) = text.split_once('\n').unwrap_or((&text, "text/html"));
    let clean = |text: &str| text.replace(['\r', '\n'], " ");
    let block = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\n\r\n",
        clean(media_type)
    );
    let record = format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {}\r\nWARC-Date: 2026-11-18T10:00:00Z\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        clean(url),
        block.len()
    );
    if let Ok(record) = aranha_volume::fuzzing::record(record.as_bytes()) {
        aranha_volume::fuzzing::index_line(&record, 0, 1000);
    }
});
