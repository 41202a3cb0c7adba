//! Blocks of the frontier: queue, waiting pages, page records, journal entries. What can be decoded is encoded and
//! decoded to the same value, and a sealed block is opened as it was.
#![no_main]

use aranha_frontier::fuzzing;
use libfuzzer_sys::fuzz_target;

fn decode(text: &[u8], fixed: &[u8]) {
    fuzzing::queue_block(text, fixed);
    fuzzing::waiting_pages(text, fixed);
    fuzzing::page_records(text, fixed);
    fuzzing::journal_entry(text, fixed);
}

fuzz_target!(|data: &[u8]| {
    if let Some((text, fixed)) = fuzzing::open(data) {
        decode(&text, &fixed);
        fuzzing::reseal(&text, &fixed);
    }
    // Without the envelope: the last byte is the length of the fixed part, in units of 4 bytes.
    if let Some((last, block)) = data.split_last() {
        let (text, fixed) = block.split_at(block.len().saturating_sub(usize::from(*last) * 4));
        decode(text, fixed);
        fuzzing::reseal(text, fixed);
    }
});
