//! `aranha robots`: what a robots.txt file allows, with the rule that decides.

use std::fs;
use std::path::{Path, PathBuf};

use aranha_robots::{Decision, Robots, RobotsRules};
use aranha_url::{Canonicaliser, UrlRules};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::error::{CommandError, ExitStatus};
use crate::input::{Item, items};
use crate::output::{Output, message};
use crate::terminal_escape::Escaped;

const ALLOWED_EXAMPLES: &str = "\
Examples:
  aranha robots allowed --agent aranha --file robots.txt https://example.org/private/
  aranha robots allowed --agent aranha --file robots.txt /private/ /public/
  aranha robots allowed --agent Googlebot --file robots.txt < urls.txt | grep ^refused
  aranha robots allowed --agent aranha --file robots.txt --json < urls.txt

A line is `allowed` or `refused`, the URL, and the rule that decided, separated by tabs.
Input that is neither a URL nor a path goes to stderr and makes the exit status 1;
with --json it is an object on stdout like the rest, with a reason.";

/// What a robots.txt file allows (RFC 9309)
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Say for each URL whether it may be fetched, and which rule says so
    #[command(after_help = ALLOWED_EXAMPLES)]
    Allowed(Allowed),
}

#[derive(Args, Debug)]
pub(crate) struct Allowed {
    /// The crawler's product token, as robots.txt files name it
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// The robots.txt file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// URLs or paths; without any, stdin is read, one a line
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    let Command::Allowed(allowed) = command;
    let rules = read(&allowed.file)?.agent(&allowed.agent);
    let canonicaliser = Canonicaliser::new(UrlRules::default());
    let mut output = Output::new();
    let mut status = ExitStatus::Done;
    for item in items(allowed.urls) {
        let item = item?;
        match path(&canonicaliser, &item) {
            Ok(path) => answer(&rules, &item, &path, allowed.json, &mut output)?,
            Err(reason) => {
                status = ExitStatus::Failed;
                if allowed.json {
                    output.json(&json!({ "url": item.text, "reason": reason }))?;
                } else {
                    message(format_args!(
                        "{}: {}: {}",
                        item.place,
                        Escaped(&item.text),
                        Escaped(&reason)
                    ));
                }
            }
        }
    }
    output.finish()?;
    Ok(status)
}

fn read(file: &Path) -> Result<Robots, CommandError> {
    let bytes = fs::read(file).map_err(|error| {
        CommandError::failed(format!("cannot read {}: {error}", file.display()))
            .hint("give a robots.txt file with --file")
    })?;
    Ok(Robots::parse(&bytes))
}

/// The path and query that the rules are about. A path may be given as it is.
fn path(canonicaliser: &Canonicaliser, item: &Item) -> Result<String, String> {
    if item.text.starts_with('/') && !item.text.starts_with("//") {
        return Ok(item.text.clone());
    }
    let url = canonicaliser
        .canon(&item.text)
        .map_err(|reason| reason.to_string())?;
    Ok(url.path().to_owned())
}

fn answer(
    rules: &RobotsRules,
    item: &Item,
    path: &str,
    json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let decision = rules.judge(path);
    if json {
        return output.json(&describe(item, &decision));
    }
    let word = if decision.allowed {
        "allowed"
    } else {
        "refused"
    };
    let rule = decision
        .rule
        .as_ref()
        .map_or_else(|| "no rule".to_owned(), ToString::to_string);
    output.line(format_args!(
        "{word}\t{}\t{}",
        Escaped(&item.text),
        Escaped(&rule)
    ))
}

fn describe(item: &Item, decision: &Decision) -> Value {
    let rule = decision
        .rule
        .as_ref()
        .map(|rule| json!({ "line": rule.line, "text": rule.text }));
    json!({ "url": item.text, "allowed": decision.allowed, "rule": rule })
}
