//! Parses the command line, and converts clap's errors to a sentence and a hint.
//!
//! The sentence of clap is kept, its tip becomes the hint, and its usage text is dropped.

use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::error::CommandError;
use crate::{foreign_flags, logging, output};

const EXAMPLES: &str = "\
Examples:
  aranha demo
  aranha crawl https://example.org -c example --contact you@example.org
  aranha config show --profile vn2006
  echo 'HTTP://Example.ORG:80/a/../b#c' | aranha url canon
  aranha robots allowed --agent aranha --file robots.txt /private/ /public/

Exit status: 0 finished, 1 failed, 2 wrong usage or configuration, 3 stopped by a full disk or an \
unusable proxy, 4 no seed could be fetched, 5 nothing to print, 130 interrupted. After 3 and 130, run the same command again to continue.";

/// A polite, incremental, archival web crawler.
#[derive(Parser, Debug)]
#[command(name = "aranha", version, after_help = EXAMPLES, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print log messages to stderr; FILTER is a level (error, warn, info, debug, trace), or levels by crate:
    /// `aranha_fetch=debug,info` is debug for that crate and info for the others
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<String>,
}

/// Parses the command line. `--help` and `--version` print their text here and end the program.
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
        Err(error) => Err(usage_error(&error, &command_path(words()))),
    }
}

/// The words of the command line. Invalid UTF-8 is replaced.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// The definition of all commands and flags, for completions and man pages.
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

fn usage_error(error: &clap::Error, command: &str) -> CommandError {
    let text = error.to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        || error.kind() == ErrorKind::MissingSubcommand
    {
        return CommandError::usage("a command is missing")
            .hint(format!("`{command} --help` lists the commands"));
    }
    let sentence = first_paragraph(&text);
    if command.ends_with(" crawl")
        && let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && let Some(hint) = foreign_flags::hint(flag, words())
    {
        return CommandError::usage(sentence).hint(hint);
    }
    match tip(&text) {
        Some(tip) => CommandError::usage(sentence).hint(tip),
        None => CommandError::usage(sentence)
            .hint(format!("`{command} --help` describes the arguments")),
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
    let mut tips = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("tip: "));
    // Skip the tip to pass an unknown flag as a value, because no command takes such a value.
    tips.find(|tip| !tip.starts_with("to pass '"))
}

/// The command that the first words name, for example `aranha url canon` for `aranha url canon --jsn`.
fn command_path(words: impl IntoIterator<Item = String>) -> String {
    let mut definition = Arguments::command();
    let mut path = definition.get_name().to_owned();
    for word in words.into_iter().skip(1) {
        let Some(subcommand) = definition.find_subcommand(&word) else {
            break;
        };
        path = format!("{path} {word}");
        definition = subcommand.clone();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[track_caller]
    fn check(line: &str, sentence: &str, hint: &str) {
        let words = || line.split(' ').map(str::to_owned);
        let error = Arguments::try_parse_from(words()).expect_err("the line is invalid");
        let text = error.to_string();
        assert_eq!(first_paragraph(&text), sentence);
        let hinted = tip(&text).map_or_else(|| command_path(words()), str::to_owned);
        assert_eq!(hinted, hint);
    }

    #[test]
    fn clap_errors_become_a_sentence_and_a_hint() {
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
