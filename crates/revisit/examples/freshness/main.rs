//! Compares all revisit policies on the same simulated web: freshness, age, importance-weighted staleness, requests.
//!
//!     cargo run --release -p aranha-revisit --example freshness -- [--pages N] [--days N] [--seed N] [--plot FILE]
//!
//! Prints the tables of `bench/RESULTS.md`, draws a plot, and fails if a bound in `study.rs` is missed. `web.rs`
//! describes the web and `crawl.rs` the crawls. `tests/freshness.rs` checks the same bounds on a small web.

mod crawl;
mod plot;
mod study;
mod web;

use std::process::ExitCode;

use aranha_revisit::{Policy, SelectiveGroups};
use crawl::Measurements;
use study::{MAX_OF_CLAIRVOYANT, MAX_OF_UNIFORM, MIN_SAVED, Study};
use web::{ChangeKind, ChangingWeb, Similar};

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
    let web = ChangingWeb::new(
        arguments.pages,
        arguments.days,
        arguments.seed,
        Similar::Sites,
    );
    let study = Study::new(&web);
    println!(
        "{} pages of {} sites, {} days, {:.0} requests per day; measured from day {:.0} on; seed {}\n",
        web.pages.len(),
        web.sites.len(),
        web.days,
        study.budget,
        study.experiment.warm_up,
        arguments.seed
    );
    let mut missed = policies(&study, arguments.plot.as_deref());
    missed.extend(savings(&study));
    missed.extend(selective(&study));
    groups(&arguments);
    for problem in &missed {
        println!("MISSED: {problem}");
    }
    if missed.is_empty() {
        println!("all bounds hold");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Comparison 4 of `study.rs`, on two webs: prints the table.
fn groups(arguments: &Arguments) {
    let crawls = [
        ("fixed", Policy::Fixed, SelectiveGroups::EntryPages),
        ("frequency", Policy::Frequency, SelectiveGroups::EntryPages),
        (
            "entry_pages",
            Policy::Selective,
            SelectiveGroups::EntryPages,
        ),
        ("all_pages", Policy::Selective, SelectiveGroups::AllPages),
        ("descend", Policy::Selective, SelectiveGroups::Descend),
    ];
    println!(
        "| pages that change equally often | policy or `revisit.selective` | requests per day | freshness | age, days | changes found |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, similar) in [
        ("of a site", Similar::Sites),
        ("of a section", Similar::Sections),
    ] {
        let web = ChangingWeb::new(arguments.pages, arguments.days, arguments.seed, similar);
        let study = Study::new(&web);
        for (policy_name, policy, selective) in crawls {
            let crawl = study.at_budget_with(policy, selective);
            println!(
                "| {name} | {policy_name} | {:.0} | {:.3} | {:.2} | {} |",
                study.experiment.requests_per_day(&crawl),
                crawl.freshness,
                crawl.age,
                crawl.changes_found
            );
        }
    }
    println!();
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        pages: 20_000,
        days: 270.0,
        seed: 1,
        plot: None,
    };
    let mut texts = std::env::args().skip(1);
    while let Some(flag) = texts.next() {
        let value = texts.next().ok_or(format!("{flag} requires a value"))?;
        let number = value
            .parse::<u32>()
            .map_err(|_| format!("`{value}` is not a number"));
        match flag.as_str() {
            "--pages" => arguments.pages = number?.max(100) as usize,
            "--days" => arguments.days = f64::from(number?.max(60)),
            "--seed" => arguments.seed = u64::from(number?),
            "--plot" => arguments.plot = Some(value),
            _ => return Err(format!("unknown flag `{flag}`")),
        }
    }
    Ok(arguments)
}

