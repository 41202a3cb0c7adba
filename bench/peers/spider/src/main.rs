//! `spider-peer SEED FILE CONNECTIONS`: the `spider` crate crawls one host into one WARC file.
//!
//! The crate passes pages to its subscribers, one of which is its WARC writer, through a bounded channel. The channel drops
//! pages that a subscriber does not receive in time. The crate's own command line stops early after such a loss. This program
//! uses a large channel and a subscriber that continues after a loss, so that the crate reaches every page. As for the other
//! crawlers, robots.txt is ignored and there is no pause.

use spider::tokio::{self, sync::broadcast::error::RecvError};
use spider::utils::warc::WarcConfig;
use spider::website::Website;

/// Capacity of the channel, in pages.
const CHANNEL_CAPACITY: usize = 32_768;

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
    let mut pages = website.subscribe(CHANNEL_CAPACITY);
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
