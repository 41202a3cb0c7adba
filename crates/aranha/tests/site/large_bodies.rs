//! Bodies that are larger than the limits of the crawl.

use std::process::Command;
use std::time::Duration;

use crate::scripted_site::{ScriptedSite, crawl, links, run};
use crate::settings;
use crate::support::{aranha, assert_status, assert_valid, pages};

/// Everything that a command prints. It must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_status(&output, 0);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// A text of this many bytes that cannot be compressed well.
fn noise(bytes: usize) -> String {
    let mut body = String::with_capacity(bytes);
    let mut state: u64 = 7;
    while body.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        body.push(char::from(b' ' + (state >> 33) as u8 % 90));
    }
    body
}

/// The response to a request for a file with this body.
fn file(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The same response with its body in chunks.
fn chunked_file(body: &str) -> String {
    let chunk = |piece: &[u8]| {
        let piece = str::from_utf8(piece).unwrap();
        format!("{:x}\r\n{piece}\r\n", piece.len())
    };
    let chunks: String = body.as_bytes().chunks(100_000).map(chunk).collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    )
}

/// Runs a command. Returns the peak of its resident memory in bytes.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        if let Some(kilobytes) = line.and_then(|line| line.split_whitespace().nth(1)) {
            peak = kilobytes.parse::<u64>().unwrap() << 10;
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A body that is larger than `fetch.body_memory` is received into a file and stored completely. A second copy becomes
/// a revisit record.
#[test]
fn a_body_larger_than_the_memory_for_bodies_is_stored_completely() {
    const SIZE: usize = 64 << 20;
    // Gzip finds no repetition, because its window is smaller than the repeated text.
    let body: &'static str = noise(1 << 20).repeat(SIZE >> 20).leak();
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/large", "/copy"]),
        "/large" => file(body),
        _ => chunked_file(body),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let text = "[fetch]\nmax_body = \"200MB\"\nbody_memory = \"8MiB\"\n";
    let config = settings(folder.path(), text);
    let peak = peak_memory(
        crawl(&collection, &site.url("/"))
            .arg("--config")
            .arg(&config),
    );
    assert!(peak < 108 << 20, "{} MB while crawling", peak >> 20);
    let archive = std::fs::read_dir(collection.join("archive")).unwrap();
    let sizes = archive.map(|file| file.unwrap().metadata().unwrap().len());
    let size: u64 = sizes.sum();
    assert!(
        size < SIZE as u64 * 3 / 2,
        "both copies were stored: {size}"
    );
    let pages = pages(&collection);
    for path in ["/large", "/copy"] {
        let page = &pages[&site.url(path)];
        assert_eq!(page["size"], SIZE, "{page}");
        assert_eq!(page["truncated"], false, "{page}");
        let printed = folder.path().join("printed");
        let mut cat = aranha();
        cat.args(["cat", &site.url(path), "-c"]).arg(&collection);
        cat.stdout(std::fs::File::create(&printed).unwrap());
        let peak = peak_memory(&mut cat);
        assert!(peak < 160 << 20, "{} MB for {path}", peak >> 20);
        assert!(
            std::fs::read(&printed).unwrap() == body.as_bytes(),
            "{path}"
        );
    }
    assert_valid(&collection);
    let mirror = folder.path().join("mirror");
    run(aranha()
        .args(["export", "mirror"])
        .arg(&mirror)
        .arg("-c")
        .arg(&collection));
}

/// A body that is longer than `fetch.max_body` is stored in part. All output about the page says that it is truncated.
#[test]
fn a_truncated_page_is_marked_in_pages_why_and_the_summary() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/large", "/small"]),
        "/large" => file(&noise(200_000)),
        _ => file(&noise(1000)),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let config = settings(folder.path(), "[fetch]\nmax_body = \"100kB\"\n");
    let mut command = aranha();
    command
        .args(["crawl", &site.url("/"), "--allow-private", "--pause", "0"])
        .arg("--config")
        .arg(&config)
        .arg("-c")
        .arg(&collection);
    let summary = output(&mut command);
    assert!(
        summary.contains("truncated") && summary.contains("1 page stored in part"),
        "{summary}"
    );
    let pages = output(aranha().args(["pages", "-c"]).arg(&collection));
    for line in pages.lines() {
        assert_eq!(
            line.ends_with("\ttruncated"),
            line.contains("/large"),
            "{line}"
        );
    }
    let why = |path: &str| {
        output(
            aranha()
                .args(["why", &site.url(path), "-c"])
                .arg(&collection),
        )
    };
    let large = why("/large");
    assert!(
        large.contains("truncated: the body is longer than fetch.max_body"),
        "{large}"
    );
    assert!(!why("/small").contains("truncated"));
    let mut json = crawl(&folder.path().join("json"), &site.url("/"));
    let json = output(json.args(["--json", "--config"]).arg(&config));
    let end = json.lines().last().unwrap_or_default();
    assert!(end.contains("\"truncated\":1"), "{end}");
    run(aranha().args(["check", "-c"]).arg(&collection));
}