/// Comparison 1 of `study.rs`: prints the tables, draws the plot, and returns the missed bounds.
fn policies(study: &Study, file: Option<&str>) -> Vec<String> {
    let mut crawls = vec![
        ("uniform".to_owned(), study.uniform()),
        ("clairvoyant".to_owned(), study.clairvoyant()),
    ];
    for policy in [
        Policy::Fixed,
        Policy::Frequency,
        Policy::Selective,
        Policy::Poisson,
    ] {
        crawls.push((
            format!("{policy:?}").to_lowercase(),
            study.at_budget(policy),
        ));
    }
    crawls.push(("optimal".to_owned(), study.optimal()));
    println!(
        "| policy | requests per day | freshness | age, days | weighted staleness | relative to uniform | relative to clairvoyant |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (uniform, clairvoyant) = (crawls[0].1.staleness, crawls[1].1.staleness);
    for (name, crawl) in &crawls {
        println!(
            "| {name} | {:.0} | {:.3} | {:.2} | {:.3} | {:.2} | {:.2} |",
            study.experiment.requests_per_day(crawl),
            crawl.freshness,
            crawl.age,
            crawl.staleness,
            crawl.staleness / uniform,
            crawl.staleness / clairvoyant
        );
    }
    println!();
    kinds(study, &crawls);
    if let Some(file) = file
        && let Err(error) = std::fs::write(file, plot::draw(&crawls, study.experiment.warm_up))
    {
        return vec![format!("cannot write {file}: {error}")];
    }
    let optimal = &crawls[crawls.len() - 1].1;
    [
        (
            optimal.staleness / uniform,
            MAX_OF_UNIFORM,
            "optimal relative to uniform",
        ),
        (
            optimal.staleness / clairvoyant,
            MAX_OF_CLAIRVOYANT,
            "optimal relative to the clairvoyant optimum",
        ),
        (
            study.experiment.requests_per_day(optimal) / study.budget,
            1.02,
            "requests of optimal relative to its budget",
        ),
    ]
    .into_iter()
    .filter(|(value, bound, _)| value > bound)
    .map(|(value, bound, what)| format!("{what}: {value:.3}, at most {bound}"))
    .collect()
}

/// Prints visits per month and freshness by kind of page.
fn kinds(study: &Study, crawls: &[(String, Measurements)]) {
    let web = study.experiment.web;
    let span = web.days - study.experiment.warm_up;
    println!("| visits per month, freshness | pages | uniform | clairvoyant | optimal |");
    println!("|---|---|---|---|---|");
    for kind in ChangeKind::ALL {
        let pages = web.pages.iter().filter(|page| page.kind == kind).count() as f64;
        print!("| {kind:?} | {pages} |");
        for name in ["uniform", "clairvoyant", "optimal"] {
            let crawl = crawls.iter().find(|(other, _)| other == name);
            if let Some((_, crawl)) = crawl {
                let [visits, stale] = crawl.kinds[kind as usize];
                let (visits, stale) = (visits / pages / span * 30.0, stale / pages / span);
                print!(" {visits:.1}, {:.2} |", 1.0 - stale);
            }
        }
        println!();
    }
    println!();
}

/// Comparison 2.
fn savings(study: &Study) -> Vec<String> {
    println!(
        "| all pages in rounds of | freshness | `frequency`, same rounds: downloads saved | freshness | `frequency`, same freshness: rounds of | downloads saved |"
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
    (daily < MIN_SAVED)
        .then(|| {
            format!(
                "frequency saves {daily:.2} of the downloads of daily rounds; bound: {MIN_SAVED}"
            )
        })
        .into_iter()
        .collect()
}

/// Comparison 3.
fn selective(study: &Study) -> Vec<String> {
    let (skipping, selective) = study.selective();
    println!(
        "| inner pages | requests per day | changes found | with an unchanged entry page | freshness of inner pages |"
    );
    println!("|---|---|---|---|---|");
    let row = |name: &str, crawl: &Measurements| {
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | {:.3} |",
            study.experiment.requests_per_day(crawl),
            crawl.changes_found,
            crawl.hidden_changes_found,
            crawl.inner_freshness
        );
    };
    row("skipped if the entry page is unchanged", &skipping);
    row("`selective`", &selective);
    println!();
    let better = selective.hidden_changes_found > 0.0
        && selective.changes_found > skipping.changes_found
        && selective.inner_freshness > skipping.inner_freshness;
    (!better)
        .then(|| {
            "selective is not better than skipping sites with unchanged entry pages".to_owned()
        })
        .into_iter()
        .collect()
}
