//! Chunked bodies. The data do not depend on the sizes of the reads, and the reader of archived bodies finds the same
//! data. A body that is written in chunks is read as it was.
#![no_main]

use aranha_fetch::fuzzing::{BodyEnd, dechunk};
use aranha_fuzz::{pieces, with_parameters};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (body, parameters) = with_parameters(data);
    let pieces = pieces(parameters);
    let (whole, end) = dechunk(body, &[usize::MAX]);
    assert_eq!(dechunk(body, &pieces), (whole.clone(), end));
    if let BodyEnd::At(end) = end {
        let (archived, _) = aranha_volume::fuzzing::dechunk(&body[..end], usize::MAX);
        assert_eq!(archived, whole, "the archive reads the same data");
    }
    let mut wire = Vec::new();
    for chunk in body.chunks(pieces[0]) {
        wire.extend_from_slice(format!("{:x};name=value\r\n", chunk.len()).as_bytes());
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
    let (read, end) = dechunk(&wire, &pieces);
    assert_eq!((&*read, end), (body, BodyEnd::At(wire.len())));
});
