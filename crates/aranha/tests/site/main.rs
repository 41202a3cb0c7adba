//! How the crawl reacts to one site that behaves in a particular way.
//!
//! Each test starts a server of a few lines, crawls it with the real binary, and checks the requests that the server
//! received. Read first: `scripted_site`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod assets;
mod black_list;
mod crash_loop;
mod credentials;
mod daily;
mod dns;
mod faults;
mod folders;
mod frontier_files;
mod keep;
mod large_bodies;
mod limits;
mod listings;
mod page_content;
mod redirects;
mod references;
mod repair;
mod retries;
mod robots_txt;
mod rules;
#[path = "../scripted_site/mod.rs"]
mod scripted_site;
mod seed_settings;
mod seeds;
mod selective;
mod set_flag;
mod sitemaps;
mod status;
#[path = "../support/mod.rs"]
mod support;
mod thresholds;
mod tracking;

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::Path;

use support::pages;

/// The newest outcome of every page, by path.
pub(crate) fn outcomes(folder: &Path) -> BTreeMap<String, String> {
    let path = |url: &str| {
        url.splitn(4, '/')
            .nth(3)
            .map(|rest| format!("/{rest}"))
            .unwrap()
    };
    pages(folder)
        .into_iter()
        .map(|(url, page)| (path(&url), page["outcome"].as_str().unwrap().to_owned()))
        .collect()
}

pub(crate) fn settings(folder: &Path, text: &str) -> std::path::PathBuf {
    let file = folder.join("settings.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// Starts a DNS server that resolves every name to 127.0.0.1, and returns its address.
pub(crate) fn resolver_to_loopback() -> String {
    let names = UdpSocket::bind("127.0.0.1:0").unwrap();
    let resolver = names.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = names.recv_from(&mut query) {
            // The response repeats the question and has one answer: same name, A, IN, TTL 60, 127.0.0.1.
            let end = 12
                + query[12..length]
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap()
                + 5;
            let address = query[end - 4..end - 2] == [0, 1];
            let mut answer = query[..end].to_vec();
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            answer[6..12].copy_from_slice(&[0, u8::from(address), 0, 0, 0, 0]);
            if address {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = names.send_to(&answer, from);
        }
    });
    resolver
}

/// A TCP port on 127.0.0.1 on which no server listens.
pub(crate) fn closed_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
