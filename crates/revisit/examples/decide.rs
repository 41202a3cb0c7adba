//! Measures how long each policy takes to plan the next visit of a page (a decision), with ten million pages.
//!
//!     cargo run --release -p aranha-revisit --example decide -- [MILLIONS]
//!
//! The histories are in memory and are accessed in pseudo-random order, as in a crawl. Fails if a decision takes more
//! than three microseconds.

use std::{process::ExitCode, time::Instant};

use aranha_revisit::{History, Options, PageState, PageVisit, Policy, Schedule};

const ROUNDS: u64 = 3;
const START: i64 = 1_780_000_000_000;

fn main() -> ExitCode {
    let millions: u64 = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 10,
        Some(Ok(millions)) if (1..1000).contains(&millions) => millions,
        Some(_) => {
            eprintln!(
                "error: the argument must be the number of pages in millions, 1 to 999\nhint: decide 10"
            );
            return ExitCode::from(2);
        }
    };
    let pages = millions * 1_000_000;
    println!("| policy | pages | decisions | ns each | bytes per history |\n|---|---|---|---|---|");
    let mut slow = false;
    for policy in [
        Policy::Fixed,
        Policy::Frequency,
        Policy::Selective,
        Policy::Poisson,
        Policy::Optimal,
    ] {
        let nanos = measure(policy, pages);
        println!(
            "| {policy:?} | {pages} | {} | {nanos:.0} | {} |",
            pages * ROUNDS,
            size_of::<History>()
        );
        slow |= nanos > 3000.0;
    }
    ExitCode::from(u8::from(slow))
}

/// Nanoseconds per decision.
fn measure(policy: Policy, pages: u64) -> f64 {
    let schedule = Schedule::new(&Options {
        policy,
        budget: pages / 10,
        ..Options::default()
    });
    let mut histories = vec![History::default(); pages as usize];
    let mut sum = 0i64; // keeps the compiler from removing the loop
    let start = Instant::now();
    for round in 0..ROUNDS {
        for step in 0..pages {
            let page = step.wrapping_mul(0x9e37_79b1) % pages; // a permutation, because the factor is prime
            let hash = (page ^ round << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let seen = match round {
                0 => PageState::New,
                _ if hash % 100 < page % 100 => PageState::Changed,
                _ => PageState::Same,
            };
            let visit = PageVisit {
                importance: 1.0 + (page % 1000) as f32,
                ..PageVisit::new(
                    START + round as i64 * 864_000_000 + (hash * 100) as i64,
                    seen,
                    page,
                )
            };
            let due = schedule.plan(&mut histories[page as usize], &visit);
            sum = sum.wrapping_add(due.unwrap_or(0));
        }
    }
    let nanos = start.elapsed().as_nanos() as f64 / (pages * ROUNDS) as f64;
    std::hint::black_box(sum);
    nanos
}
