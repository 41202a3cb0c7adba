//! Measures the distance between the sketches of different pages, to choose the threshold for near duplicates.
//!
//! ```text
//! cargo run --release -p aranha-page --example near_duplicates -- DIRECTORY [LIMIT]
//! ```
//!
//! Reads up to LIMIT (default 3,000) HTML files of a directory tree, evenly sampled, and compares all pairs of
//! different texts. For each distance, it prints the number of pairs. For up to 200 of these pairs, it computes the
//! Jaccard similarity of their shingles exactly, and prints the minimum, the mean, the maximum, and the number of pairs
//! below 0.5, which are false positives. Then it compares every page with a copy in which two words in the middle are
//! replaced.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aranha_page::{Input, Options, Page, read};

/// Maximum number of pairs per distance whose similarity is computed exactly.
const MAX_EXACT_PAIRS: usize = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: near_duplicates DIRECTORY [LIMIT]");
        std::process::exit(2);
    };
    let limit: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3000);
    let mut files = Vec::new();
    collect_html(Path::new(&directory), &mut files);
    let step = files.len().div_ceil(limit).max(1);
    let mut pages: Vec<Page> = files
        .iter()
        .step_by(step)
        .map(|path| read_html(&std::fs::read(path).unwrap_or_default()))
        .collect();
    pages.retain(|page| page.sketch != 0);
    pages.sort_by_key(|page| page.text_digest);
    pages.dedup_by_key(|page| page.text_digest);
    println!("{} different texts", pages.len());
    compare_pairs(&pages);
    compare_with_changed(&pages);
}

/// The number of bits in which two sketches differ.
fn sketch_distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

fn read_html(body: &[u8]) -> Page {
    let input = Input {
        url: "http://example.org/",
        content_type: Some("text/html"),
        body,
        content_language: None,
    };
    read(&input, &Options::default())
}

fn compare_pairs(pages: &[Page]) {
    let mut counts = [0_usize; 65];
    let mut similarities: Vec<Vec<f64>> = vec![Vec::new(); 65];
    for (index, one) in pages.iter().enumerate() {
        for other in &pages[..index] {
            let distance = sketch_distance(one.sketch, other.sketch) as usize;
            counts[distance] += 1;
            if distance <= 16 && similarities[distance].len() < MAX_EXACT_PAIRS {
                similarities[distance].push(jaccard_similarity(&one.text, &other.text));
            }
        }
    }
    for (distance, (count, exact)) in counts.iter().zip(&similarities).enumerate().take(33) {
        let min = exact.iter().copied().fold(1.0, f64::min);
        let max = exact.iter().copied().fold(0.0, f64::max);
        let mean = exact.iter().sum::<f64>() / exact.len().max(1) as f64;
        let false_positives = exact.iter().filter(|similarity| **similarity < 0.5).count();
        println!(
            "{distance:2} bits: {count:8} pairs, similarity min {min:.2} mean {mean:.2} max {max:.2}, false positives \
             {false_positives} of {}",
            exact.len()
        );
    }
}

/// The Jaccard similarity of the shingles of two texts. All numbers count as the same word.
fn jaccard_similarity(one: &str, other: &str) -> f64 {
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

fn compare_with_changed(pages: &[Page]) {
    for (min_words, max_words) in [
        (10, 50),
        (50, 100),
        (100, 200),
        (200, 500),
        (500, 2000),
        (2000, usize::MAX),
    ] {
        let mut distances: Vec<u32> = pages
            .iter()
            .filter(|page| (min_words..max_words).contains(&(page.words as usize)))
            .map(|page| {
                let mut words: Vec<&str> = page.text.split_whitespace().collect();
                let middle = words.len() / 2;
                words[middle] = "Maria";
                words[middle + 1] = "Silva";
                let text = format!("<!doctype html><plaintext>{}", words.join(" "));
                sketch_distance(page.sketch, read_html(text.as_bytes()).sketch)
            })
            .collect();
        distances.sort_unstable();
        let quantile = |share: f64| {
            distances
                .get((distances.len() as f64 * share) as usize)
                .copied()
                .unwrap_or(0)
        };
        println!(
            "two words of {min_words} to {max_words} changed: median {} bits, 90% {}, 99% {} ({} pages)",
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            distances.len()
        );
    }
}

fn collect_html(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect_html(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            files.push(path);
        }
    }
}
