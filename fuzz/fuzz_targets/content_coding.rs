//! Content codings. The output keeps its limit, a larger limit only adds to it, and the reader of archived bodies finds
//! the same data.
#![no_main]

use aranha_fetch::fuzzing::decode;
use aranha_fuzz::with_parameters;
use libfuzzer_sys::fuzz_target;

const CODINGS: [&str; 8] = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, gzip",
    "br, deflate",
    "zstd, gzip, br",
    "identity",
];

fuzz_target!(|data: &[u8]| {
    let (body, [coding, limit]) = with_parameters(data);
    let coding = CODINGS[usize::from(coding) % CODINGS.len()];
    let limit = 1 << (limit % 17);
    let (short, _) = decode(coding, body, limit);
    assert!(short.len() as u64 <= limit.max(body.len() as u64));
    let (long, has_fault) = decode(coding, body, 1 << 17);
    // The libraries for br and zstd drop some data before a fault.
    if matches!(coding, "gzip" | "deflate") && long.len() as u64 > limit {
        assert!(
            long.starts_with(&short),
            "a larger limit adds to the output"
        );
    }
    if matches!(coding, "gzip" | "deflate" | "identity") {
        let archived = aranha_volume::fuzzing::decode(coding, body, 1 << 17);
        assert_eq!(archived, long, "the archive reads the same data");
    }
    if coding == "identity" {
        assert!(long == body && !has_fault);
    }
});
