//! From what was typed to a command, or to a complaint in our own form.
//!
//! clap's own errors are good, but look different from ours: the sentence is kept, its tip becomes our hint, the
//! usage text is left to `--help`.

use std::io::{self, Write};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::error::CommandError;
use crate::{logging, output};

const EXAMPLES: &str = "\
Examples:
  aranha demo
  aranha crawl https://example.org -c example --contact you@example.org
  aranha config show --profile vn2006
  echo 'HTTP://Example.ORG:80/a/../b#c' | aranha url canon
  aranha robots allowed --agent aranha --file robots.txt https://example.org/private/

Exit status: 0 finished, 1 failed, 2 wrong usage or configuration,
3 stopped by a full disk, 130 interrupted (3 and 130: the same command continues).";

/// A polite, incremental, archival web crawler.
#[derive(Parser, Debug)]
#[command(name = "aranha", version, after_help = EXAMPLES, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print log messages to stderr: a level (error, warn, info, debug, trace), or levels by crate, such as
    /// `aranha_fetch=debug,info`
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<String>,
}

/// The command that was typed. Help and the version are printed here, and end the program.
pub(crate) fn read() -> Result<Command, CommandError> {
    match Arguments::try_parse() {
        Ok(arguments) => {
            logging::set_flag(arguments.log)?;
            Ok(arguments.command)
        }
        Err(error) if !error.use_stderr() => {
            let mut stdout = io::stdout().lock();
            let written = write!(stdout, "{error}").and_then(|()| stdout.flush());
            Err(written.map_or_else(
                |fault| output::write_error(&fault),
                |()| CommandError::quiet(),
            ))
        }
        Err(error) => Err(complain(&error, &command(typed()))),
    }
}

/// The words of the command line. One that is no UTF-8 names no command, but may well stand beside one.
fn typed() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// clap's description of the whole command line, for completions.
pub(crate) fn description() -> clap::Command {
    Arguments::command()
}

fn complain(error: &clap::Error, command: &str) -> CommandError {
    let text = error.to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        || error.kind() == ErrorKind::MissingSubcommand
    {
        return CommandError::usage("a command is missing")
            .hint(format!("`{command} --help` lists them"));
    }
    let sentence = first_paragraph(&text);
    match tip(&text) {
        Some(tip) => CommandError::usage(sentence).hint(tip),
        None => CommandError::usage(sentence)
            .hint(format!("`{command} --help` shows what can be written")),
    }
}

fn first_paragraph(text: &str) -> String {
    let lines = text
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(str::trim);
    let joined = lines.collect::<Vec<_>>().join(" ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

fn tip(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.trim_start().strip_prefix("tip: "))
}

/// How far the words that were typed name a command: `aranha url canon` out of `aranha url canon --jsn`.
fn command(words: impl IntoIterator<Item = String>) -> String {
    let mut description = Arguments::command();
    let mut path = description.get_name().to_owned();
    for word in words.into_iter().skip(1) {
        let Some(below) = description.find_subcommand(&word) else {
            break;
        };
        path = format!("{path} {word}");
        description = below.clone();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_holds_together() {
        description().debug_assert();
    }

    #[track_caller]
    fn check(line: &str, sentence: &str, hint: &str) {
        let words = || line.split(' ').map(str::to_owned);
        let error = Arguments::try_parse_from(words()).expect_err("this line is wrong");
        let text = error.to_string();
        assert_eq!(first_paragraph(&text), sentence);
        let hinted = tip(&text).map_or_else(|| command(words()), str::to_owned);
        assert_eq!(hinted, hint);
    }

    #[test]
    fn clap_s_errors_in_our_form() {
        check(
            "aranha crawl --puase 2s",
            "unexpected argument '--puase' found",
            "a similar argument exists: '--pause'",
        );
        check(
            "aranha crawl --scope world",
            "invalid value 'world' for '--scope <REACH>' [possible values: page, prefix, host, domain, any]",
            "aranha crawl",
        );
        check(
            "aranha robots allowed",
            "the following required arguments were not provided: --agent <NAME> --file <FILE>",
            "aranha robots allowed",
        );
    }
}
