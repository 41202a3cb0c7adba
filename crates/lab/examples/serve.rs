//! Serves a lab web until it is interrupted: `cargo run -p aranha-lab --example serve -- [small|demo|SITES] [hazards|HOSTILE]`.

use std::error::Error;

use aranha_lab::{BLACK_LIST, Hazard, Lab, Plan};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut plan = match arguments.next().as_deref() {
        None | Some("demo") => Plan::demo(),
        Some("small") => Plan::small(1),
        Some(sites) => Plan::large(sites.parse()?),
    };
    plan.hazards = match arguments.next().as_deref() {
        None => Vec::new(),
        Some("hazards") => Hazard::ALL.to_vec(),
        Some(hostile) => Plan::zoo(1, hostile.parse()?).hazards,
    };
    plan.keep_log = false;
    let lab = Lab::start(plan).await?;
    println!("--resolver {}", lab.resolver());
    for seed in lab.seeds() {
        println!("{seed}");
    }
    if !lab.plan().hazards.is_empty() {
        eprintln!("hostile sites too; refuse {}", BLACK_LIST.join(" "));
    }
    tokio::signal::ctrl_c().await?;
    let trespasses = lab.trespasses().len();
    let requests = lab.count();
    eprintln!("{requests} requests answered, {trespasses} connections to refused addresses");
    Ok(())
}
