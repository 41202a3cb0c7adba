//! `aranha url`: canonical forms of URLs.

use aranha_engine::config::Layers;
use aranha_url::{CanonUrl, Canonicaliser, Rejected};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

use crate::error::{CommandError, ExitStatus};
use crate::input::{Item, items};
use crate::output::{Output, message};
use crate::settings;
use crate::shared_args::JsonLinesArg;
use crate::terminal_escape::Escaped;

const CANON_EXAMPLES: &str = "\
Examples:
  echo 'HTTP://Example.ORG:80/a/../b#c' | aranha url canon
  aranha url canon 'https://example.org/list;jsessionid=A1?x=1&PHPSESSID=2'
  aranha url canon --profile vn2006 https://example.org/index.html
  aranha url canon --json < urls.txt | jq -r 'select(.reason) | .input'

Canonical URLs go to stdout. Rejected input goes to stderr with the reason, and the exit status is 1. \
With --json, canonical URLs and rejected input both go to stdout, in the order of the input.";

/// Convert URLs to their canonical form
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Print the canonical form of URLs, or the reason why they are rejected
    #[command(after_help = CANON_EXAMPLES)]
    Canon(Canon),
}

#[derive(Args, Debug)]
pub(crate) struct Canon {
    /// URLs [default: the lines of stdin]
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Use the URL rules of this configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use the URL rules of this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Set a configuration value (repeatable)
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    let Command::Canon(canon) = command;
    let layers = Layers {
        profile: canon.profile,
        files: canon.config.into_iter().collect(),
        settings: canon.set,
        ..Layers::default()
    };
    let (config, _) = settings::load(&layers)?;
    let canonicaliser = Canonicaliser::new(config.url);
    let mut output = Output::new();
    let mut status = ExitStatus::Done;
    for item in items(canon.urls) {
        let item = item?;
        let canonical = canonicaliser.canon(&item.text);
        if canonical.is_err() {
            status = ExitStatus::Failed;
        }
        match (canon.output.json, &canonical) {
            (true, canonical) => output.json(&json(&item, canonical))?,
            (false, Ok(url)) => output.line(url)?,
            (false, Err(reason)) => message(format_args!(
                "{}: {}: {}",
                item.place,
                Escaped(&item.text),
                Escaped(&reason.to_string())
            )),
        }
    }
    output.finish()?;
    Ok(status)
}

fn json(item: &Item, canonical: &Result<CanonUrl, Rejected>) -> Value {
    match canonical {
        Ok(url) => {
            let key = url.key();
            let key = format!("{:016x}{:016x}", key.site.0, key.path.0);
            json!({ "input": item.text, "url": url.as_str(), "site": url.site(), "key": key })
        }
        Err(reason) => json!({ "input": item.text, "reason": reason.to_string() }),
    }
}
