//! `aranha robots`: whether a robots.txt file allows URLs, and by which rule.

use std::fs;
use std::path::{Path, PathBuf};

use aranha_robots::{Decision, Robots, RobotsRules};
use aranha_url::{Canonicaliser, UrlRules};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::error::{CommandError, ExitStatus};
use crate::input::{Item, items};
use crate::output::{Output, message};
use crate::shared_args::JsonLinesArg;
use crate::terminal_escape::Escaped;

const ALLOWED_EXAMPLES: &str = "\
Examples:
  aranha robots allowed --agent aranha --file robots.txt https://example.org/a
  aranha robots allowed --agent aranha --file robots.txt /private/ /public/
  aranha robots allowed --agent Googlebot --file robots.txt < urls.txt
  aranha robots allowed --agent aranha --file robots.txt --json < urls.txt

Columns, separated by tabs: `allowed` or `refused`, URL, matching rule. Input that is neither a URL nor \
a path goes to stderr with the reason, and the exit status is 1. With --json, such input goes to stdout, in the order of the input.";

/// Test robots.txt files (RFC 9309)
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Test URLs against a robots.txt file, and print the rule that decides
    #[command(after_help = ALLOWED_EXAMPLES)]
    Allowed(Allowed),
}

#[derive(Args, Debug)]
pub(crate) struct Allowed {
    /// Product token of the crawler, as in the User-agent lines of robots.txt
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// robots.txt file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// URLs or paths [default: the lines of stdin]
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    #[command(flatten)]
    output: JsonLinesArg,
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
            Ok(path) => print(&rules, &item, &path, allowed.output.json, &mut output)?,
            Err(reason) => {
                status = ExitStatus::Failed;
                if allowed.output.json {
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
            .hint("name a robots.txt file with --file")
    })?;
    Ok(Robots::parse(&bytes))
}

/// Path and query of an input, which is a URL or a path.
fn path(canonicaliser: &Canonicaliser, item: &Item) -> Result<String, String> {
    if item.text.starts_with('/') && !item.text.starts_with("//") {
        return Ok(item.text.clone());
    }
    let url = canonicaliser
        .canon(&item.text)
        .map_err(|reason| reason.to_string())?;
    Ok(url.path().to_owned())
}

fn print(
    rules: &RobotsRules,
    item: &Item,
    path: &str,
    json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let decision = rules.judge(path);
    if json {
        return output.json(&decision_json(item, &decision));
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

fn decision_json(item: &Item, decision: &Decision) -> Value {
    let rule = decision
        .rule
        .as_ref()
        .map(|rule| json!({ "line": rule.line, "text": rule.text }));
    json!({ "url": item.text, "allowed": decision.allowed, "rule": rule })
}
