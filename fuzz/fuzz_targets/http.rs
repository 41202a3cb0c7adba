//! The HTTP exchange. The response does not depend on the sizes of the reads, and keeps its limits.
#![no_main]

use aranha_fetch::{Options, fuzzing::receive};
use aranha_fuzz::{pieces, with_parameters};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (wire, parameters) = with_parameters(data);
    let options = Options {
        max_head: 2000,
        max_body: 5000,
        max_decoded: 10_000,
        ..Options::default()
    };
    let whole = receive(wire, &[usize::MAX], &options);
    let parts = receive(wire, &pieces(parameters), &options);
    assert_eq!(parts, whole);
});
