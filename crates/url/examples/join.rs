//! Measures how long a join takes for each kind of link: `cargo run --release -p aranha-url --example join`.
//!
//! The target is half a microsecond for common links; a page has about three hundred links.

use std::hint::black_box;
use std::time::Instant;

use aranha_url::{Base, Canonicaliser};

/// Number of batches per kind of link. The fastest batch is reported, because other programs can only slow a batch
/// down.
const BATCHES: u32 = 60;
const ROUNDS: u32 = 2_000;

const KINDS: [(&str, &[&str]); 9] = [
    (
        "relative",
        &["guide.html", "img/logo.png", "struct.Vec.html#method.push"],
    ),
    (
        "steps up",
        &[
            "../std/index.html",
            "../../src/alloc/vec/mod.rs.html#1-3",
            "./x",
        ],
    ),
    (
        "rooted",
        &[
            "/",
            "/about/team",
            "/products/2024/some-long-name-of-a-page.html?page=2",
        ],
    ),
    ("fragment", &["#top", "#method.push", ""]),
    (
        "same origin",
        &[
            "https://www.example.org/about",
            "https://www.example.org/a/b/c?d=e&f=g",
        ],
    ),
    (
        "other site",
        &[
            "https://news.example.net/2024/05/story",
            "http://example.com/",
        ],
    ),
    (
        "other www",
        &["https://www.example.co.uk/x", "https://www.example.com/y/z"],
    ),
    (
        "refused",
        &["javascript:void(0)", "mailto:someone@example.org"],
    ),
    (
        "by the parser",
        &["/caf%c3%a9", "a/../b", "/é", "https://EXAMPLE.org:443/"],
    ),
];

fn main() {
    let canonicaliser = Canonicaliser::default();
    let page = canonicaliser
        .canon("https://www.example.org/docs/rust/alloc/vec/index.html")
        .expect("valid");
    let base = Base::of(&page);
    println!("{:<14} {:>8} {:>14}", "kind", "ns/join", "ns/join + key");
    for (kind, links) in KINDS {
        let plain = time(links, |link| {
            let _ = black_box(canonicaliser.join(&base, link));
        });
        let keyed = time(links, |link| {
            let _ = black_box(canonicaliser.join(&base, link).map(|url| url.key()));
        });
        println!("{kind:<14} {plain:>8.0} {keyed:>14.0}");
    }
    let parse = time(&["x"], |_| {
        black_box(Base::of(black_box(&page)));
    });
    println!("{:<14} {parse:>8.0}", "base of a page");
}

fn time(links: &[&str], join: impl Fn(&str)) -> f64 {
    let batch = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for link in links {
                join(black_box(link));
            }
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS) / links.len() as f64
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}
