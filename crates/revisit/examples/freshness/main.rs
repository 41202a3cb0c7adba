//! Draft.
mod crawl;
mod web;
use aranha_revisit::{Options, Policy};
use crawl::{Outcome, Setting};
use std::time::Duration;

fn env(name: &str, d: f64) -> f64 { std::env::var(name).map_or(d, |v| v.parse().expect("n")) }
fn show(name: &str, setting: &Setting, o: &Outcome) {
    println!("{name:14} {:8.1} req/d  found {:8.0} hidden {:7.0} fresh {:.4} inner {:.4} age {:.3} stale {:.4}", setting.spent(o), o.found, o.hidden, o.freshness, o.inner, o.age, o.staleness);
}
fn main() {
    let n = env("N", 10000.0) as usize;
    let days = env("DAYS", 270.0);
    for seed in 1..=(env("SEEDS", 2.0) as u64) {
    let web = web::Web::new(n, days, seed);
    for interval in [3.0, 10.0, 30.0] {
    let setting = Setting { web: &web, warm: days / 3.0, first: interval };
    let budget = n as f64 / interval;
    let u = setting.uniform(budget);
    let c = setting.clairvoyant(budget);
    let o = setting.run(&Options { policy: Policy::Optimal, budget: budget as u64, spread: env("SPREAD", 0.25) as f32,
        prior: Duration::from_secs_f64(86400.0 * env("PRIOR", 30.0)), most: Duration::from_secs_f64(86400.0 * env("MOST", 90.0)), ..Options::default() });
    if env("SHOW", 0.0) > 0.0 {
    show("uniform", &setting, &u);
    show("clairvoyant", &setting, &c);
    show("optimal", &setting, &o);
    }
    println!("{interval} o/u {:.3} o/c {:.3} {:.3}", o.staleness / u.staleness, o.staleness / c.staleness, setting.spent(&o)/budget);
    }
    }
}
