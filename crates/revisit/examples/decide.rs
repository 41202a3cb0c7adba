//! What deciding costs: ten million pages, each visited and planned several times, with every policy.
//!
//!     cargo run --release -p aranha-revisit --example decide -- [MILLIONS]
//!
//! The histories are in memory, and visited in an order that has nothing to do with theirs, as in a crawl. Fails when a
//! decision costs more than three microseconds.

use std::{process::ExitCode, time::Instant};

use aranha_revisit::{History, Options, PageState, PageVisit, Policy, Schedule};

const ROUNDS: u64 = 3;
const START: i64 = 1_780_000_000_000;

fn main() -> ExitCode {
    let millions: u64 = match std::env::args().nth(1).map(|word| word.parse()) {
        None => 10,
        Some(Ok(millions)) if (1..1000).contains(&millions) => millions,
        Some(_) => {
            eprintln!("error: how many million pages?\nhint: decide 10");
            return ExitCode::from(2);
        }
    };
    let pages = millions * 1_000_000;
    println!("| policy | pages | decisions | ns each | bytes a history |\n|---|---|---|---|---|");
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

/// Nanoseconds a decision.
fn measure(policy: Policy, pages: u64) -> f64 {
    let schedule = Schedule::new(&Options {
        policy,
        budget: pages / 10,
        ..Options::default()
    });
    let mut histories = vec![History::default(); pages as usize];
    let mut sum = 0i64; // so that nothing is optimised away
    let start = Instant::now();
    for round in 0..ROUNDS {
        for step in 0..pages {
            let page = step.wrapping_mul(0x9e37_79b1) % pages; // a permutation: the factor is prime
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
