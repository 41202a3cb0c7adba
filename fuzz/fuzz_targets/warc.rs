//! WARC records and volumes. The members of a volume do not depend on the sizes of the reads. A record that can be parsed
//! is found again after compression, and its index line can be read.
#![no_main]

use aranha_volume::{Compression, fuzzing};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let members = fuzzing::members(data, 8192);
    assert_eq!(fuzzing::members(data, 7), members);
    let mut end = 0;
    for (offset, length, _) in &members {
        assert_eq!(*offset, end);
        end += length;
    }
    assert!(end <= data.len() as u64);
    let contents = members.iter().map(|(_, _, bytes)| &bytes[..]);
    for bytes in contents.chain([data]) {
        let Ok(record) = fuzzing::record(bytes) else {
            continue;
        };
        let _ = (
            record.kind(),
            record.url(),
            record.time_ms(),
            record.http_status(),
            record.http_header("location"),
        );
        assert!(record.http_head().len() + record.http_body().len() <= record.block().len());
        assert!(record.payload(1000).len() <= 1000 && record.body_decoded(1000).len() <= 1000);
        fuzzing::index_line(&record, 17, bytes.len() as u64);
        for compression in [Compression::Gzip, Compression::Zstd] {
            let member = fuzzing::compress(compression, 3, bytes);
            let two = [&member[..], &member].concat();
            let read = fuzzing::members(&two, 100);
            let length = member.len() as u64;
            assert_eq!(
                read,
                [
                    (0, length, bytes.to_vec()),
                    (length, length, bytes.to_vec())
                ]
            );
        }
    }
});
