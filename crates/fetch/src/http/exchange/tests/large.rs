//! Bodies that do not fit into memory and continue in a file.

use std::os::unix::fs::FileExt as _;

use sha1::{Digest as _, Sha1};

use super::{StreamEnd, exchange_with, runtime};
use crate::{Options, Truncated};

/// The rest of a body that does not fit into memory goes to a file, whatever its framing and the sizes of the reads.
#[test]
fn a_body_larger_than_its_memory_continues_in_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        spool_folder: Some(folder.path().to_owned()),
        body_memory: 1 << 20, // half of it is for received bodies
        max_body: 3_000_000,
        ..Options::default()
    };
    let body: Vec<u8> = (0..2_600_000_u32).map(|n| (n / 7 % 251) as u8).collect();
    let chunked = |sizes: &[usize]| {
        let (mut wire, mut rest, mut number) = (Vec::new(), &body[..], 0);
        while !rest.is_empty() {
            let size = sizes[number % sizes.len()].min(rest.len());
            number += 1;
            wire.extend_from_slice(format!("{size:x}\r\n").as_bytes());
            wire.extend_from_slice(&rest[..size]);
            wire.extend_from_slice(b"\r\n");
            rest = &rest[size..];
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        wire
    };
    let length = format!("Content-Length: {}\r\n", body.len());
    let too_long = "Content-Length: 9000000\r\n";
    let coding = "Transfer-Encoding: chunked\r\n";
    let (plain, few, many) = (
        body.clone(),
        chunked(&[1_000_000]),
        chunked(&[9, 100, 4000]),
    );
    let cases = [
        (&length[..], &plain, StreamEnd::Silence, None, true),
        ("", &plain, StreamEnd::Close, None, false),
        (coding, &few, StreamEnd::Silence, None, true),
        (coding, &many, StreamEnd::Silence, None, true),
        (
            too_long,
            &plain,
            StreamEnd::Reset,
            Some(Truncated::Disconnect),
            false,
        ),
        (
            too_long,
            &plain,
            StreamEnd::Silence,
            Some(Truncated::Time),
            false,
        ),
    ];
    for (fields, wire, end, truncated, reusable) in cases {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n{fields}\r\n");
        let response = [head.as_bytes(), wire].concat();
        for pieces in [&[usize::MAX][..], &[70_001, 0, 3], &[1_100_000]] {
            let context = format!("{fields:?} {pieces:?}");
            let exchanged = exchange_with(&runtime(), &options, &response, pieces, end);
            assert_eq!(exchanged.reusable, reusable, "{context}");
            assert!(exchanged.response.len() < 700_000, "{context}");
            assert!(response.starts_with(&exchanged.response), "{context}");
            let received = exchanged.result.expect("the exchange has a response");
            assert_eq!(received.truncated, truncated, "{context}");
            assert!(received.head.remarks.is_empty(), "{context}");
            assert!(body.starts_with(&received.payload), "{context}");
            assert!(received.payload.len() > 400_000, "{context}");
            let spooled = received.spooled.expect("the body is in a file");
            let mut stored = vec![0; spooled.length as usize];
            spooled
                .file
                .read_exact_at(&mut stored, 0)
                .expect("the file is complete");
            assert!(stored == *wire, "{context}");
            assert_eq!(spooled.payload_length, body.len() as u64, "{context}");
            let digest: [u8; 20] = Sha1::digest(&body).into();
            assert_eq!(spooled.payload_digest, digest, "{context}");
        }
    }
    let names = std::fs::read_dir(folder.path()).expect("the folder exists");
    assert_eq!(names.count(), 0, "the files have no names");
}

#[test]
fn a_body_in_a_file_is_truncated_at_the_size_limit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        spool_folder: Some(folder.path().to_owned()),
        body_memory: 1 << 20,
        max_body: 2_000_001,
        ..Options::default()
    };
    let body = vec![b'x'; 5_000_000];
    let chunked = [b"4c4b40\r\n", &body[..], b"\r\n0\r\n\r\n"].concat();
    for (fields, wire, framing) in [
        ("Content-Length: 5000000\r\n", &body, 0),
        ("Transfer-Encoding: chunked\r\n", &chunked, 8),
        ("", &body, 0),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n{fields}\r\n");
        let response = [head.as_bytes(), wire].concat();
        let exchanged = exchange_with(
            &runtime(),
            &options,
            &response,
            &[90_000],
            StreamEnd::Silence,
        );
        let received = exchanged.result.expect("the exchange has a response");
        assert_eq!(received.truncated, Some(Truncated::Length), "{fields}");
        let spooled = received.spooled.expect("the body is in a file");
        assert_eq!(
            (spooled.length, spooled.payload_length),
            (2_000_001, 2_000_001 - framing)
        );
    }
    let missing = Options {
        spool_folder: Some(folder.path().join("missing")),
        ..options
    };
    let response = [
        b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n",
        &body[..],
    ]
    .concat();
    let exchanged = exchange_with(
        &runtime(),
        &missing,
        &response,
        &[90_000],
        StreamEnd::Silence,
    );
    let failure = exchanged.result.expect_err("there is no folder");
    assert_eq!(failure.code(), "disk");
}
