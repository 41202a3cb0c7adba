//! `spider-peer SEED FILE CONNECTIONS`: the `spider` crate crawls one host into one WARC file.
//!
//! The crate hands pages to its subscribers through a ring that drops what is not taken in time, its own WARC writer's
//! included. A wide ring and a subscriber that goes on after a loss are what makes it reach every page; its command line
//! does neither and stops early. robots.txt is not asked for and no pause is kept, as with the other peers.

use spider::tokio::{self, sync::broadcast::error::RecvError};
use spider::utils::warc::WarcConfig;
use spider::website::Website;

/// Pages that may wait in the ring.
const RING: usize = 32_768;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seed, file, connections] = arguments.as_slice() else {
        eprintln!("usage: spider-peer SEED FILE CONNECTIONS");
        std::process::exit(2);
    };
    let mut website = Website::new(seed);
    website.with_respect_robots_txt(false);
    website.with_depth(0);
    website.with_delay(0);
    website.with_concurrency_limit(connections.parse().ok());
    website.configuration.with_warc(WarcConfig {
        path: file.clone(),
        ..WarcConfig::default()
    });
    let mut pages = website.subscribe(RING);
    let counting = tokio::spawn(async move {
        let (mut seen, mut lost) = (0_u64, 0_u64);
        loop {
            match pages.recv().await {
                Ok(_) => seen += 1,
                Err(RecvError::Lagged(count)) => lost += count,
                Err(RecvError::Closed) => return (seen, lost),
            }
        }
    });
    website.crawl().await;
    website.unsubscribe();
    drop(website);
    if let Ok((seen, lost)) = counting.await {
        eprintln!("{seen} pages seen, {lost} lost");
    }
}
