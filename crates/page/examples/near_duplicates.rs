//! How far apart the sketches of different pages are: `cargo run --release -p aranha-page --example near -- DIRECTORY
//! [LIMIT]`.
//!
//! Reads HTML files of a directory tree, taken evenly, compares every two whose texts differ, and prints for each distance how many
//! pairs have it, the least, mean and greatest share of shingles that such pairs have in common (their Jaccard similarity, computed
//! exactly for up to 200 of them), and how many of these share less than half: the false alarms. Then every page is compared with
//! itself after two words in the middle were changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aranha_page::{Input, Options, Page, read, sketch_distance};

/// Pairs of one distance that are looked at closely.
const CLOSELY: usize = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: near DIRECTORY [LIMIT]");
        std::process::exit(2);
    };
    let limit: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3000);
    let mut files = Vec::new();
    collect(Path::new(&directory), &mut files);
    let step = files.len().div_ceil(limit).max(1);
    let mut pages: Vec<Page> = files
        .iter()
        .step_by(step)
        .map(|path| page(&std::fs::read(path).unwrap_or_default()))
        .collect();
    pages.retain(|page| page.sketch != 0);
    pages.sort_by_key(|page| page.text_digest);
    pages.dedup_by_key(|page| page.text_digest);
    println!("{} different texts", pages.len());
    pairs(&pages);
    changed(&pages);
}

fn page(body: &[u8]) -> Page {
    let input = Input {
        url: "http://example.org/",
        content_type: Some("text/html"),
        body,
        content_language: None,
    };
    read(&input, &Options::default())
}

fn pairs(pages: &[Page]) {
    let mut counts = [0_usize; 65];
    let mut shares: Vec<Vec<f64>> = vec![Vec::new(); 65];
    for (index, one) in pages.iter().enumerate() {
        for other in &pages[..index] {
            let apart = sketch_distance(one.sketch, other.sketch) as usize;
            counts[apart] += 1;
            if apart <= 16 && shares[apart].len() < CLOSELY {
                shares[apart].push(share(&one.text, &other.text));
            }
        }
    }
    for (apart, (count, shares)) in counts.iter().zip(&shares).enumerate().take(33) {
        let least = shares.iter().copied().fold(1.0, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let alarms = shares.iter().filter(|share| **share < 0.5).count();
        println!(
            "{apart:2} bits: {count:8} pairs, in common {least:.2} {mean:.2} {most:.2}, under half {alarms} of {}",
            shares.len()
        );
    }
}

/// The share of shingles that two texts have in common, numbers being one word.
fn share(one: &str, other: &str) -> f64 {
    let shingles = |text: &str| -> BTreeSet<[String; 3]> {
        let words: Vec<&str> = text
            .split_whitespace()
            .map(|word| {
                if word.starts_with(|c: char| c.is_ascii_digit()) {
                    "0"
                } else {
                    word
                }
            })
            .collect();
        words
            .windows(3)
            .map(|words| {
                [
                    words[0].to_owned(),
                    words[1].to_owned(),
                    words[2].to_owned(),
                ]
            })
            .collect()
    };
    let (one, other) = (shingles(one), shingles(other));
    one.intersection(&other).count() as f64 / one.union(&other).count().max(1) as f64
}

fn changed(pages: &[Page]) {
    for (least, most) in [
        (10, 50),
        (50, 100),
        (100, 200),
        (200, 500),
        (500, 2000),
        (2000, usize::MAX),
    ] {
        let mut apart: Vec<u32> = pages
            .iter()
            .filter(|page| (least..most).contains(&(page.words as usize)))
            .map(|page| {
                let mut words: Vec<&str> = page.text.split_whitespace().collect();
                let middle = words.len() / 2;
                words[middle] = "Maria";
                words[middle + 1] = "Silva";
                let text = format!("<!doctype html><plaintext>{}", words.join(" "));
                sketch_distance(page.sketch, self::page(text.as_bytes()).sketch)
            })
            .collect();
        apart.sort_unstable();
        let at = |share: f64| {
            apart
                .get((apart.len() as f64 * share) as usize)
                .copied()
                .unwrap_or(0)
        };
        println!(
            "two words of {least} to {most} changed: median {} bits, 90% {}, 99% {} ({} pages)",
            at(0.5),
            at(0.9),
            at(0.99),
            apart.len()
        );
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            files.push(path);
        }
    }
}
