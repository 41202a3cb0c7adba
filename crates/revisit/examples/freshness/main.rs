//! All policies on the same changing web over simulated months: freshness, age, importance-weighted staleness, requests.
//!
//!     cargo run --release -p aranha-revisit --example freshness -- [--pages N] [--days N] [--seed N] [--plot FILE]
//!
//! Prints the tables of `bench/RESULTS.md`, draws an SVG file, and fails when a bound of `study.rs` is missed. What the web
//! is made of is told in `web.rs`, what a visit is in `crawl.rs`. `tests/freshness.rs` runs a small size of it.

mod crawl;
mod plot;
mod study;
mod web;

use std::process::ExitCode;

use aranha_revisit::Policy;
use crawl::Outcome;
use study::{OF_CLAIRVOYANT, OF_UNIFORM, SAVED, Study};
use web::{Kind, Web};

struct Arguments {
    pages: usize,
    days: f64,
    seed: u64,
    plot: Option<String>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("error: {problem}\nhint: --pages N, --days N, --seed N, --plot FILE");
            return ExitCode::from(2);
        }
    };
    let web = Web::new(arguments.pages, arguments.days, arguments.seed);
    let study = Study::new(&web);
    println!(
        "{} pages of {} sites, {} days, {:.0} requests a day; counted from day {:.0} on; seed {}\n",
        web.pages.len(),
        web.sites.len(),
        web.days,
        study.budget,
        study.setting.warm,
        arguments.seed
    );
    let mut missed = policies(&study, arguments.plot.as_deref());
    missed.extend(savings(&study));
    missed.extend(behind(&study));
    for sentence in &missed {
        println!("MISSED: {sentence}");
    }
    if missed.is_empty() {
        println!("all bounds hold");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        pages: 20_000,
        days: 270.0,
        seed: 1,
        plot: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} wants a value"))?;
        let number = value
            .parse::<u32>()
            .map_err(|_| format!("`{value}` is no number"));
        match word.as_str() {
            "--pages" => arguments.pages = number?.max(100) as usize,
            "--days" => arguments.days = f64::from(number?.max(60)),
            "--seed" => arguments.seed = u64::from(number?),
            "--plot" => arguments.plot = Some(value),
            _ => return Err(format!("`{word}` is not known")),
        }
    }
    Ok(arguments)
}

/// Question 1: the table, the picture, and what was missed.
fn policies(study: &Study, file: Option<&str>) -> Vec<String> {
    let mut runs = vec![
        ("uniform".to_owned(), study.uniform()),
        ("clairvoyant".to_owned(), study.clairvoyant()),
    ];
    for policy in [
        Policy::Fixed,
        Policy::Frequency,
        Policy::Selective,
        Policy::Poisson,
    ] {
        runs.push((
            format!("{policy:?}").to_lowercase(),
            study.at_budget(policy),
        ));
    }
    runs.push(("optimal".to_owned(), study.optimal()));
    println!(
        "| policy | requests a day | freshness | age, days | weighted staleness | of uniform's | of the clairvoyant's |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (uniform, clairvoyant) = (runs[0].1.staleness, runs[1].1.staleness);
    for (name, run) in &runs {
        println!(
            "| {name} | {:.0} | {:.3} | {:.2} | {:.3} | {:.2} | {:.2} |",
            study.setting.spent(run),
            run.freshness,
            run.age,
            run.staleness,
            run.staleness / uniform,
            run.staleness / clairvoyant
        );
    }
    println!();
    kinds(study, &runs);
    if let Some(file) = file
        && let Err(error) = std::fs::write(file, plot::draw(&runs, study.setting.warm))
    {
        return vec![format!("{file} could not be written: {error}")];
    }
    let optimal = &runs[runs.len() - 1].1;
    [
        (
            optimal.staleness / uniform,
            OF_UNIFORM,
            "optimal by uniform",
        ),
        (
            optimal.staleness / clairvoyant,
            OF_CLAIRVOYANT,
            "optimal by the clairvoyant optimum",
        ),
        (
            study.setting.spent(optimal) / study.budget,
            1.02,
            "optimal's spending by its budget",
        ),
    ]
    .into_iter()
    .filter(|(value, bound, _)| value > bound)
    .map(|(value, bound, what)| format!("{what}: {value:.3}, at most {bound}"))
    .collect()
}

/// Where the requests go: visits a month and freshness by kind of page.
fn kinds(study: &Study, runs: &[(String, Outcome)]) {
    let web = study.setting.web;
    let span = web.days - study.setting.warm;
    println!("| visits a month, freshness | pages | uniform | clairvoyant | optimal |");
    println!("|---|---|---|---|---|");
    for kind in Kind::ALL {
        let pages = web.pages.iter().filter(|page| page.kind == kind).count() as f64;
        print!("| {kind:?} | {pages} |");
        for name in ["uniform", "clairvoyant", "optimal"] {
            let run = runs.iter().find(|(other, _)| other == name);
            if let Some((_, run)) = run {
                let [visits, stale] = run.kinds[kind as usize];
                let (visits, stale) = (visits / pages / span * 30.0, stale / pages / span);
                print!(" {visits:.1}, {:.2} |", 1.0 - stale);
            }
        }
        println!();
    }
    println!();
}

/// Question 2.
fn savings(study: &Study) -> Vec<String> {
    println!(
        "| everything in rounds of | freshness | `frequency`, same rounds: downloads saved | freshness | at equal freshness: rounds of | downloads saved |"
    );
    println!("|---|---|---|---|---|---|");
    let mut daily = 0.0;
    for round in [1.0, 2.0, 5.0, 10.0] {
        let saving = study.saving(round);
        println!(
            "| {round} d | {:.3} | {:.0}% | {:.3} | {:.2} d | {:.0}% |",
            saving.everything.freshness,
            100.0 * (1.0 - saving.same_round.requests / saving.everything.requests),
            saving.same_round.freshness,
            saving.shorter_round,
            100.0 * saving.saved()
        );
        if saving.round <= 1.0 {
            daily = saving.saved();
        }
    }
    println!();
    (daily < SAVED)
        .then(|| {
            format!("frequency saves {daily:.2} of the downloads of daily rounds, at least {SAVED}")
        })
        .into_iter()
        .collect()
}

/// Question 3.
fn behind(study: &Study) -> Vec<String> {
    let (skipping, selective) = study.behind();
    println!(
        "| behind entry pages | requests a day | changes found | behind an unchanged entry page | freshness of inner pages |"
    );
    println!("|---|---|---|---|---|");
    let row = |name: &str, run: &Outcome| {
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | {:.3} |",
            study.setting.spent(run),
            run.found,
            run.hidden,
            run.inner
        );
    };
    row("skipped when unchanged", &skipping);
    row("`selective`", &selective);
    println!();
    let better = selective.hidden > 0.0
        && selective.found > skipping.found
        && selective.inner > skipping.inner;
    (!better)
        .then(|| "selective finds no more than skipping unchanged entry pages".to_owned())
        .into_iter()
        .collect()
}
