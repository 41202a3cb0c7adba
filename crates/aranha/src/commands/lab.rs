//! `aranha lab`: serves honest and hostile sites on loopback, to test any crawler.
//!
//! The lab runs until Ctrl-C, and then reports the requests that its servers received. `bench/zoo` and
//! `bench/zoo-peers` start it as a separate process with `--json`.

mod report;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aranha_engine::Clock;
use aranha_lab::{BLACK_LIST, Crawler, Hazard, Lab, Latency, Plan, Sizes};
use aranha_units::duration;
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::crawl;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::session::raise_open_file_limit;
use crate::settings::span;
use crate::shared_args::JsonLinesArg;

const EXAMPLES: &str = "\
Examples:
  aranha lab                  100 honest sites, one hostile site of each kind
  aranha lab --list           list the kinds of hostile sites
  aranha lab --hostile 0      honest sites only
  aranha lab --only maze,bomb,rebind
  aranha lab --honest 1000 --hostile 300 --json

The lab prints a command that crawls it. Ctrl-C stops the lab and prints a report of the requests \
that its servers received. All servers are on loopback, but some hostile sites link to private \
networks outside this machine. To keep a crawler away from those, give it the black list, a file whose path the lab prints.";

/// Serve honest and hostile sites on loopback to test crawlers
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Number of honest sites
    #[arg(long, value_name = "N", default_value_t = 100)]
    honest: usize,
    /// Number of pages of the smallest and of the largest honest site [default: depends on the number of sites]
    #[arg(long, value_name = "LEAST..MOST", value_parser = sizes)]
    pages: Option<Sizes>,
    /// Number of IP addresses that honest sites share [default: one per four sites]
    #[arg(long, value_name = "N")]
    addresses: Option<usize>,
    /// Number of honest sites that are seeds [default: one in a hundred]
    #[arg(long, value_name = "N")]
    seeds: Option<usize>,
    /// Number of hostile sites; the kinds are used in rotation [default: one of each kind]
    #[arg(long, value_name = "N")]
    hostile: Option<usize>,
    /// Serve only these kinds of hostile sites
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    only: Vec<String>,
    /// List the kinds of hostile sites and exit
    #[arg(long)]
    list: bool,
    /// Random seed; the same seed and port give the same web
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Port of all web servers [default: a free port]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Port of the DNS server [default: a free port]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    dns_port: u16,
    /// Response time of honest sites: one time for all sites (20ms), or a range from which each site gets its own time
    /// (5ms..60ms)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = latency)]
    latency: Latency,
    /// Percentage of honest sites served over TLS, with certificates of the lab's own authority
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    secure: usize,
    /// Courtesy pause that the crawler must keep. The report lists shorter pauses, and the crawl command that the lab prints uses this value
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = span, allow_hyphen_values = true)]
    pause: Duration,
    /// Judge courtesy and speed only, not which URLs were found; for large webs
    #[arg(long)]
    courtesy_only: bool,
    /// Name of the crawler in robots.txt files
    #[arg(long, value_name = "NAME", default_value = "aranha")]
    agent: String,
    /// Folder for the seeds and the black list [default: a new one in the temporary directory]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let kinds = kinds(&arguments.only)?;
    if arguments.list {
        return list(&kinds, arguments.output.json);
    }
    let hostile = arguments.hostile.unwrap_or(kinds.len());
    let zoo = Plan::zoo(arguments.honest.max(1), 0);
    let plan = Plan {
        pages: arguments.pages.unwrap_or(zoo.pages),
        addresses: arguments.addresses.unwrap_or(zoo.addresses).max(1),
        seeds: arguments.seeds.unwrap_or(zoo.seeds).max(1),
        seed: arguments.seed,
        port: arguments.port,
        dns_port: arguments.dns_port,
        latency: arguments.latency,
        secure: arguments.secure,
        hazards: kinds.into_iter().cycle().take(hostile).collect(),
        ..zoo
    };
    let crawler = Crawler {
        agent: arguments.agent.clone(),
        ..Crawler::default()
    };
    let folder = arguments.folder.clone().unwrap_or_else(fresh_folder);
    raise_open_file_limit();
    crawl::runtime()?.block_on(async {
        let failed = |error| CommandError::failed(format!("cannot listen for signals: {error}"));
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let lab = Lab::start(plan).await.map_err(|error| {
            CommandError::failed(format!("cannot serve the lab: {error}")).hint(
                "ports below 1024 need privileges; without --port and --dns-port free ports are used",
            )
        })?;
        write(&lab, &folder)?;
        announce(&lab, arguments, &crawler, &folder)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let crawler = (!arguments.courtesy_only).then_some(&crawler);
        report::print(&lab, crawler, arguments.pause, arguments.output.json)?;
        Ok(ExitStatus::Done)
    })
}

/// The kinds of hostile sites with these names; all kinds if no name is given.
fn kinds(names: &[String]) -> Result<Vec<Hazard>, CommandError> {
    if names.is_empty() {
        return Ok(Hazard::ALL.to_vec());
    }
    let find = |name: &String| {
        let mut all = Hazard::ALL.iter();
        all.find(|hazard| hazard.name() == name.trim())
            .copied()
            .ok_or_else(|| {
                CommandError::usage(format!("`{name}` is not a kind of hostile site"))
                    .hint("`aranha lab --list` lists the kinds")
            })
    };
    names.iter().map(find).collect()
}

