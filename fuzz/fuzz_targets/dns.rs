//! DNS messages. What is left of a message after its malformed records were cut off can be read. A look-up ends after a
//! limited number of queries, and its addresses do not depend on the case of the name.
#![no_main]

use aranha_fetch::fuzzing::addresses;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (first, second) = data.split_at(data.len().min(200));
    for messages in [vec![data], vec![data; 20], vec![first, second, data]] {
        let found = addresses("www.example.org.", &messages);
        assert_eq!(addresses("WWW.Example.ORG.", &messages), found);
        assert!(found.is_none_or(|(addresses, _)| !addresses.is_empty()));
    }
});