fn list(kinds: &[Hazard], json: bool) -> Result<ExitStatus, CommandError> {
    let mut output = Output::new();
    for hazard in kinds {
        let (name, line) = (hazard.name(), hazard.description());
        let group = report::group(hazard.group());
        if json {
            output.json(&json!({ "name": name, "group": group, "does": line }))?;
        } else {
            output.line(format_args!("{name:14}{group:9}{line}"))?;
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn seeds_file(folder: &Path) -> PathBuf {
    folder.join("seeds.txt")
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("lab.toml")
}

/// Writes two files for `aranha crawl`: the seeds for `--seeds`, and the black list as a configuration for `--config`.
fn write(lab: &Lab, folder: &Path) -> Result<(), CommandError> {
    let seeds = lab.seeds().join("\n") + "\n";
    let settings = format!(
        "# Addresses that must not be contacted; the lab counts connections to them.\n[crawl]\nblacklist = {BLACK_LIST:?}\n"
    );
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(seeds_file(folder), seeds))
        .and_then(|()| std::fs::write(settings_file(folder), settings))
        .map_err(|error| {
            CommandError::failed(format!("cannot write to {}: {error}", folder.display()))
                .hint("choose another folder with --folder")
        })
}

/// Prints what is served, and a command that crawls it.
fn announce(
    lab: &Lab,
    arguments: &Arguments,
    crawler: &Crawler,
    folder: &Path,
) -> Result<(), CommandError> {
    let command = format!(
        "aranha crawl -i {} --config {} --scope any --allow-private --resolver {} --pause {} -c {}",
        seeds_file(folder).display(),
        settings_file(folder).display(),
        lab.resolver(),
        duration::format(arguments.pause),
        folder.join("collection").display(),
    );
    let plan = lab.plan();
    let expected = if arguments.courtesy_only {
        0
    } else {
        lab.truth(crawler).len()
    };
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({
            "event": "serving",
            "resolver": lab.resolver().to_string(),
            "port": lab.port(),
            "honest_sites": plan.sites,
            "hostile_sites": plan.hazards.len(),
            "expected": expected,
            "seeds": lab.seeds(),
            "hostile_seeds": lab.hazard_seeds(),
            "black_list": BLACK_LIST,
            "seeds_file": seeds_file(folder),
            "settings_file": settings_file(folder),
            "command": command,
        }))?;
    } else {
        let mut text = format!(
            "{} honest sites with {expected} URLs that a crawl must find, and {} hostile sites, on loopback, port {}.\n\
             resolver    {}\nseeds       {}\nblack list  {}\n",
            plan.sites,
            plan.hazards.len(),
            lab.port(),
            lab.resolver(),
            seeds_file(folder).display(),
            BLACK_LIST.join(" "),
        );
        let _ = writeln!(
            text,
            "\nTo crawl it:\n  {command}\n\nCtrl-C stops the lab and prints a report."
        );
        output.text(&text)?;
    }
    output.finish()
}

fn fresh_folder() -> PathBuf {
    std::env::temp_dir().join(format!("aranha-lab-{}", Clock::new().now()))
}

/// Parses the page counts of the smallest and of the largest site: `8..250`.
fn sizes(text: &str) -> Result<Sizes, String> {
    let (least, most) = text
        .split_once("..")
        .ok_or("write two numbers, like 8..250")?;
    let number = |text: &str| {
        text.parse()
            .map_err(|_| format!("`{text}` is not a number"))
    };
    let (smallest, largest) = (number(least)?, number(most)?);
    if smallest == 0 || largest < smallest {
        return Err(
            "the first number must be at least 1, the second at least as large as the first"
                .to_owned(),
        );
    }
    Ok(Sizes { smallest, largest })
}

/// Parses a response time (`20ms`), or the shortest and the longest response time (`5ms..60ms`).
fn latency(text: &str) -> Result<Latency, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let latency = Latency {
        least: span(least)?,
        most: span(most)?,
    };
    if latency.most < latency.least {
        return Err("write the shorter time first: 5ms..60ms".to_owned());
    }
    Ok(latency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies() {
        #[track_caller]
        fn check(text: &str, expected: Option<(u64, u64)>) {
            let found = latency(text).ok();
            let found = found.map(|l| (l.least.as_millis() as u64, l.most.as_millis() as u64));
            assert_eq!(found, expected, "{text}");
        }
        check("20ms", Some((20, 20)));
        check("5ms..60ms", Some((5, 60)));
        check("60ms..5ms", None);
        check("soon", None);
        check("1ms..", None);
    }

    #[test]
    fn kinds_by_name() {
        let names = |list: &[&str]| {
            list.iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[]).expect("all"), Hazard::ALL);
        let two = kinds(&names(&["maze", " bomb"])).expect("both exist");
        assert_eq!(two, [Hazard::Maze, Hazard::Bomb]);
        assert!(kinds(&names(&["unicorn"])).is_err());
    }
}
